// Exponentials of differences to a maximum, as sums of softmax and log-softmax are made of.
#pragma once
#include "common/reduce.cuh"

// By the hardware's power of two: its error of 2^-22 and that of the product before it, 2^-24 of the difference, which weighs
// less the more the power shrinks. In a sum both stay below 2^-21 of it; a single power has 2^-17 where it is nearly 0.
__device__ __forceinline__ float hardware_exp(float difference) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(difference * 1.4426950408889634f));
  return power;
}

// exp(difference). Of float32 the accurate function. Results of the half types are rounded to 2^-9 or 2^-12, which hides the
// hardware's error.
template <bool Fast, typename T>
__device__ __forceinline__ float power_of(float difference) {
  if constexpr (sizeof(T) == 4 && !Fast) return expf(difference);
  return hardware_exp(difference);
}

// Powers are taken relative to this: a part that is -inf throughout has powers of 0, not NaN, for the rest may be finite.
__device__ __forceinline__ float base_of(float max) { return max == -CUDART_INF_F ? 0.0f : max; }
