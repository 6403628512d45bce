// Exponentials of differences to a maximum, as sums of softmax and log-softmax are made of.
#pragma once
#include <cuda/std/type_traits>

#include "common/convert.cuh"
#include "common/reduce.cuh"

// By the hardware's power of two: its error of 2^-22 and that of the product before it, 2^-24 of the difference, which weighs
// less the more the power shrinks. In a sum both stay below 2^-21 of it; a single power has 2^-17 where it is nearly 0.
__device__ __forceinline__ float hardware_power_of_two(float exponent) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
}

__device__ __forceinline__ float hardware_exp(float difference) {
  return hardware_power_of_two(difference * 1.4426950408889634f);
}

// exp(difference). Of float32 the accurate function. Results of the half types are rounded to 2^-9 or 2^-12, which hides the
// hardware's error.
template <bool Fast, typename T>
__device__ __forceinline__ float power_of(float difference) {
  if constexpr (sizeof(T) == 4 && !Fast) return expf(difference);
  return hardware_exp(difference);
}

// exp(value - max) of a row's values, times an `excess` that all of them share: softmax's quotients are rid of it, and who
// needs the sum itself multiplies it by `correction`. Of half types a multiply-add and the hardware's power of two, as
// 2^(value log2(e) - max log2(e)); the excess, to 2^0.01, comes of rounding max log2(e). Of float32 there is none.
//   max   finite or not, or what base_of makes of it; NaN gives NaN
template <bool Fast, typename T>
struct Powers {
  float factor, offset;

  explicit __device__ __forceinline__ Powers(float max) {
    constexpr float Log2E = 1.4426950408889634f;
    constexpr float Far = 65536.0f;  // from here on a bfloat16's neighbours are 256 away: their powers are 0 by any factor
    factor = Log2E;
    if constexpr (cuda::std::is_same_v<T, __nv_bfloat16>) factor = fabsf(max) >= Far ? 1.0f : Log2E;
    offset = sizeof(T) == 4 ? max : -max * factor;
  }

  // Of e where T is float32, else of 2; the excess is in it, too. A bfloat16 beyond 2^127 may pass float's range by it.
  __device__ __forceinline__ float exponent(float value) const {
    if constexpr (sizeof(T) == 4) return value - offset;
    return fmaf(value, factor, offset);
  }

  __device__ __forceinline__ float of_exponent(float exponent) const {
    if constexpr (sizeof(T) == 4) return power_of<Fast, T>(exponent);
    return hardware_power_of_two(exponent);
  }

  __device__ __forceinline__ float of(float value) const { return of_exponent(exponent(value)); }

  __device__ __forceinline__ float correction(float max) const {
    if constexpr (sizeof(T) == 4) return 1.0f;
    return hardware_power_of_two(-fmaf(max, factor, offset));
  }

  // Whether a sum is the power of the maximum alone: all others together are below its rounding, or there are none.
  __device__ __forceinline__ bool is_one(float sum, float max) const { return sum == of(max); }

  // A sum without the excess, 1 exactly where the maximum's power is all of it; and back.
  __device__ __forceinline__ float corrected(float sum, float max) const {
    if constexpr (sizeof(T) == 4) return sum;
    return is_one(sum, max) ? 1.0f : sum * correction(max);
  }
  __device__ __forceinline__ float with_excess(float sum, float max) const {
    if constexpr (sizeof(T) == 4) return sum;
    return sum * of(max);
  }
};

// Powers are taken relative to this: a part that is -inf throughout has powers of 0, not NaN, for the rest may be finite.
__device__ __forceinline__ float base_of(float max) { return max == -CUDART_INF_F ? 0.0f : max; }
