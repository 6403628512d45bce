// x where it is not below 0, else 0: a NaN is not below 0.
#pragma once
#include "common/elementwise.cuh"

template <typename T>
struct PositivePart {
  static constexpr bool PAIRS = false;
  // The choice is between floats: between half-precision numbers, which are classes, it would become a branch.
  __device__ __forceinline__ T operator()(T x) const {
    const float value = to_float(x);
    return from_float<T>(value < 0.0f ? 0.0f : value);
  }
};
