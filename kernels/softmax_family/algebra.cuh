// What softmax and log-softmax of a row make of an element, its row's maximum and its row's sum of powers.
//   Form    Softmax: exp(x - max) / sum;  LogSoftmax: x - max - log(sum)
// A row of -inf, or with +inf or NaN, gives NaN throughout. A sum is at least 0.99 where it is not NaN, and finite.
#pragma once
#include "softmax_family/exponentials.cuh"
#include "common/reduce.cuh"

// 1 / sum, of a finite normal one that is not near the ends of float's range, where a division's branches are not needed.
// Of float32 within an ulp; the half types' rounding hides the hardware's error.
template <typename T>
__device__ __forceinline__ float reciprocal_of(float sum) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(sum));
  if constexpr (sizeof(T) == 4) result = fmaf(result, fmaf(-sum, result, 1.0f), result);
  return result;
}

// Of each element `kept` is held until the row is summed, and `result` made of it and of what the row's `ends` are.
struct Ends {
  float of_kept, term;
};

struct Softmax {
  static constexpr bool KEEPS_POWERS = true;  // the result is made of the power, not of the element
  template <typename T>
  static __device__ __forceinline__ float kept(float, float, float power) {
    return power;
  }
  template <bool Fast, typename T>
  static __device__ __forceinline__ Ends ends(float, float sum, const Powers<Fast, T>&) {
    return {reciprocal_of<T>(sum), 0.0f};
  }
  template <typename T>
  static __device__ __forceinline__ float result(float kept, Ends ends) {
    return kept * ends.of_kept;
  }
};

struct LogSoftmax {
  static constexpr bool KEEPS_POWERS = false;
  // A bfloat16 has values whose exponents are beyond float's range: the value itself is kept.
  template <typename T>
  static constexpr bool KEEPS_VALUES = cuda::std::is_same_v<T, __nv_bfloat16>;
  template <typename T>
  static __device__ __forceinline__ float kept(float value, float exponent, float) {
    return KEEPS_VALUES<T> ? value : exponent;
  }
  template <bool Fast, typename T>
  static __device__ __forceinline__ Ends ends(float max, float sum, const Powers<Fast, T>& powers) {
    if constexpr (sizeof(T) == 4) return {1.0f, -logf(sum)};
    const bool one = powers.is_one(sum, max);  // whose logarithm is exact: the maximum's result is 0, as it must be
    if constexpr (KEEPS_VALUES<T>) return {max, one ? 0.0f : -__logf(sum * powers.correction(max))};
    constexpr float Log2 = 0.6931471805599453f;
    return {Log2, one ? -powers.exponent(max) * Log2 : -__logf(sum)};  // of sum and exponents the excess is the same
  }
  template <typename T>
  static __device__ __forceinline__ float result(float kept, Ends ends) {
    return KEEPS_VALUES<T> ? kept - ends.of_kept + ends.term : fmaf(kept, ends.of_kept, ends.term);
  }
};

// The result of an element of a row whose ends are known.
template <typename Form, bool Fast, typename T>
__device__ __forceinline__ float result_of(float value, const Powers<Fast, T>& powers, Ends ends) {
  const float exponent = powers.exponent(value);
  return Form::template result<T>(Form::template kept<T>(value, exponent, powers.of_exponent(exponent)), ends);
}

// Maximum and sum of powers relative to it, without an excess, of a part of a row or of all of it.
struct Part {
  float max;
  float sum;
};

template <typename Form, bool Fast, typename T>
__device__ __forceinline__ Ends ends_of(Part row, const Powers<Fast, T>& powers) {
  return Form::ends(row.max, powers.with_excess(row.sum, row.max), powers);
}

// All parts of a row joined; every lane gets the result. All lanes of the warp must call it.
//   parts   [count], those without an element (-inf, 0)
__device__ __forceinline__ Part warp_all_join(const float2* parts, int count) {
  const int lane = threadIdx.x % WARP_SIZE;  // ranges [0, 32)
  float max = MaxOp::identity();
  for (int i = lane; i < count; i += WARP_SIZE) max = MaxOp::apply(max, parts[i].x);
  max = warp_all_reduce<MaxOp>(max);
  float sum = 0.0f;
  for (int i = lane; i < count; i += WARP_SIZE) sum += parts[i].y * expf(parts[i].x - max);
  return {max, warp_all_reduce<SumOp>(sum)};
}
