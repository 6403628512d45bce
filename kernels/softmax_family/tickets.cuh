// What blocks tell each other through memory: every block takes a ticket, in the order in which blocks start, and sums up the
// tile of that number. Then it gives the results of one that was summed up a while before, which it reads again, from the L2;
// or of its own, when all others of its unit are summed up: they are a gang.
//   unit    tiles that share columns, numbered one after another. Where they are read again, a block in between joins them
//   order   a block waits for tickets before its own only, whose blocks have started: it need not be resident with others. A
//           gang's blocks wait for each other: of the first that is not done all have started, or will when blocks before end
//   states  all 0 before a launch, and again after it; one launch at a time
//   TICKETS 1 where blocks read twice; GANG: 1 where they read once and wait for each other; else 0
//   UNITS   of a launch, at most
#pragma once
#include "softmax_family/axis_columns.cuh"

constexpr unsigned UNITS = 1 << 18;

#if TICKETS || GANG
__device__ unsigned next_ticket;
// Tiles of which all elements have come; 0 again once all tiles have.
__device__ unsigned tiles_loaded;
// Of a unit: tiles that were summed up; one more once they are joined; one more for each tile that has read what was joined.
__device__ unsigned states[UNITS];

// ranges [0, tickets); 0 comes next once all are taken.
__device__ __forceinline__ unsigned take_ticket(unsigned tickets) {
  __shared__ unsigned ticket;
  if ((threadIdx.x | threadIdx.y) == 0) ticket = atomicInc(&next_ticket, tickets - 1);
  __syncthreads();
  return ticket;
}

// Called by one thread. Until fewer than `loading` of the tiles before this one are still to come: if those of all blocks came
// at once, all would then wait for each other at once.
__device__ __forceinline__ void await_loads(unsigned ticket, unsigned loading) {
  while (true) {
    unsigned loaded;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(loaded) : "l"(&tiles_loaded) : "memory");
    if (loaded + loading > ticket) return;
    __nanosleep(20);
  }
}

// By one thread of a block whose tile has come, of so many.
__device__ __forceinline__ void count_load(unsigned tiles) { atomicInc(&tiles_loaded, tiles - 1); }

// Counts a tile of the unit. What the threads of the block have written is seen by those who wait for it. The last thread
// counts, and waits for what was written, while the first ones already wait for another unit.
__device__ __forceinline__ void count_tile(unsigned unit) {
  __syncthreads();  // all threads have written
  if (threadIdx.x == blockDim.x - 1 && threadIdx.y == blockDim.y - 1)
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(states + unit) : "memory");
}

// Until the unit's state is at least so much.
__device__ __forceinline__ void await_state(unsigned unit, unsigned least) {
  while (true) {
    unsigned state;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(state) : "l"(states + unit) : "memory");
    if (state >= least) return;
    __nanosleep(32);
  }
}

// Called by one thread once all threads of the block have read what was joined; 0 comes after `last`.
__device__ __forceinline__ void leave_unit(unsigned unit, unsigned last) { atomicInc(states + unit, last); }

// Pairs from[first], from[first + stride], .. [count), each `width` pairs beyond the one before, joined.
template <typename T>
__device__ __forceinline__ float2 join_strided(const float2* from, int first, int count, int stride, int width) {
  constexpr int Together = GANG ? 8 : 16;  // of a gang packs are held in registers meanwhile
  float2 joined = {MaxOp::identity(), 0.0f};
#pragma unroll 1
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
    joined = {max, joined.y * weight_of<T>(joined.x, base)};
#pragma unroll
    for (int k = 0; k < Together; ++k) joined.y += pairs[k].y * weight_of<T>(pairs[k].x, base);
  }
  return joined;
}

// keep(column, all parts of pairs[part, column] joined), by all threads of a block.
//   shared   max(threads, width) pairs
template <typename T, typename Keep>
__device__ __forceinline__ void join_parts(const float2* pairs, int parts, int width, float2* shared, Keep keep) {
  const int threads = wide() * high(), thread = threadIdx.y * wide() + threadIdx.x;
  const int ways = max(1, threads / width);
  for (int at = thread; at < ways * width; at += threads)
    shared[at] = join_strided<T>(pairs + at % width, at / width, parts, ways, width);
  __syncthreads();  // all ways are joined before the columns are
  for (int column = thread; column < width; column += threads)
    keep(column, join_ways<T, 1>([&](int way) { return shared[way * width + column]; }, ways, 0, 0));
}
#endif
