// Kernels that each have one fault, for a block of 64 threads: what a checker finds, if it works.
//   x   float [64]
//   y   float [64]; out_of_bounds is given 63
extern "C" __global__ void planted_out_of_bounds(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

// Adds to what nobody wrote.
extern "C" __global__ void planted_uninitialised(const float* x, float* y) { y[threadIdx.x] += x[threadIdx.x]; }

// Reads what another warp writes, with no barrier between.
extern "C" __global__ void planted_race(const float* x, float* y) {
  __shared__ float slots[64];
  slots[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = slots[63 - threadIdx.x];
}

// A barrier for lanes 0 to 15 of each warp, to which lane 16 comes as well.
extern "C" __global__ void planted_stray_lane(const float* x, float* y) {
  __shared__ float slots[64];
  slots[threadIdx.x] = x[threadIdx.x];
  const unsigned lower = __ballot_sync(0xffffffffu, threadIdx.x % 32 < 16);
  if (threadIdx.x % 32 <= 16) {
    __syncwarp(lower);
    y[threadIdx.x] = slots[threadIdx.x ^ 1];
  }
}
