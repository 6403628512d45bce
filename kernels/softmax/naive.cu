// Softmax over the last axis, one thread per row.
//   x       T [rows, columns], row-major; read three times
//   y       T [rows, columns]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   needs   nothing: any rows >= 1, any columns >= 1
//   launch  grid ceil(rows / 256), block 256, no shared memory
//   moves   3 D in, 1 D out; the lanes of a warp never access neighbouring elements
//   A row of -inf gives NaN.   Origin: written here, the plainest kernel there is.
#include "common/convert.cuh"

template <typename T>
__device__ void softmax_naive(const T* x, T* y, long long rows, int columns, float scale) {
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;  // ranges [0, rows)
  if (row >= rows) return;
  const T* x_row = x + row * columns;
  T* y_row = y + row * columns;

  float row_max = -INFINITY;
  for (int column = 0; column < columns; ++column) row_max = fmaxf(row_max, scale * to_float(x_row[column]));

  float row_sum = 0.0f;
  for (int column = 0; column < columns; ++column) row_sum += expf(scale * to_float(x_row[column]) - row_max);

  for (int column = 0; column < columns; ++column)
    y_row[column] = from_float<T>(expf(scale * to_float(x_row[column]) - row_max) / row_sum);
}

extern "C" __global__ void softmax_naive_f32(const float* x, float* y, long long rows, int columns, float scale) {
  softmax_naive(x, y, rows, columns, scale);
}

extern "C" __global__ void softmax_naive_f16(const __half* x, __half* y, long long rows, int columns, float scale) {
  softmax_naive(x, y, rows, columns, scale);
}

extern "C" __global__ void softmax_naive_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long rows, int columns,
                                              float scale) {
  softmax_naive(x, y, rows, columns, scale);
}
