// Exchange between blocks through global memory. Every block takes a ticket, in the order in which blocks start, and sums up
// the tile of that number. Then either all blocks of a unit wait for each other, as a co-resident group, or each block reads
// an earlier tile again, from the L2, and writes its results.
//   unit    tiles that share columns, numbered one after another. Where tiles are read again, a block in between joins the unit
//   order   a block waits only for smaller tickets, whose blocks have started, so blocks need not be resident together. The
//           blocks of a co-resident group wait for each other. This ends, because all blocks of the first unfinished group have
//           started, or start as soon as earlier blocks end
//   states  all 0 before and after each launch; one launch at a time
//   Units   most units of a launch
#pragma once
#include "softmax_family/axis_columns.cuh"

template <typename Tile>
__device__ unsigned next_ticket;
// Tiles whose loads are complete; 0 again once all tiles are loaded.
template <typename Tile>
__device__ unsigned tiles_loaded;
// State of each unit: counts the tiles summed up, plus one once they are joined, plus one per tile that has read the result.
template <typename Tile>
__device__ unsigned states[Tile::Units];

// This block's ticket, in [0, tickets). Once all are taken, the next one is 0 again.
template <typename Tile>
__device__ __forceinline__ unsigned take_ticket(unsigned tickets) {
  __shared__ unsigned ticket;
  if ((threadIdx.x | threadIdx.y) == 0) ticket = atomicInc(&next_ticket<Tile>, tickets - 1);
  __syncthreads();  // the ticket is there
  return ticket;
}

// Waits until fewer than `loading` of the tiles before this one are still being loaded; called by one thread. If all blocks
// loaded at once, all of them would then wait for each other at once.
template <typename Tile>
__device__ __forceinline__ void await_loads(unsigned ticket, unsigned loading) {
  while (true) {
    unsigned loaded;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(loaded) : "l"(&tiles_loaded<Tile>) : "memory");
    if (loaded + loading > ticket) return;
    __nanosleep(20);
  }
}

// Counts one of `tiles` tiles as loaded; called by one thread per block.
template <typename Tile>
__device__ __forceinline__ void count_load(unsigned tiles) {
  atomicInc(&tiles_loaded<Tile>, tiles - 1);
}

// Counts a tile of the unit as done, and releases what the block has written to those who wait. The last thread does this,
// because the first threads may already wait for another unit.
template <typename Tile>
__device__ __forceinline__ void count_tile(unsigned unit) {
  __syncthreads();  // all threads have written
  if (threadIdx.x == blockDim.x - 1 && threadIdx.y == blockDim.y - 1)
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(states<Tile> + unit) : "memory");
}

// Waits until the state of the unit is at least `least`.
template <typename Tile>
__device__ __forceinline__ void await_state(unsigned unit, unsigned least) {
  while (true) {
    unsigned state;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(state) : "l"(states<Tile> + unit) : "memory");
    if (state >= least) return;
    __nanosleep(32);
  }
}

// Counts a block that has read the unit's result; called by one thread once all have read it. After `last` the state is 0.
template <typename Tile>
__device__ __forceinline__ void release_unit(unsigned unit, unsigned last) {
  atomicInc(states<Tile> + unit, last);
}

// Pairs that other blocks write to global memory, loaded and stored past the L1.
__device__ __forceinline__ MaxSum load_pair(const MaxSum* place) {
  const float2 pair = __ldcg(reinterpret_cast<const float2*>(place));
  return {pair.x, pair.y};
}

__device__ __forceinline__ void store_pair(MaxSum* place, MaxSum pair) {
  __stcg(reinterpret_cast<float2*>(place), make_float2(pair.max, pair.sum));
}

// Calls keep(column, pair) for each column, with pairs[part, column] joined over all parts; by all threads of a block.
//   shared   max(threads, width) pairs
template <typename Tile, typename T, typename Keep>
__device__ __forceinline__ void join_unit(const MaxSum* pairs, int parts, int width, MaxSum* shared, Keep keep) {
  // Blocks of a co-resident group hold packs in registers meanwhile, so they have fewer loads in flight.
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
