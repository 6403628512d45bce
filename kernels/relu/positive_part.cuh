// x where it is not below 0, else 0: a NaN is not below 0.
#pragma once
#include "common/elementwise.cuh"

template <typename T>
struct PositivePart {
  static constexpr bool PAIRS = false;
  __device__ __forceinline__ T operator()(T x) const { return to_float(x) < 0.0f ? from_float<T>(0.0f) : x; }
};
