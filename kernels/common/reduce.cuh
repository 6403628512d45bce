// Maximum and sum over the lanes of a warp, or the threads of a block; all of them get the result.
//   Op      MaxOp, SumOp: `identity` is what an idle lane brings, `apply` joins two values
//   order   fixed by the lane and warp numbers, so a sum is the same on every run
// Template parameters of headers are in CamelCase: upper case belongs to the defines of launch plans.
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

// Over groups of Width neighbouring lanes. All 32 lanes of the warp must call it.
template <typename Op, int Width = WARP_SIZE>
__device__ __forceinline__ float warp_all_reduce(float value) {
  static_assert(Width >= 1 && Width <= WARP_SIZE && (Width & (Width - 1)) == 0, "Width must be a power of two to 32");
#pragma unroll
  for (int offset = Width / 2; offset > 0; offset /= 2)
    value = Op::apply(value, __shfl_xor_sync(ALL_LANES, value, offset, Width));
  return value;
}

// Over a block of (Block, 1, 1) threads, all of which must call it; may be called again at once.
//   shared  Block / 32 floats
template <typename Op, int Block>
__device__ __forceinline__ float block_all_reduce(float value) {
  static_assert(Block % WARP_SIZE == 0 && Block >= WARP_SIZE && Block <= 1024, "Block must be whole warps, at most 32");
  constexpr int Warps = Block / WARP_SIZE;
  const int lane = threadIdx.x % WARP_SIZE;  // ranges [0, 32)
  const int warp = threadIdx.x / WARP_SIZE;  // ranges [0, Warps)

  value = warp_all_reduce<Op>(value);
  if constexpr (Warps > 1) {
    __shared__ float warp_results[Warps];
    if (lane == 0) warp_results[warp] = value;
    __syncthreads();  // every warp's result is there before any warp joins them
    value = warp_all_reduce<Op>(lane < Warps ? warp_results[lane] : Op::identity());
    __syncthreads();  // all have read before a next call writes again
  }
  return value;
}
