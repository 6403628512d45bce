// nvcc loads `s` before it is known who uses it, and selects afterwards.

extern "C" __global__ void carried(int* y, int n) {
  __shared__ int s;
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum += i < blockDim.x ? 0 : s;
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) s = sum + i;
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

extern "C" __global__ void carried_without_a_barrier(int* y, int n) {
  __shared__ int s;
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum += i < blockDim.x ? 0 : s;  // here
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) s = sum + i;
  }
  y[threadIdx.x] = sum;
}

extern "C" __global__ void carried_from_nowhere(int* y, int n) {
  __shared__ int s;
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum += i < blockDim.x ? s : 0;  // here
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) s = sum + i;
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// Only warp 1 reads and writes `s`. Warp 0 drops what it loads, so no read of it precedes the writes.
extern "C" __global__ void of_one_warp(int* y, int n) {
  __shared__ int s;
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x == 32) s = i;
    __syncwarp();
    sum += threadIdx.x > 31 ? s : 1;
    __syncwarp();
  }
  y[threadIdx.x] = sum;
}

// Here lane 31 of warp 0 reads it, too.
extern "C" __global__ void of_one_warp_read_by_another(int* y, int n) {
  __shared__ int s;
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x == 32) s = i;  // or here
    __syncwarp();
    sum += threadIdx.x > 30 ? s : 1;  // here
    __syncwarp();
  }
  y[threadIdx.x] = sum;
}

extern "C" __global__ void looked_at_second(int* y, int n) {
  __shared__ int s;
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (i >= blockDim.x && s > 10) sum += i;
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) s = i;
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

extern "C" __global__ void two_values(int* y, int n) {
  __shared__ int s, t;
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const int both =
        s +  // here
        t;   // or here
    sum += i < blockDim.x ? 0 : both;
    __syncwarp();
    if (threadIdx.x == 3) {
      s = i;
      t = i;
    }
  }
  y[threadIdx.x] = sum;
}

__noinline__ __device__ bool even(int i, int& half) {
  if (i % 2) return false;
  half = i / 2;
  return true;
}

extern "C" __global__ void of_local_memory(int* y, int n) {
  int half;
  y[threadIdx.x] = even(threadIdx.x, half) ? half : -1;
}

extern "C" __global__ void of_local_memory_not_written(int* y, int n) {
  int half;
  y[threadIdx.x] = even(threadIdx.x, half) ? -1 : half;  // here
}
