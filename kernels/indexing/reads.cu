// A thread needs the factor of a row for two elements: loads it for each, with a store in between, or once.
//   x           T [rows, columns], row-major; read once
//   by_row      T [rows]; by_column: T [columns]; read from the caches after the first time
//   y           T [rows, columns]; must not overlap the others; written once
//   T           float, __half, __nv_bfloat16
//   needs       elements + a block's threads below 2^31
//   BLOCK       threads of a block
//   launch      a thread for each pair of columns: grid ceil(rows * ceil(columns / 2) / BLOCK), block BLOCK; no shared
//               memory
//   moves       D in, D out
//   No pointer is __restrict__: for all the compiler knows y overlaps by_row, so it must load again.
//   Origin: a remark of OneFlow's article on 100 days; written here.
#include "factors.cuh"

// A thread's two elements are `half` columns apart, so that neighbouring threads have neighbouring elements.
template <bool Once, typename T>
__device__ __forceinline__ void scale_pair(const T* x, const T* by_row, const T* by_column, T* y, int elements,
                                           int columns) {
  const int half = (columns + 1) / 2;
  const int pair = static_cast<int>(blockIdx.x) * BLOCK + static_cast<int>(threadIdx.x);
  const int row = pair / half;               // ranges [0, rows)
  const int column = pair - row * half;      // ranges [0, half)
  if (row >= elements / columns) return;
  const int i = row * columns + column;  // ranges [0, elements)

  const T of_row = by_row[row];
  y[i] = scaled(x[i], of_row, by_column[column]);
  if (column + half < columns)
    y[i + half] = scaled(x[i + half], Once ? of_row : by_row[row], by_column[column + half]);
}

extern "C" __global__ void indexing_reads_twice_f32(const float* x, const float* by_row, const float* by_column,
                                                    float* y, int elements, int columns) {
  scale_pair<false>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_reads_twice_f16(const __half* x, const __half* by_row, const __half* by_column,
                                                    __half* y, int elements, int columns) {
  scale_pair<false>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_reads_twice_bf16(const __nv_bfloat16* x, const __nv_bfloat16* by_row,
                                                     const __nv_bfloat16* by_column, __nv_bfloat16* y, int elements,
                                                     int columns) {
  scale_pair<false>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_reads_once_f32(const float* x, const float* by_row, const float* by_column,
                                                   float* y, int elements, int columns) {
  scale_pair<true>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_reads_once_f16(const __half* x, const __half* by_row, const __half* by_column,
                                                   __half* y, int elements, int columns) {
  scale_pair<true>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_reads_once_bf16(const __nv_bfloat16* x, const __nv_bfloat16* by_row,
                                                    const __nv_bfloat16* by_column, __nv_bfloat16* y, int elements,
                                                    int columns) {
  scale_pair<true>(x, by_row, by_column, y, elements, columns);
}
