// The row and column of an element by 64-bit or by 32-bit arithmetic; one element per thread.
//   x           T [rows, columns], row-major; read once
//   by_row      T [rows]; by_column: T [columns]; read from the caches after the first time
//   y           T [rows, columns]; must not overlap the others; written once
//   T           float, __half, __nv_bfloat16
//   int64       any number of elements >= 1
//   int32       elements + a block's threads below 2^31
//   BLOCK       threads of a block
//   launch      grid ceil(elements / BLOCK), block BLOCK; no shared memory
//   moves       D in, D out
//   Origin: a remark of OneFlow's article on 100 days; written here.
#include "factors.cuh"

template <typename Index, typename T>
__device__ __forceinline__ void scale_each(const T* x, const T* by_row, const T* by_column, T* y, Index elements,
                                           Index columns) {
  const Index i = static_cast<Index>(blockIdx.x) * BLOCK + threadIdx.x;  // ranges [0, elements)
  if (i >= elements) return;
  const Index row = i / columns;     // ranges [0, rows)
  const Index column = i % columns;  // ranges [0, columns)
  y[i] = scaled(x[i], by_row[row], by_column[column]);
}

extern "C" __global__ void indexing_index_width_int64_f32(const float* x, const float* by_row, const float* by_column,
                                                          float* y, long long elements, long long columns) {
  scale_each(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_index_width_int64_f16(const __half* x, const __half* by_row,
                                                          const __half* by_column, __half* y, long long elements,
                                                          long long columns) {
  scale_each(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_index_width_int64_bf16(const __nv_bfloat16* x, const __nv_bfloat16* by_row,
                                                           const __nv_bfloat16* by_column, __nv_bfloat16* y,
                                                           long long elements, long long columns) {
  scale_each(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_index_width_int32_f32(const float* x, const float* by_row, const float* by_column,
                                                          float* y, int elements, int columns) {
  scale_each(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_index_width_int32_f16(const __half* x, const __half* by_row,
                                                          const __half* by_column, __half* y, int elements,
                                                          int columns) {
  scale_each(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_index_width_int32_bf16(const __nv_bfloat16* x, const __nv_bfloat16* by_row,
                                                           const __nv_bfloat16* by_column, __nv_bfloat16* y,
                                                           int elements, int columns) {
  scale_each(x, by_row, by_column, y, elements, columns);
}
