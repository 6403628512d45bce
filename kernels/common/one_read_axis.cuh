// Softmax and log-softmax along any axis of a view [outer, dim, inner], from a tile that registers hold.
//   tile    all rows of dim, or one of `parts` shares of them, by all of inner or a strip of it; whole slabs lie end to
//           end in memory, strips are row segments
//   order   a thread has the same columns in each of its PACKS packs, so it reduces them by itself; then one exchange
//           of (maximum, sum) joins a column's threads, and the blocks of a cluster
//   sums    joined in an order fixed by thread and block numbers: the same on every run
//   PACKS   of a thread; CLUSTER: blocks that share a tile's columns; STAGED: 1 where blocks load ahead
//   OWNED   1 where a column is a single thread's; READS: 2 where launches are to go by `step`
//   LOADS, STORES  1 with a streaming hint
#pragma once
#include "common/axis_tiles.cuh"
#include "common/exponential.cuh"
#include "common/reduce.cuh"
#if CLUSTER > 1
#include <cooperative_groups.h>
#define ONE_READ_AXIS_CLUSTER __cluster_dims__(CLUSTER, 1, 1)
#else
#define ONE_READ_AXIS_CLUSTER
#endif

static_assert(PACKS >= 1 && PACKS <= 16, "a thread holds at most 16 packs in registers");
static_assert(CLUSTER >= 1 && CLUSTER <= 8, "a cluster has at most 8 blocks everywhere");
static_assert(THREADS >= 32 && THREADS <= 1024, "a block has at most 1024 threads");

// ---- Arithmetic ----

struct LogSoftmax {
  static __device__ __forceinline__ float2 finish(float2 pair) { return {pair.x, logf(pair.y)}; }
  template <typename T>
  static __device__ __forceinline__ float apply(float x, float2 end) { return x - end.x - end.y; }
};

struct Softmax {
  static __device__ __forceinline__ float2 finish(float2 pair) { return {pair.x, 1.0f / pair.y}; }
  template <typename T>
  static __device__ __forceinline__ float apply(float x, float2 end) { return power_of<false, T>(x - end.x) * end.y; }
};

// pairs[first], pairs[first + stride], .. below `last`, joined; a sum is relative to its own maximum.
template <typename Get>
__device__ __forceinline__ float2 join_pairs(Get get, int first, int last, int stride) {
  float maximum = MaxOp::identity();
#pragma unroll 4
  for (int i = first; i < last; i += stride) maximum = fmaxf(maximum, get(i).x);
  const float base = base_of(maximum);
  float sum = 0.0f;
#pragma unroll 2
  for (int i = first; i < last; i += stride) {
    const float2 pair = get(i);
    sum += pair.y * expf(base_of(pair.x) - base);
  }
  return {maximum, sum};
}

// To every block of the cluster, at the same place of its shared memory.
__device__ __forceinline__ void give(float2* pairs, int at, float2 pair) {
#if CLUSTER > 1
  auto cluster = cooperative_groups::this_cluster();
#pragma unroll 1  // else the addresses in all blocks take registers that packs need
  for (int rank = 0; rank < CLUSTER; ++rank) cluster.map_shared_rank(pairs, rank)[at] = pair;
#endif
}

// ---- The tile ----

// (maximum, sum) of columns i and i + 1, or of i alone where a pack has one, over the thread's packs.
template <typename T, int V>
__device__ __forceinline__ void sum_columns(const Held<T, V> (&held)[PACKS], int i, float2 (&pairs)[2]) {
  constexpr int Columns = V == 1 ? 1 : 2;
  if constexpr (sizeof(T) < sizeof(float) && V > 1) {
    using Two = typename TwoOf<T>::Type;
    Two most = held[0].template two<Two>(i);
#pragma unroll
    for (int k = 1; k < PACKS; ++k) most = __hmax2(most, held[k].template two<Two>(i));
    pairs[0].x = to_float(most.x), pairs[1].x = to_float(most.y);
  } else {
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      pairs[j].x = held[0].get(i + j);
#pragma unroll
      for (int k = 1; k < PACKS; ++k) pairs[j].x = fmaxf(pairs[j].x, held[k].get(i + j));
    }
  }
#pragma unroll
  for (int j = 0; j < Columns; ++j) {
    const float base = base_of(pairs[j].x);
    pairs[j].y = 0.0f;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) pairs[j].y += hardware_exp(held[k].get(i + j) - base);
  }
}

template <typename Result, typename T, int V>
__device__ __forceinline__ void apply_columns(Held<T, V> (&held)[PACKS], int i, const float2 (&ends)[2]) {
#pragma unroll
  for (int k = 0; sizeof(T) < sizeof(float) && k < PACKS; ++k) held[k].forget(i);
#pragma unroll
  for (int k = 0; k < PACKS; ++k) {
    const float first = Result::template apply<T>(held[k].get(i), ends[0]);
    if constexpr (V == 1) {
      held[k].put_bits(i, from_float<T>(first));
    } else {
      held[k].put_two(i, first, Result::template apply<T>(held[k].get(i + 1), ends[1]));
    }
  }
}

// Whole: the tile and each of its rows begin at a multiple of V, or the tile is contiguous and does.
// Ragged: a contiguous tile that begins and ends anywhere; packs are aligned and the first and last are cut.
// `width` divides threads * V, so that a thread's packs have the same columns.
// Where STAGED, a block goes through several tiles, and loads the next to shared memory while it works on one.
//   shared  where STAGED, PACKS packs for each thread; for each slab of the block threads * V +
//           (ways + 2 * CLUSTER + 1) * width pairs, ways = max(1, threads / width)
template <typename Result, typename T, int V, bool Ragged>
__device__ __forceinline__ void one_read_axis(const T* __restrict__ x, T* __restrict__ y, float2* partials,
                                              AxisView view) {
  extern __shared__ uint4 shared_packs[];
  constexpr bool Staged = STAGED && V > 1;
  constexpr int Columns = V == 1 ? 1 : 2;  // that are worked on at once: the state of all would take registers
  const int thread = threadIdx.x;          // ranges [0, threads), of a slab
  const int threads = blockDim.x;
  const int width = view.width;
  const int step = READS == 1 ? ALL : view.step;
  const int slots = threads * V;  // slot s has column s % width, counted from the first aligned pack
  const int ways = max(1, threads / width);  // threads that join a column's slots, each a share of them
  uint4* own_packs = shared_packs + threadIdx.y * threads + thread;
  float2* shared_pairs = reinterpret_cast<float2*>(shared_packs + (Staged ? PACKS * threads * blockDim.y : 0));
  float2* of_slots = shared_pairs + threadIdx.y * (slots + (ways + 2 * CLUSTER + 1) * width);
  float2* of_ways = of_slots + slots;
  float2* of_ranks = of_ways + ways * width;  // [2, CLUSTER, width], by column: one for every other tile
  float2* results = of_ranks + 2 * CLUSTER * width;

  const unsigned items =
      static_cast<unsigned>((view.outer + blockDim.y - 1) / blockDim.y) * view.strips * view.parts;
  // The second read goes backwards: what the first read last may still be in the L2.
  const auto item_of = [=](unsigned number) { return step == FINISH ? items - 1 - number : number; };
  if (Staged) stage<T, V, Ragged>(own_packs, x, share_of<T, V, Ragged>(x, view, item_of(blockIdx.x)));
#if CLUSTER > 1
  auto cluster = cooperative_groups::this_cluster();
  cluster.sync();  // all blocks are there, and their shared memory to be written to
#endif

  for (unsigned number = blockIdx.x, round = 0; number < items; number += gridDim.x, round ^= 1) {
    // Computed anew wherever it is needed: kept, it would take registers that packs need.
    const auto share_now = [&] {
      asm volatile("" : "+r"(number));
      return share_of<T, V, Ragged>(x, view, item_of(number));
    };

    // Load: all packs are under way before the first is used.
    Held<T, V> held[PACKS];
    if constexpr (Staged) {
      const bool more = number + gridDim.x < items;
      const auto next = share_of<T, V, Ragged>(x, view, item_of(more ? number + gridDim.x : number));
      __pipeline_wait_prior(0);
#pragma unroll
      for (int k = 0; k < PACKS; ++k) held[k].set(own_packs[k * threads * blockDim.y]);
      if (more) stage<T, V, Ragged>(own_packs, x, next);
    } else {
      const auto share = share_now();
      const T* x_tile = x + share.start;
      const bool x_packed = Ragged || are_aligned<sizeof(T) * V>(x_tile);
#pragma unroll
      for (int k = 0; k < PACKS; ++k) {
        held[k].fill(-CUDART_INF_F);
        if (x_packed && share.whole(k)) {
          held[k].load(x_tile + share.offset + k * share.stride);
        } else if (Ragged || !x_packed) {
          held[k] = partial_pack<T, V, Ragged>(x_tile, share, k, true);
        }
      }
    }

    if constexpr (OWNED) {  // a column is one thread's: nothing to exchange
#pragma unroll
      for (int i = 0; i < V; i += Columns) {
        float2 ends[2];
        sum_columns(held, i, ends);
#pragma unroll
        for (int j = 0; j < Columns; ++j) ends[j] = Result::finish(ends[j]);
        apply_columns<Result>(held, i, ends);
      }
    } else {
      if (step != FINISH) {
#pragma unroll
        for (int i = 0; i < V; i += Columns) {
          float2 pairs[2];
          sum_columns(held, i, pairs);
          if constexpr (V == 1) {
            of_slots[thread] = pairs[0];
          } else {
            *reinterpret_cast<float4*>(of_slots + thread * V + i) = {pairs[0].x, pairs[0].y, pairs[1].x, pairs[1].y};
          }
        }
        __syncthreads();  // all slots are written before they are joined
        for (int item = thread; item < ways * width; item += threads)
          of_ways[item] = join_pairs([=](int slot) { return of_slots[slot]; }, item, slots, ways * width);
      }
      __syncthreads();  // all shares are joined before the columns are; the results of the tile before are read

      const auto share = share_now();
      const auto column_of = [=](int slot) { return Ragged ? (slot + V * width - share.phase) % width : slot; };
      float2* of_tile = of_ranks + round * CLUSTER * width;
      for (int slot = thread; slot < width; slot += threads) {
        const long long column = static_cast<long long>(share.strip) * width + column_of(slot);
        const bool exists = share.slab < view.outer && column < view.inner;
        if (step == FINISH) {
          if (exists) results[slot] = Result::finish(partials[share.slab * view.inner + column]);
          continue;
        }
        const float2 pair = ways == 1 ? of_ways[slot]
                                      : join_pairs([=](int at) { return of_ways[at]; }, slot, ways * width, width);
        if (step == SUMS) {
          if (exists) partials[(share.slab * view.parts + share.part) * view.inner + column] = pair;
        } else if (CLUSTER > 1) {
          give(of_tile, share.part * width + column_of(slot), pair);
        } else {
          results[slot] = Result::finish(pair);
        }
      }
      if (step == SUMS) continue;

#if CLUSTER > 1
      // Every block has given its columns to all. What it gave for the tile before, all have read.
      cluster.sync();
      for (int slot = thread; slot < width; slot += threads)
        results[slot] = Result::finish(
            join_pairs([=](int at) { return of_tile[at]; }, column_of(slot), CLUSTER * width, width));
#endif
      __syncthreads();  // the results are written
      int slot = thread * V % width;
#pragma unroll
      for (int i = 0; i < V; i += Columns) {
        float2 ends[2];
        asm volatile("" ::: "memory");  // the results of these columns only are in registers
#pragma unroll
        for (int j = 0; j < Columns; ++j) {
          ends[j] = results[slot];
          if (++slot == width) slot = 0;
        }
        apply_columns<Result>(held, i, ends);
      }
    }

    // Store
    const auto share = share_now();
    T* y_tile = y + share.start;
    const bool y_packed =
        (reinterpret_cast<unsigned long long>(y_tile) / sizeof(T) + V - share.phase) % V == 0;
    T* to = y_tile + share.offset;
#pragma unroll
    for (int k = 0; k < PACKS; ++k, to += share.stride) {
      if (y_packed && share.whole(k)) {
        held[k].store(to);
      } else if (Ragged || !y_packed) {
#pragma unroll
        for (int i = 0; i < V; ++i)
          if (share.inside(k, i)) to[i] = held[k].bits(i);
      }
    }
  }
}

// joined[slab, column] = all parts of partials[slab, part, column]; sums relative to the maximum. Between two reads.
//   block   (32 columns, ways: a power of two); grid ceil(inner / 32) * outer
__device__ __forceinline__ void join_parts(const float2* partials, float2* joined, long long inner, int parts) {
  __shared__ float2 of_ways[1024];
  const unsigned groups = static_cast<unsigned>((inner + WARP_SIZE - 1) / WARP_SIZE);
  const long long slab = blockIdx.x / groups;                                          // ranges [0, outer)
  const long long column = static_cast<long long>(blockIdx.x % groups) * WARP_SIZE + threadIdx.x;
  const float2* own = partials + slab * parts * inner + column;
  const int own_parts = column < inner ? parts : 0;
  of_ways[threadIdx.y * WARP_SIZE + threadIdx.x] =
      join_pairs([=](int part) { return own[part * inner]; }, threadIdx.y, own_parts, blockDim.y);
  __syncthreads();  // all shares of the parts are joined before the columns are
  if (threadIdx.y == 0 && column < inner)
    joined[slab * inner + column] = join_pairs([=](int at) { return of_ways[at]; }, threadIdx.x,
                                               blockDim.y * WARP_SIZE, WARP_SIZE);
}
