// exp(value - max), the terms of the sums of softmax and log-softmax.
#pragma once
#include <type_traits>

#include "common/convert.cuh"
#include "common/reduce.cuh"

// The hardware's exp2 has a relative error of 2^-22; the product before it adds 2^-24 of the difference. A sum of exponentials
// is off by less than 2^-21, a single exponential near 0 by up to 2^-17.
__device__ __forceinline__ float hardware_exp2(float exponent) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(exponent));
  return result;
}

__device__ __forceinline__ float hardware_exp(float difference) { return hardware_exp2(difference * 1.4426950408889634f); }

// exp(value - max) for the values of a row, times a factor that all of them share, the excess. It cancels in quotients;
// `correction` removes it from a sum. Half types take one multiply-add and the hardware's exp2, as
// 2^(value log2(e) - max log2(e)). Their excess, up to 2^0.01, comes from rounding max log2(e). float32 has no excess.
//   Hardware  float32 takes the hardware's exp2 too, for sums. Half types always do, because rounding hides its error.
//   max       finite (see base_of); an infinite or NaN maximum gives NaN
template <typename T, bool Hardware = false>
struct Exponentials {
  float factor, offset;

  explicit __device__ __forceinline__ Exponentials(float max) {
    constexpr float Log2E = 1.4426950408889634f;
    constexpr float Far = 65536.0f;  // from here on neighbours of a bfloat16 are 256 apart: any factor gives exponentials of 0
    factor = Log2E;
    if constexpr (std::is_same_v<T, __nv_bfloat16>) factor = fabsf(max) >= Far ? 1.0f : Log2E;
    offset = sizeof(T) == 4 ? max : -max * factor;
  }

  // The exponent to base e for float32, else to base 2 with the excess. For a bfloat16 beyond 2^127 it may leave float's range.
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

  // Whether the sum equals the exponential of the maximum: all others together vanish in rounding, or there are none.
  __device__ __forceinline__ bool is_one(float sum, float max) const { return sum == of(max); }

  // The sum without the excess, exactly 1 where is_one holds; with_excess is the inverse.
  __device__ __forceinline__ float without_excess(float sum, float max) const {
    if constexpr (sizeof(T) == 4) return sum;
    return is_one(sum, max) ? 1.0f : sum * correction(max);
  }
  __device__ __forceinline__ float with_excess(float sum, float max) const {
    if constexpr (sizeof(T) == 4) return sum;
    return sum * of(max);
  }
};

// The base of the exponentials of a part of a row. It is 0 for a part of -inf alone, whose exponentials are then 0 and not NaN,
// because the rest of the row may be finite.
__device__ __forceinline__ float base_of(float max) { return max == -CUDART_INF_F ? 0.0f : max; }
