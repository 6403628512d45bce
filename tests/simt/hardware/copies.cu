// Copies from global to shared memory by cp.async (sm_80 on), 4, 8 and 16 bytes a thread; one block.
#include <cuda_pipeline.h>

template <typename T>
__device__ void copy(const T* x, T* y, int n) {
  __shared__ T slots[256];
  const int i = threadIdx.x;
  if (i < n) __pipeline_memcpy_async(&slots[i], &x[i], sizeof(T));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (i < n) y[i] = slots[n - 1 - i];
}

extern "C" __global__ void copy_4(const float* x, float* y, int n) { copy(x, y, n); }
extern "C" __global__ void copy_8(const float2* x, float2* y, int n) { copy(x, y, n); }
extern "C" __global__ void copy_16(const float4* x, float4* y, int n) { copy(x, y, n); }

// The last threads fill their slots with zeros instead.
extern "C" __global__ void copy_and_fill(const float4* x, float4* y, int n) {
  __shared__ float4 slots[256];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&slots[i], &x[i < n ? i : 0], 16, i < n ? 0 : 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  y[i] = slots[i ^ 1];
}
