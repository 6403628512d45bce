// Dropout and addition of one element each, in float, rounded once to the arrays' own type.
#pragma once
#include "common/elementwise.cuh"

template <typename T>
struct Dropout {
  static constexpr bool PAIRS = false;
  float scale;
  __device__ __forceinline__ T operator()(T x, signed char mask) const {
    return from_float<T>(to_float(x) * static_cast<float>(mask) * scale);
  }
};

template <typename T>
struct Add {
  static constexpr bool PAIRS = false;
  __device__ __forceinline__ T operator()(T x, T addend) const {
    return from_float<T>(to_float(x) + to_float(addend));
  }
};

template <typename T>
struct DropoutAdd {
  static constexpr bool PAIRS = false;
  float scale;
  __device__ __forceinline__ T operator()(T x, signed char mask, T addend) const {
    return from_float<T>(to_float(x) * static_cast<float>(mask) * scale + to_float(addend));
  }
};
