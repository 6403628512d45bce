// A bias for each element, whatever its axis: two divisions per element.
//   x       T [elements], seen as [outer, dim, inner]; read once
//   bias    T [dim]; read for each element, from the caches after the first time
//   y       T [elements]; must not overlap x or bias; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   Index   int in entries with i32, for at most 2^30 elements; long long in those with i64
//   needs   elements >= 1
//   launch  grid at most 32 waves of resident blocks, block of one dimension; no shared memory
//   moves   D and the bias in, D out
//   Origin: OneFlow's bias_add; written here.
#include "bias.cuh"

template <typename Index, typename T>
__device__ __forceinline__ void bias_add_generic(const T* x, const T* bias, T* y, long long elements, long long dim_inner, long long inner) {
  const Index slab = static_cast<Index>(dim_inner);  // elements of one of `outer`
  const Index width = static_cast<Index>(inner);
  add_bias<Index>(x, bias, y, elements, [=](Index i) { return i % slab / width; });
}

extern "C" __global__ void bias_add_generic_i32_f32(const float* x, const float* bias, float* y, long long elements,
                                                    long long dim_inner, long long inner) {
  bias_add_generic<int>(x, bias, y, elements, dim_inner, inner);
}

extern "C" __global__ void bias_add_generic_i32_f16(const __half* x, const __half* bias, __half* y, long long elements,
                                                    long long dim_inner, long long inner) {
  bias_add_generic<int>(x, bias, y, elements, dim_inner, inner);
}

extern "C" __global__ void bias_add_generic_i32_bf16(const __nv_bfloat16* x, const __nv_bfloat16* bias,
                                                     __nv_bfloat16* y, long long elements, long long dim_inner,
                                                     long long inner) {
  bias_add_generic<int>(x, bias, y, elements, dim_inner, inner);
}

extern "C" __global__ void bias_add_generic_i64_f32(const float* x, const float* bias, float* y, long long elements,
                                                    long long dim_inner, long long inner) {
  bias_add_generic<long long>(x, bias, y, elements, dim_inner, inner);
}

extern "C" __global__ void bias_add_generic_i64_f16(const __half* x, const __half* bias, __half* y, long long elements,
                                                    long long dim_inner, long long inner) {
  bias_add_generic<long long>(x, bias, y, elements, dim_inner, inner);
}

extern "C" __global__ void bias_add_generic_i64_bf16(const __nv_bfloat16* x, const __nv_bfloat16* bias,
                                                     __nv_bfloat16* y, long long elements, long long dim_inner,
                                                     long long inner) {
  bias_add_generic<long long>(x, bias, y, elements, dim_inner, inner);
}
