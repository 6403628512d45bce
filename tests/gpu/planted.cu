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

// A barrier for some threads of a warp.
extern "C" __global__ void planted_divergent_barrier(const float* x, float* y) {
  __shared__ float slots[64];
  if (threadIdx.x < 48) {
    slots[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = slots[47 - threadIdx.x];
  }
}
