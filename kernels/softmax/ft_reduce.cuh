// The block reduction and the constants of FasterTransformer 1.0's attention softmax.
//   launch  block a multiple of 32, up to 1024
//   shared  32 floats per reduction, whatever the block
#pragma once
#include "common/reduce.cuh"

constexpr float IDLE_SCORE = -1e20f;  // value of a thread without an element in the maximum
constexpr float SUM_GUARD = 1e-6f;    // keeps the division defined when every exponential is 0

// The value of the whole block, valid in the first warp only. As in the original every warp joins the
// warps' results, though only the first one has any: the others join `idle` with itself.
template <typename Op>
__device__ __forceinline__ float first_warp_reduce(float value, float idle) {
  __shared__ float warp_results[WARP_SIZE];
  const int lane = threadIdx.x % WARP_SIZE;  // ranges [0, 32)
  const int warp = threadIdx.x / WARP_SIZE;  // ranges [0, block / 32)
  value = warp_all_reduce<Op>(value);
  if (lane == 0) warp_results[warp] = value;
  __syncthreads();  // every warp's result is there before the first warp reads them
  return warp_all_reduce<Op>(threadIdx.x < blockDim.x / WARP_SIZE ? warp_results[lane] : idle);
}
