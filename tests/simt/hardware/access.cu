// One access a lane: lane i reads or writes element index[i] of an array; a negative index switches the lane off.
// Element types of 4, 8 and 16 bytes, in global and in shared memory, and the atomic addition in both.
// Launched as one warp. Each kernel also reads its index, and all but stg_* and atomg_4 write 32 floats of result.

template <typename T>
__device__ float summed(T value) {
  const float* parts = reinterpret_cast<const float*>(&value);
  float sum = 0;
  for (int i = 0; i < static_cast<int>(sizeof(T) / sizeof(float)); ++i) sum += parts[i];
  return sum;
}

template <typename T>
__device__ T counted_from(int start) {
  T value;
  float* parts = reinterpret_cast<float*>(&value);
  for (int i = 0; i < static_cast<int>(sizeof(T) / sizeof(float)); ++i) parts[i] = start + i;
  return value;
}

extern __shared__ __align__(16) unsigned char shared_bytes[];

template <typename T>
__device__ void load_shared(const int* index, float* result) {
  const int at = index[threadIdx.x];
  result[threadIdx.x] = at >= 0 ? summed(reinterpret_cast<const T*>(shared_bytes)[at]) : 0.0f;
}

template <typename T>
__device__ void store_shared(const int* index, float* result) {
  const int at = index[threadIdx.x];
  if (at >= 0) reinterpret_cast<T*>(shared_bytes)[at] = counted_from<T>(threadIdx.x);
  __syncthreads();
  result[threadIdx.x] = reinterpret_cast<const float*>(shared_bytes)[threadIdx.x];
}

template <typename T>
__device__ void load_global(const T* x, const int* index, float* result) {
  const int at = index[threadIdx.x];
  result[threadIdx.x] = at >= 0 ? summed(x[at]) : 0.0f;
}

template <typename T>
__device__ void store_global(T* x, const int* index) {
  const int at = index[threadIdx.x];
  if (at >= 0) x[at] = counted_from<T>(threadIdx.x);
}

#define ACCESS_KERNELS(T, BYTES)                                                                          \
  extern "C" __global__ void lds_##BYTES(const int* index, float* result) { load_shared<T>(index, result); }  \
  extern "C" __global__ void sts_##BYTES(const int* index, float* result) { store_shared<T>(index, result); } \
  extern "C" __global__ void ldg_##BYTES(const T* x, const int* index, float* result) {                   \
    load_global<T>(x, index, result);                                                                     \
  }                                                                                                       \
  extern "C" __global__ void stg_##BYTES(T* x, const int* index) { store_global<T>(x, index); }

ACCESS_KERNELS(float, 4)
ACCESS_KERNELS(float2, 8)
ACCESS_KERNELS(float4, 16)

extern "C" __global__ void atoms_4(const int* index, int* result) {
  int* slots = reinterpret_cast<int*>(shared_bytes);
  const int at = index[threadIdx.x];
  if (at >= 0) atomicAdd(&slots[at], static_cast<int>(threadIdx.x));
  __syncthreads();
  result[threadIdx.x] = slots[threadIdx.x];
}

extern "C" __global__ void atomg_4(int* x, const int* index) {
  const int at = index[threadIdx.x];
  if (at >= 0) atomicAdd(&x[at], static_cast<int>(threadIdx.x));
}
