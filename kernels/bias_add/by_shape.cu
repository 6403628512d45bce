// A bias for each element, by two kernels for two shapes: its axis is the last, or the first. One division per element.
//   x       T [elements], seen as [outer, dim] by rows, as [dim, inner] by columns; read once
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
__device__ __forceinline__ void bias_add_by_shape_rows(const T* x, const T* bias, T* y, long long elements,
                                                       long long dim) {
  const Index columns = static_cast<Index>(dim);
  add_bias<Index>(x, bias, y, elements, [=](Index i) { return i % columns; });
}

extern "C" __global__ void bias_add_by_shape_rows_i32_f32(const float* x, const float* bias, float* y,
                                                          long long elements, long long dim) {
  bias_add_by_shape_rows<int>(x, bias, y, elements, dim);
}

extern "C" __global__ void bias_add_by_shape_rows_i32_f16(const __half* x, const __half* bias, __half* y,
                                                          long long elements, long long dim) {
  bias_add_by_shape_rows<int>(x, bias, y, elements, dim);
}

extern "C" __global__ void bias_add_by_shape_rows_i32_bf16(const __nv_bfloat16* x, const __nv_bfloat16* bias,
                                                           __nv_bfloat16* y, long long elements, long long dim) {
  bias_add_by_shape_rows<int>(x, bias, y, elements, dim);
}

extern "C" __global__ void bias_add_by_shape_rows_i64_f32(const float* x, const float* bias, float* y,
                                                          long long elements, long long dim) {
  bias_add_by_shape_rows<long long>(x, bias, y, elements, dim);
}

extern "C" __global__ void bias_add_by_shape_rows_i64_f16(const __half* x, const __half* bias, __half* y,
                                                          long long elements, long long dim) {
  bias_add_by_shape_rows<long long>(x, bias, y, elements, dim);
}

extern "C" __global__ void bias_add_by_shape_rows_i64_bf16(const __nv_bfloat16* x, const __nv_bfloat16* bias,
                                                           __nv_bfloat16* y, long long elements, long long dim) {
  bias_add_by_shape_rows<long long>(x, bias, y, elements, dim);
}

template <typename Index, typename T>
__device__ __forceinline__ void bias_add_by_shape_columns(const T* x, const T* bias, T* y, long long elements,
                                                          long long inner) {
  const Index width = static_cast<Index>(inner);
  add_bias<Index>(x, bias, y, elements, [=](Index i) { return i / width; });
}

extern "C" __global__ void bias_add_by_shape_columns_i32_f32(const float* x, const float* bias, float* y,
                                                             long long elements, long long inner) {
  bias_add_by_shape_columns<int>(x, bias, y, elements, inner);
}

extern "C" __global__ void bias_add_by_shape_columns_i32_f16(const __half* x, const __half* bias, __half* y,
                                                             long long elements, long long inner) {
  bias_add_by_shape_columns<int>(x, bias, y, elements, inner);
}

extern "C" __global__ void bias_add_by_shape_columns_i32_bf16(const __nv_bfloat16* x, const __nv_bfloat16* bias,
                                                              __nv_bfloat16* y, long long elements, long long inner) {
  bias_add_by_shape_columns<int>(x, bias, y, elements, inner);
}

extern "C" __global__ void bias_add_by_shape_columns_i64_f32(const float* x, const float* bias, float* y,
                                                             long long elements, long long inner) {
  bias_add_by_shape_columns<long long>(x, bias, y, elements, inner);
}

extern "C" __global__ void bias_add_by_shape_columns_i64_f16(const __half* x, const __half* bias, __half* y,
                                                             long long elements, long long inner) {
  bias_add_by_shape_columns<long long>(x, bias, y, elements, inner);
}

extern "C" __global__ void bias_add_by_shape_columns_i64_bf16(const __nv_bfloat16* x, const __nv_bfloat16* bias,
                                                              __nv_bfloat16* y, long long elements, long long inner) {
  bias_add_by_shape_columns<long long>(x, bias, y, elements, inner);
}
