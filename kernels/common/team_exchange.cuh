// What blocks anywhere on the GPU tell each other through global memory, where no cluster holds a tile. All blocks of the
// launch are resident at once: it is cooperative.
//   state   all 0 before a launch, and again after it; one launch at a time
//   TEAM    1 where it is used;  TEAMS: tiles of a launch, at most
#pragma once
#include "common/exponential.cuh"

constexpr unsigned TEAMS = 8192;

#if TEAM
__device__ unsigned arrived[TEAMS], departed[TEAMS], known[TEAMS];

// Counts a block of a team, 0 again after the last. What threads of the block did before a barrier is seen by who counts later.
__device__ __forceinline__ bool is_last_of(unsigned* count, int parts) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(count), "r"(parts - 1) : "memory");
  return before == static_cast<unsigned>(parts - 1);
}

__device__ __forceinline__ bool is_first_thread() { return (threadIdx.x | threadIdx.y | threadIdx.z) == 0; }

// Pairs from[first], from[first + stride], .. [count), joined.
__device__ __forceinline__ float2 join_strided(const float2* from, int first, int count, int stride, int width) {
  constexpr int Together = 4;
  float2 joined = {MaxOp::identity(), 0.0f};
  for (int i = first; i < count; i += Together * stride) {
    float2 pairs[Together];  // all are under way before the first is used
    float max = joined.x;
#pragma unroll
    for (int k = 0; k < Together; ++k)
      pairs[k] = i + k * stride < count ? __ldcg(from + static_cast<long long>(i + k * stride) * width)
                                        : make_float2(MaxOp::identity(), 0.0f);
#pragma unroll
    for (int k = 0; k < Together; ++k) max = fmaxf(max, pairs[k].x);
    const float base = base_of(max);
    joined = {max, joined.y * hardware_exp(base_of(joined.x) - base)};
#pragma unroll
    for (int k = 0; k < Together; ++k) joined.y += pairs[k].y * hardware_exp(base_of(pairs[k].x) - base);
  }
  return joined;
}

// Joins partials[tile, part, column], which the block's threads have written; the result is partials[tile, parts, column].
// The block that is last to arrive does it, the others wait for it.
//   shared   max(threads, width) pairs
__device__ __forceinline__ const float2* join_team(float2* partials, unsigned tile, int parts, int width, float2* shared) {
  __shared__ bool last;
  const int threads = blockDim.x * blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
  float2* own = partials + static_cast<long long>(tile) * (parts + 1) * width;
  float2* joined = own + static_cast<long long>(parts) * width;
  __syncthreads();  // all pairs of the block are written
  if (thread == 0) last = is_last_of(arrived + tile, parts);
  __syncthreads();
  if (last) {
    const int ways = max(1, threads / width);
    for (int at = thread; at < ways * width; at += threads)
      shared[at] = join_strided(own + at % width, at / width, parts, ways, width);
    __syncthreads();  // all ways are joined before the columns are
    for (int column = thread; column < width; column += threads) {
      float2 pair = shared[column];
      for (int way = 1; way < ways; ++way) {
        const float2 other = shared[way * width + column];
        const float max = fmaxf(pair.x, other.x), base = base_of(max);
        pair.y = pair.y * hardware_exp(base_of(pair.x) - base) + other.y * hardware_exp(base_of(other.x) - base);
        pair.x = max;
      }
      __stcg(joined + column, pair);
    }
    __syncthreads();  // all columns are written
    if (thread == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(known + tile) : "memory");
  } else {
    if (thread == 0) {
      unsigned over = 0;
      while (true) {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(over) : "l"(known + tile) : "memory");
        if (over) break;
        __nanosleep(64);
      }
    }
    __syncthreads();  // the columns are known
  }
  return joined;
}

// Called once all threads of the block have read what was joined; who is last leaves all as it was.
__device__ __forceinline__ void leave_team(unsigned tile, int parts) {
  if (is_first_thread() && is_last_of(departed + tile, parts)) atomicExch(known + tile, 0);
}
#else
__device__ __forceinline__ const float2* join_team(float2* partials, unsigned, int, int, float2*) { return partials; }
__device__ __forceinline__ void leave_team(unsigned, int) {}
#endif
