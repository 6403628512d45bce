// Sums of n floats, one a block into sums[blockIdx.x]: how the tree inside a block is walked.
// Block a power of two up to 1024; n need not be a multiple of it.
__device__ __forceinline__ float own_value(const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  return i < n ? x[i] : 0.0f;
}

extern __shared__ float slots[];

// Neighbours s apart, worked on by every (2 s)-th thread.
extern "C" __global__ void modulo(const float* x, float* sums, int n) {
  const unsigned thread = threadIdx.x;
  slots[thread] = own_value(x, n);
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if (thread % (2 * s) == 0) slots[thread] += slots[thread + s];
    __syncthreads();
  }
  if (thread == 0) sums[blockIdx.x] = slots[0];
}

// The same pairs, worked on by the first threads: bank conflicts.
extern "C" __global__ void strided(const float* x, float* sums, int n) {
  const unsigned thread = threadIdx.x;
  slots[thread] = own_value(x, n);
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    const unsigned at = 2 * s * thread;
    if (at < blockDim.x) slots[at] += slots[at + s];
    __syncthreads();
  }
  if (thread == 0) sums[blockIdx.x] = slots[0];
}

// The upper half onto the lower.
extern "C" __global__ void sequential(const float* x, float* sums, int n) {
  const unsigned thread = threadIdx.x;
  slots[thread] = own_value(x, n);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (thread < s) slots[thread] += slots[thread + s];
    __syncthreads();
  }
  if (thread == 0) sums[blockIdx.x] = slots[0];
}

// Like sequential, but the last warp goes on alone, in step.
extern "C" __global__ void unrolled(const float* x, float* sums, int n) {
  const unsigned thread = threadIdx.x;
  slots[thread] = own_value(x, n);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 32; s /= 2) {
    if (thread < s) slots[thread] += slots[thread + s];
    __syncthreads();
  }
  if (thread < 32) {
    float value = slots[thread];
#pragma unroll
    for (unsigned s = 32; s > 0; s /= 2) {
      value += slots[thread + s];
      __syncwarp();
      slots[thread] = value;
      __syncwarp();
    }
  }
  if (thread == 0) sums[blockIdx.x] = slots[0];
}

// Warps by shuffles, then the first warp over the warps' sums; the grid strides over x and adds to one sum.
extern "C" __global__ void shuffled(const float* x, float* sum, int n) {
  __shared__ float of_warp[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float value = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += x[i];
  for (int s = 16; s > 0; s /= 2) value += __shfl_down_sync(0xffffffffu, value, s);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp > 0) return;
  value = lane < blockDim.x / 32 ? of_warp[lane] : 0.0f;
  for (int s = 16; s > 0; s /= 2) value += __shfl_down_sync(0xffffffffu, value, s);
  if (lane == 0) atomicAdd(sum, value);
}
