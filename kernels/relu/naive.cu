// ReLU, one element per thread.
//   x       T [elements]; read once
//   y       T [elements]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16
//   needs   elements >= 1
//   launch  grid ceil(elements / block), any block of one dimension; no shared memory
//   moves   D in, D out.   A NaN stays one.
//   Origin: the first kernel of a page on element-wise kernels; written here.
#include "positive_part.cuh"

template <typename T>
__device__ __forceinline__ void relu_naive(const T* x, T* y, long long elements) {
  const long long i = global_thread();  // ranges [0, elements)
  if (i < elements) y[i] = PositivePart<T>()(x[i]);
}

extern "C" __global__ void relu_naive_f32(const float* x, float* y, long long elements) {
  relu_naive(x, y, elements);
}

extern "C" __global__ void relu_naive_f16(const __half* x, __half* y, long long elements) {
  relu_naive(x, y, elements);
}

extern "C" __global__ void relu_naive_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long elements) {
  relu_naive(x, y, elements);
}
