// The column of an element as a remainder or by subtraction: i % columns against i - row * columns.
//   x           T [rows, columns], row-major; read once
//   by_row      T [rows]; by_column: T [columns]; read from the caches after the first time
//   y           T [rows, columns]; must not overlap the others; written once
//   T           float, __half, __nv_bfloat16
//   needs       elements + a block's threads below 2^31
//   BLOCK       threads of a block
//   launch      grid ceil(elements / BLOCK), block BLOCK; no shared memory
//   moves       D in, D out
//   Origin: two lines of OneFlow's article on 100 days; written here.
#include "factors.cuh"

struct Remainder {
  static __device__ __forceinline__ int column(int i, int, int columns) { return i % columns; }
};

struct MultiplySubtract {
  static __device__ __forceinline__ int column(int i, int row, int columns) { return i - row * columns; }
};

template <typename Way, typename T>
__device__ __forceinline__ void scale_each(const T* x, const T* by_row, const T* by_column, T* y, int elements,
                                           int columns) {
  const int i = static_cast<int>(blockIdx.x) * BLOCK + static_cast<int>(threadIdx.x);  // ranges [0, elements)
  if (i >= elements) return;
  const int row = i / columns;                          // ranges [0, rows)
  const int column = Way::column(i, row, columns);      // ranges [0, columns)
  y[i] = scaled(x[i], by_row[row], by_column[column]);
}

extern "C" __global__ void indexing_coordinates_remainder_f32(const float* x, const float* by_row,
                                                              const float* by_column, float* y, int elements,
                                                              int columns) {
  scale_each<Remainder>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_coordinates_remainder_f16(const __half* x, const __half* by_row,
                                                              const __half* by_column, __half* y, int elements,
                                                              int columns) {
  scale_each<Remainder>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_coordinates_remainder_bf16(const __nv_bfloat16* x, const __nv_bfloat16* by_row,
                                                               const __nv_bfloat16* by_column, __nv_bfloat16* y,
                                                               int elements, int columns) {
  scale_each<Remainder>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_coordinates_multiply_subtract_f32(const float* x, const float* by_row,
                                                                      const float* by_column, float* y, int elements,
                                                                      int columns) {
  scale_each<MultiplySubtract>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_coordinates_multiply_subtract_f16(const __half* x, const __half* by_row,
                                                                      const __half* by_column, __half* y, int elements,
                                                                      int columns) {
  scale_each<MultiplySubtract>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_coordinates_multiply_subtract_bf16(const __nv_bfloat16* x,
                                                                       const __nv_bfloat16* by_row,
                                                                       const __nv_bfloat16* by_column, __nv_bfloat16* y,
                                                                       int elements, int columns) {
  scale_each<MultiplySubtract>(x, by_row, by_column, y, elements, columns);
}
