// The product of two elements in their own type, as published, and of two pairs of neighbours where the type allows it.
//   rounding   to nearest, once
#pragma once
#include "common/elementwise.cuh"

template <typename T>
struct Product {
  static constexpr bool PAIRS = false;
  __device__ __forceinline__ T operator()(T x, T y) const { return x * y; }
};

// Two neighbours by one instruction. `Two` is __half2 or __nv_bfloat162.
template <typename T, typename Two>
struct PairedProduct {
  static constexpr bool PAIRS = true;
  __device__ __forceinline__ T operator()(T x, T y) const { return x * y; }
  // Pointers to elements of packs, each pair at a multiple of its own size.
  __device__ __forceinline__ void pair(T* z, const T* x, const T* y) const {
    *reinterpret_cast<Two*>(z) = *reinterpret_cast<const Two*>(x) * *reinterpret_cast<const Two*>(y);
  }
};
