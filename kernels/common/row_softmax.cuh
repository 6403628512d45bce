// What softmax and log-softmax of a row make of an element, its row's maximum and its row's sum of powers.
//   Form    Softmax: exp(x - max) / sum;  LogSoftmax: x - max - log(sum)
// A row of -inf, or with +inf or NaN, gives NaN throughout. A sum is at least 1 where it is not NaN, so its reciprocal is normal.
#pragma once
#include "common/exponential.cuh"
#include "common/reduce.cuh"

struct Softmax {
  static constexpr bool KEEPS_POWERS = true;  // the result is made of the power, not of the element
  // What `finish` needs of a row once it is summed.
  static __device__ __forceinline__ float scale_of(float sum) { return 1.0f / sum; }
  static __device__ __forceinline__ float finish(float power, float, float scale) { return power * scale; }
};

struct LogSoftmax {
  static constexpr bool KEEPS_POWERS = false;
  static __device__ __forceinline__ float scale_of(float sum) { return logf(sum); }
  static __device__ __forceinline__ float finish(float value, float max, float scale) { return value - max - scale; }
};

// Maximum and sum of powers relative to it, of a part of a row or of all of it.
struct Part {
  float max;
  float sum;
};

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
