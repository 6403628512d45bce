// The result of one element, which the kernels of this folder compute once they have found its row and column.
#pragma once
#include "common/elementwise.cuh"

// x times the factor of its row where x > 0, else times the factor of its column; a NaN stays NaN.
template <typename T>
__device__ __forceinline__ T scaled(T x, T of_row, T of_column) {
  const float value = to_float(x);
  return from_float<T>(value * (value > 0.0f ? to_float(of_row) : to_float(of_column)));
}
