// A kernel whose module asks for 64 GiB of its own.
//   x, y    float [elements]
//   launch  one block of a warp
__device__ float table[16LL << 30];

extern "C" __global__ void variable_f32(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] + table[threadIdx.x]; }
