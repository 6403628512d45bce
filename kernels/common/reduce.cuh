// Maximum and sum of a value over the lanes of a warp, or the threads of a block; every one gets the result.
//   Op      MaxOp, SumOp: `identity` is what an idle lane brings, `apply` joins two values
//   order   fixed by the lane and warp numbers, so a sum is the same on every run
#pragma once
#include <math_constants.h>

constexpr int WARP_SIZE = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

struct MaxOp {
  static __device__ __forceinline__ float identity() { return -CUDART_INF_F; }
  // fmaxf drops a NaN; softmax brings it back when the NaN itself is exponentiated and summed.
  static __device__ __forceinline__ float apply(float a, float b) { return fmaxf(a, b); }
};

struct SumOp {
  static __device__ __forceinline__ float identity() { return 0.0f; }
  static __device__ __forceinline__ float apply(float a, float b) { return a + b; }
};

// Over groups of WIDTH neighbouring lanes. All 32 lanes of the warp must call it.
template <typename Op, int WIDTH = WARP_SIZE>
__device__ __forceinline__ float warp_all_reduce(float value) {
  static_assert(WIDTH >= 1 && WIDTH <= WARP_SIZE && (WIDTH & (WIDTH - 1)) == 0, "WIDTH must be a power of two to 32");
#pragma unroll
  for (int offset = WIDTH / 2; offset > 0; offset /= 2)
    value = Op::apply(value, __shfl_xor_sync(ALL_LANES, value, offset, WIDTH));
  return value;
}

template <int WIDTH = WARP_SIZE>
__device__ __forceinline__ float warp_all_max(float value) { return warp_all_reduce<MaxOp, WIDTH>(value); }

template <int WIDTH = WARP_SIZE>
__device__ __forceinline__ float warp_all_sum(float value) { return warp_all_reduce<SumOp, WIDTH>(value); }

// Over a block of (BLOCK, 1, 1) threads, all of which must call it; may be called again at once.
//   shared  BLOCK / 32 floats
template <typename Op, int BLOCK>
__device__ __forceinline__ float block_all_reduce(float value) {
  static_assert(BLOCK % WARP_SIZE == 0 && BLOCK >= WARP_SIZE && BLOCK <= 1024, "BLOCK must be whole warps, at most 32");
  constexpr int WARPS = BLOCK / WARP_SIZE;
  const int lane = threadIdx.x % WARP_SIZE;  // ranges [0, 32)
  const int warp = threadIdx.x / WARP_SIZE;  // ranges [0, WARPS)

  value = warp_all_reduce<Op>(value);
  if constexpr (WARPS > 1) {
    __shared__ float warp_results[WARPS];
    if (lane == 0) warp_results[warp] = value;
    __syncthreads();  // every warp's result is there before any warp joins them
    value = warp_all_reduce<Op>(lane < WARPS ? warp_results[lane] : Op::identity());
    __syncthreads();  // all have read before a next call writes again
  }
  return value;
}
