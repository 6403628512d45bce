// A kernel that no compiler takes.
//   x, y    float [elements]
//   launch  one block of a warp
extern "C" __global__ void undeclared_f32(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] * SCALE_OF_NOBODY;
}
