// What blocks tell each other through global memory. Every block takes a ticket, in the order in which blocks start, and sums
// up the tile of that number. Then either all blocks of a unit wait for each other: they are a co-resident group. Or a block
// writes the results of a tile that was summed up a while before, which it reads again, from the L2.
//   unit    tiles that share columns, numbered one after another. Where they are read again, a block in between joins them
//   order   a block waits only for tickets before its own, whose blocks have started: it need not be resident with others. A
//           group's blocks wait for each other: of the first that is not done all have started, or will when blocks before end
//   states  all 0 before a launch, and again after it; one launch at a time
//   Units   of a launch, at most
#pragma once
#include "softmax_family/axis_columns.cuh"

template <typename Tile>
__device__ unsigned next_ticket;
// Tiles of which all elements have come; 0 again once all tiles have.
template <typename Tile>
__device__ unsigned tiles_loaded;
// Of a unit: tiles that were summed up; one more once they are joined; one more for each tile that has read what was joined.
template <typename Tile>
__device__ unsigned states[Tile::Units];

// ranges [0, tickets); 0 comes next once all are taken.
template <typename Tile>
__device__ __forceinline__ unsigned take_ticket(unsigned tickets) {
  __shared__ unsigned ticket;
  if ((threadIdx.x | threadIdx.y) == 0) ticket = atomicInc(&next_ticket<Tile>, tickets - 1);
  __syncthreads();  // the ticket is there
  return ticket;
}

// Called by one thread. Waits until fewer than `loading` of the tiles before this one are still to come: if those of all
// blocks came at once, all would then wait for each other at once.
template <typename Tile>
__device__ __forceinline__ void await_loads(unsigned ticket, unsigned loading) {
  while (true) {
    unsigned loaded;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(loaded) : "l"(&tiles_loaded<Tile>) : "memory");
    if (loaded + loading > ticket) return;
    __nanosleep(20);
  }
}

// By one thread of a block whose tile has come, of so many.
template <typename Tile>
__device__ __forceinline__ void count_load(unsigned tiles) {
  atomicInc(&tiles_loaded<Tile>, tiles - 1);
}

// Counts a tile of the unit. What the threads of the block have written is seen by those who wait for it. The last thread
// counts, and waits for what was written, while the first ones already wait for another unit.
template <typename Tile>
__device__ __forceinline__ void count_tile(unsigned unit) {
  __syncthreads();  // all threads have written
  if (threadIdx.x == blockDim.x - 1 && threadIdx.y == blockDim.y - 1)
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(states<Tile> + unit) : "memory");
}

// Until the unit's state is at least so much.
template <typename Tile>
__device__ __forceinline__ void await_state(unsigned unit, unsigned least) {
  while (true) {
    unsigned state;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(state) : "l"(states<Tile> + unit) : "memory");
    if (state >= least) return;
    __nanosleep(32);
  }
}

// Called by one thread once all threads of the block have read what was joined; 0 comes after `last`.
template <typename Tile>
__device__ __forceinline__ void release_unit(unsigned unit, unsigned last) {
  atomicInc(states<Tile> + unit, last);
}

// Pairs in global memory, which other blocks write: by the L2.
__device__ __forceinline__ MaxSum load_pair(const MaxSum* place) {
  const float2 pair = __ldcg(reinterpret_cast<const float2*>(place));
  return {pair.x, pair.y};
}

__device__ __forceinline__ void store_pair(MaxSum* place, MaxSum pair) {
  __stcg(reinterpret_cast<float2*>(place), make_float2(pair.max, pair.sum));
}

// keep(column, all pairs[part, column] joined) for each column, by all threads of a block.
//   shared   max(threads, width) pairs
template <typename Tile, typename T, typename Keep>
__device__ __forceinline__ void join_unit(const MaxSum* pairs, int parts, int width, MaxSum* shared, Keep keep) {
  // Blocks of a co-resident group hold packs in registers meanwhile.
  constexpr int Threads = Tile::Wide * Tile::High, Together = Tile::Exchanged == Exchange::CoResident ? 8 : 16;
  const int thread = threadIdx.y * Tile::Wide + threadIdx.x;
  const int ways = max(1, Threads / width);
  for (int at = thread; at < ways * width; at += Threads) {
    const MaxSum* own = pairs + at % width;
    const auto get = [=](int part) { return load_pair(own + static_cast<long long>(part) * width); };
    shared[at] = join_strided<HardwareWeight<T>, Together>(get, at / width, parts, ways);
  }
  __syncthreads();  // all ways are joined before the columns are
  for (int column = thread; column < width; column += Threads) {
    const auto get = [&](int way) { return shared[way * width + column]; };
    keep(column, join_strided<HardwareWeight<T>, Tile::Chunk>(get, 0, ways, 1));
  }
}
