// exp(value - max), which the sums of softmax and log-softmax are made of.
#pragma once
#include <cuda/std/type_traits>

#include "common/convert.cuh"
#include "common/reduce.cuh"

// The hardware's exp2 has an error of 2^-22, the product before it one of 2^-24 of the difference. In a sum both stay below
// 2^-21 of it. A single exponential has 2^-17 where it is nearly 0.
__device__ __forceinline__ float hardware_exp2(float exponent) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(exponent));
  return result;
}

__device__ __forceinline__ float hardware_exp(float difference) { return hardware_exp2(difference * 1.4426950408889634f); }

// exp(value - max) for the values of a row, times an excess that all of them share: quotients are free of it, and a sum is
// once it is multiplied by `correction`. Half types take one multiply-add and the hardware's exp2, as
// 2^(value log2(e) - max log2(e)). Their excess, up to 2^0.01, comes from rounding max log2(e). float32 has no excess.
//   Hardware  float32 takes the hardware's exp2 too: for sums. Half types always do, as their rounding hides its error.
//   max       finite, or what base_of makes of it, or infinite: then results are NaN, as they are for NaN
template <typename T, bool Hardware = false>
struct Exponentials {
  float factor, offset;

  explicit __device__ __forceinline__ Exponentials(float max) {
    constexpr float Log2E = 1.4426950408889634f;
    constexpr float Far = 65536.0f;  // from here on a bfloat16's neighbours are 256 away: exponentials are 0 by any factor
    factor = Log2E;
    if constexpr (cuda::std::is_same_v<T, __nv_bfloat16>) factor = fabsf(max) >= Far ? 1.0f : Log2E;
    offset = sizeof(T) == 4 ? max : -max * factor;
  }

  // To the base e where T is float32, else to the base 2, with the excess. A bfloat16 beyond 2^127 may leave float's range.
  __device__ __forceinline__ float exponent(float value) const {
    if constexpr (sizeof(T) == 4) return value - offset;
    return fmaf(value, factor, offset);
  }

  __device__ __forceinline__ float of_exponent(float exponent) const {
    if constexpr (sizeof(T) == 4) return Hardware ? hardware_exp(exponent) : expf(exponent);
    return hardware_exp2(exponent);
  }

  __device__ __forceinline__ float of(float value) const { return of_exponent(exponent(value)); }

  __device__ __forceinline__ float correction(float max) const {
    if constexpr (sizeof(T) == 4) return 1.0f;
    return hardware_exp2(-fmaf(max, factor, offset));
  }

  // Whether a sum is the maximum's exponential alone: all others together are below its rounding, or there are none.
  __device__ __forceinline__ bool is_one(float sum, float max) const { return sum == of(max); }

  // A sum without the excess, exactly 1 where the maximum's exponential is all of it; and back.
  __device__ __forceinline__ float without_excess(float sum, float max) const {
    if constexpr (sizeof(T) == 4) return sum;
    return is_one(sum, max) ? 1.0f : sum * correction(max);
  }
  __device__ __forceinline__ float with_excess(float sum, float max) const {
    if constexpr (sizeof(T) == 4) return sum;
    return sum * of(max);
  }
};

// Exponentials are taken relative to this: a part that is -inf throughout has exponentials of 0, not NaN, as the rest of its
// row may be finite.
__device__ __forceinline__ float base_of(float max) { return max == -CUDART_INF_F ? 0.0f : max; }
