// Rows element by element, one warp per row, read three times: for arrays that are not aligned as the launch assumes.
#pragma once
#include "softmax_family/algebra.cuh"

template <typename Form, typename T>
__device__ __noinline__ void rows_by_elements(const T* x, T* y, long long rows, int columns) {
  const int lane = threadIdx.x % WARP_SIZE;
  const int warps = blockDim.x / WARP_SIZE;
  for (long long row = static_cast<long long>(blockIdx.x) * warps + threadIdx.x / WARP_SIZE; row < rows;
       row += static_cast<long long>(gridDim.x) * warps) {
    const T* x_row = x + row * columns;
    float own_max = MaxOp::identity();
    for (int column = lane; column < columns; column += WARP_SIZE) own_max = MaxOp::apply(own_max, to_float(x_row[column]));
    const float max = warp_all_reduce<MaxOp>(own_max);
    const Exponentials<T> exponentials(max);
    float own_sum = 0.0f;
    for (int column = lane; column < columns; column += WARP_SIZE) own_sum += exponentials.of(to_float(x_row[column]));
    const Norm norm = Form::norm({max, warp_all_reduce<SumOp>(own_sum)}, exponentials);
    for (int column = lane; column < columns; column += WARP_SIZE)
      y[row * columns + column] = from_float<T>(result_of<Form>(to_float(x_row[column]), exponentials, norm));
  }
}
