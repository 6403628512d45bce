// The product of two arrays, one element per thread.
//   x, y    T [elements]; each element read once
//   z       T [elements]; must not overlap x or y; written once
//   T       float, __half, __nv_bfloat16
//   needs   elements >= 1
//   launch  grid ceil(elements / block), any block of one dimension; no shared memory
//   moves   2 D in, D out
//   Origin: the plain kernel that packed ones are set against; written here.
#include "product.cuh"

template <typename T>
__device__ __forceinline__ void multiply_naive(const T* x, const T* y, T* z, long long elements) {
  const long long i = global_thread();  // ranges [0, elements)
  if (i < elements) z[i] = Product<T>()(x[i], y[i]);
}

extern "C" __global__ void multiply_naive_f32(const float* x, const float* y, float* z, long long elements) {
  multiply_naive(x, y, z, elements);
}

extern "C" __global__ void multiply_naive_f16(const __half* x, const __half* y, __half* z, long long elements) {
  multiply_naive(x, y, z, elements);
}

extern "C" __global__ void multiply_naive_bf16(const __nv_bfloat16* x, const __nv_bfloat16* y, __nv_bfloat16* z,
                                               long long elements) {
  multiply_naive(x, y, z, elements);
}
