// Histograms, and single atomics whose targets are given: slot[i] is where thread i adds.
#include <cuda_fp16.h>

extern "C" __global__ void histogram_shared(const unsigned char* x, unsigned* counts, int n) {
  __shared__ unsigned own[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&counts[i], own[i]);
}

extern "C" __global__ void histogram_global(const unsigned char* x, unsigned* counts, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[x[i]], 1u);
}

__device__ __forceinline__ int thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

// The old value is not used, so that the hardware need not send one back.
extern "C" __global__ void add_i32(const int* slot, int* counts) { atomicAdd(&counts[slot[thread_number()]], 3); }

extern "C" __global__ void add_u64(const int* slot, unsigned long long* counts) {
  atomicAdd(&counts[slot[thread_number()]], 3ull);
}

extern "C" __global__ void add_f32(const int* slot, float* sums) { atomicAdd(&sums[slot[thread_number()]], 0.5f); }

extern "C" __global__ void add_f64(const int* slot, double* sums) { atomicAdd(&sums[slot[thread_number()]], 0.5); }

extern "C" __global__ void add_half2(const int* slot, __half2* sums) {
  atomicAdd(&sums[slot[thread_number()]], __floats2half2_rn(0.5f, 1.0f));
}

extern "C" __global__ void max_i32(const int* slot, int* highest) {
  atomicMax(&highest[slot[thread_number()]], thread_number());
}

// The old value is used; every slot once, so that it is known.
extern "C" __global__ void exchange(const int* slot, int* values, int* old) {
  old[thread_number()] = atomicExch(&values[slot[thread_number()]], thread_number());
}

extern "C" __global__ void compare_and_swap(const int* slot, int* values, int* old) {
  old[thread_number()] = atomicCAS(&values[slot[thread_number()]], thread_number(), -1);
}

// In shared memory: as many slots as threads, at most 256.
extern "C" __global__ void shared_add_i32(const int* slot, int* counts) {
  __shared__ int own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&own[slot[thread_number()]], static_cast<int>(threadIdx.x));
  __syncthreads();
  counts[thread_number()] = own[threadIdx.x];
}

extern "C" __global__ void shared_max_u32(const int* slot, unsigned* highest) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  atomicMax(&own[slot[thread_number()]], threadIdx.x);
  __syncthreads();
  highest[thread_number()] = own[threadIdx.x];
}

extern "C" __global__ void shared_add_f32(const int* slot, float* sums) {
  __shared__ float own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&own[slot[thread_number()]], 0.5f);
  __syncthreads();
  sums[thread_number()] = own[threadIdx.x];
}

extern "C" __global__ void shared_exchange(const int* slot, int* old) {
  __shared__ int own[256];
  own[threadIdx.x] = threadIdx.x;
  __syncthreads();
  old[thread_number()] = atomicExch(&own[slot[thread_number()]], -1);
}
