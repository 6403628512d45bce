// Softmax and log-softmax along any axis of a view [outer, dim, inner], from a tile that registers hold.
//   tile    all rows of dim, or one of `parts` shares of them, by all of inner or a strip of it; whole slabs lie end to
//           end in memory, strips are row segments
//   order   a thread has the same columns in each of its PACKS packs, so it reduces them by itself; then one exchange
//           of (maximum, sum) joins a column's threads, and the blocks of a cluster
//   sums    joined in an order fixed by thread and block numbers: the same on every run
//   PACKS   of a thread; CLUSTER: blocks that share a tile's columns; LOADS, STORES: 1 with a streaming hint
#pragma once
#include "common/convert.cuh"
#include "common/elementwise.cuh"
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

// What a launch does: all of it; of two reads the first, which leaves (maximum, sum) of each part and column in
// `partials`; or the second, which finds them joined there, one for each column.
enum Step { ALL = 0, SUMS = 1, FINISH = 2 };

struct AxisView {
  long long outer;
  int dim;
  long long inner;
  int width;   // columns of a tile: inner, or of a strip
  int strips;  // of inner; 1: the tile is contiguous
  int rows;    // of a part
  int parts;   // of dim
  int step;
};

// ---- Arithmetic ----

// exp of a difference to a maximum. The halves take the hardware's power of two, whose error of 2^-22 and that of the
// product before it, 2^-24 of the exponent, are far below their rounding; float does so where EX2 is set.
template <typename T>
__device__ __forceinline__ float power(float difference) {
  if constexpr (sizeof(T) == sizeof(float) && !EX2) return expf(difference);
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(difference * 1.4426950408889634f));
  return result;
}

struct LogSoftmax {
  static __device__ __forceinline__ float2 finish(float2 pair) { return {pair.x, logf(pair.y)}; }
  template <typename T>
  static __device__ __forceinline__ float apply(float x, float2 end) { return x - end.x - end.y; }
};

struct Softmax {
  static __device__ __forceinline__ float2 finish(float2 pair) { return {pair.x, 1.0f / pair.y}; }
  template <typename T>
  static __device__ __forceinline__ float apply(float x, float2 end) { return power<T>(x - end.x) * end.y; }
};

// What sums are relative to: a maximum of -inf would make them NaN before the other parts are known.
__device__ __forceinline__ float finite_base(float maximum) { return maximum == -CUDART_INF_F ? 0.0f : maximum; }

// pairs[first], pairs[first + stride], .. below `last`, joined; a sum is relative to its own maximum.
template <typename Get>
__device__ __forceinline__ float2 join_pairs(Get get, int first, int last, int stride) {
  float maximum = MaxOp::identity();
#pragma unroll 4
  for (int i = first; i < last; i += stride) maximum = fmaxf(maximum, get(i).x);
  const float base = finite_base(maximum);
  float sum = 0.0f;
#pragma unroll 2
  for (int i = first; i < last; i += stride) {
    const float2 pair = get(i);
    sum += pair.y * expf(finite_base(pair.x) - base);
  }
  return {maximum, sum};
}

// ---- Memory ----

// V neighbours as the words they are loaded and stored by: as elements, two halves would take two registers.
template <typename T, int V>
struct Held {
  static constexpr int Bytes = sizeof(T) * V;
  static constexpr int Words = Bytes < 4 ? 1 : Bytes / 4;
  unsigned words[Words];

  // Element i as a float, and a word of one or two of them as they are stored.
  __device__ __forceinline__ float get(int i) const {
    if constexpr (sizeof(T) == sizeof(float)) return __uint_as_float(words[i]);
    const unsigned short bits = static_cast<unsigned short>(i % 2 ? words[i / 2] >> 16 : words[i / 2]);
    return to_float(*reinterpret_cast<const T*>(&bits));
  }

  __device__ __forceinline__ void put_bits(int i, T value) {
    if constexpr (sizeof(T) == sizeof(float)) {
      words[i] = *reinterpret_cast<const unsigned*>(&value);
    } else {
      const unsigned bits = *reinterpret_cast<const unsigned short*>(&value);
      words[i / 2] = i % 2 ? (words[i / 2] & 0xffffu) | bits << 16 : (words[i / 2] & 0xffff0000u) | bits;
    }
  }

  __device__ __forceinline__ T bits(int i) const {
    if constexpr (sizeof(T) == sizeof(float)) return *reinterpret_cast<const T*>(&words[i]);
    const unsigned short own = static_cast<unsigned short>(i % 2 ? words[i / 2] >> 16 : words[i / 2]);
    return *reinterpret_cast<const T*>(&own);
  }

  __device__ __forceinline__ void fill(float value) {
#pragma unroll
    for (int i = 0; i < V; ++i) put_bits(i, from_float<T>(value));
  }

  __device__ __forceinline__ void load(const T* from) {
    if constexpr (Bytes == 16) {
      const uint4* at = reinterpret_cast<const uint4*>(from);
      const uint4 word = LOADS == 1 ? __ldcs(at) : LOADS == 2 ? no_allocate(at) : __ldg(at);
      words[0] = word.x, words[1] = word.y, words[2] = word.z, words[3] = word.w;
    } else {
      put_bits(0, *from);
    }
  }

  static __device__ __forceinline__ uint4 no_allocate(const uint4* from) {
    uint4 word;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
        : "l"(from));
    return word;
  }

  __device__ __forceinline__ void store(T* to) const {
    if constexpr (Bytes == 16) {
      const uint4 word = {words[0], words[1], words[2], words[3]};
      if constexpr (STORES == 1) {
        __stcs(reinterpret_cast<uint4*>(to), word);
      } else {
        *reinterpret_cast<uint4*>(to) = word;
      }
    } else {
      *to = bits(0);
    }
  }

  // From here on the compiler must compute anew what it derives from the words: it would else keep every half widened
  // to a float, in registers that further packs are worth more in.
  __device__ __forceinline__ void forget() {
#pragma unroll
    for (int i = 0; i < Words; ++i) asm volatile("" : "+r"(words[i]));
  }
};

// Where a thread's packs are. `place(k)` counts elements of a contiguous tile, or rows of a strip.
struct Places {
  long long offset, stride;  // of pack 0 from the tile's first element, and to the next pack, in elements
  int place, place_stride, limit;

  __device__ __forceinline__ int at(int k) const { return place + k * place_stride; }
};

// To every block of the cluster, at the same place of its shared memory.
__device__ __forceinline__ void give(float2* pairs, int at, float2 pair) {
#if CLUSTER > 1
  auto cluster = cooperative_groups::this_cluster();
#pragma unroll 1  // else the addresses in all blocks take registers that packs need
  for (int rank = 0; rank < CLUSTER; ++rank) cluster.map_shared_rank(pairs, rank)[at] = pair;
#endif
}

// ---- The tile ----

// Whole: the tile and each of its rows begin at a multiple of V, or the tile is contiguous and does.
// Ragged: a contiguous tile that begins and ends anywhere; packs are aligned and the first and last are cut.
// `width` divides threads * V, so that a thread's packs have the same columns.
//   shared  for each slab of the block threads * V + (ways + CLUSTER + 1) * width pairs, ways = max(1, threads / width)
template <typename Result, typename T, int V, bool Ragged>
__device__ __forceinline__ void one_read_axis(const T* __restrict__ x, T* __restrict__ y, float2* partials,
                                              AxisView view) {
  extern __shared__ float2 shared_pairs[];
#if CLUSTER > 1
  cooperative_groups::this_cluster().barrier_arrive();  // this block is there, and its shared memory to be written to
#endif
  const int thread = threadIdx.x;  // ranges [0, threads), of a slab
  const int threads = blockDim.x;
  const int width = view.width;

  // The second read goes backwards: what the first read last may still be in the L2.
  const unsigned block = view.step == FINISH ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const unsigned tile = block / view.parts;
  const int part = block % view.parts;
  const int strip = tile % view.strips;
  const long long slab = static_cast<long long>(tile / view.strips) * blockDim.y + threadIdx.y;
  const long long first_row = static_cast<long long>(part) * view.rows;
  const long long rows_left = slab < view.outer ? view.dim - first_row : 0;
  const int rows = static_cast<int>(max(0ll, min(rows_left, static_cast<long long>(view.rows))));
  const long long start = (slab * view.dim + first_row) * view.inner + static_cast<long long>(strip) * width;
  const T* x_tile = x + start;
  T* y_tile = y + start;

  // Elements by which the first aligned pack begins before the tile.
  const int phase = Ragged ? reinterpret_cast<unsigned long long>(x_tile) / sizeof(T) % V : 0;
  const bool x_packed = Ragged || are_aligned<sizeof(T) * V>(x_tile);
  const bool y_packed = (reinterpret_cast<unsigned long long>(y_tile) / sizeof(T) + V - phase) % V == 0;

  Places places;  // the stores need it as much as the loads
  if (view.strips == 1) {
    places = {thread * V - phase, threads * V, thread * V - phase, threads * V, rows * width};
  } else {
    const int segment = width / V;  // packs of a row
    const int row = thread / segment, column = thread % segment * V, row_stride = threads / segment;
    const bool exists = static_cast<long long>(strip) * width + column < view.inner;
    places = {row * view.inner + column, row_stride * view.inner, row, row_stride, exists ? rows : 0};
  }
  // Of pack k: all its elements, or element i of a pack that the tile's ends cut.
  const auto whole = [=](int k) {
    return Ragged ? places.at(k) >= 0 && places.at(k) + V <= places.limit : places.at(k) < places.limit;
  };
  const auto inside = [=](int k, int i) {
    return Ragged ? places.at(k) + i >= 0 && places.at(k) + i < places.limit : places.at(k) < places.limit;
  };

  // Load: all packs are under way before the first is used.
  Held<T, V> held[PACKS];
#pragma unroll
  for (int k = 0; k < PACKS; ++k) {
    const T* from = x_tile + places.offset + k * places.stride;
    held[k].fill(-CUDART_INF_F);
    if (x_packed && whole(k)) {
      held[k].load(from);
    } else if (Ragged || !x_packed) {
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (inside(k, i)) held[k].put_bits(i, from[i]);
    }
  }

  float2 ends[V];  // of this thread's columns: (maximum, sum), then what the result needs of them
  if (view.step != FINISH) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      ends[i] = {MaxOp::identity(), 0.0f};
#pragma unroll
      for (int k = 0; k < PACKS; ++k) ends[i].x = fmaxf(ends[i].x, held[k].get(i));
    }
#pragma unroll
    for (int k = 0; sizeof(T) < sizeof(float) && k < PACKS; ++k) held[k].forget();
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const float base = finite_base(ends[i].x);
#pragma unroll
      for (int k = 0; k < PACKS; ++k) ends[i].y += power<T>(held[k].get(i) - base);
    }
  }

  if (CLUSTER == 1 && view.step == ALL && threads * V == width) {  // a column is one thread's: nothing to exchange
#pragma unroll
    for (int i = 0; i < V; ++i) ends[i] = Result::finish(ends[i]);
  } else {
    const int slots = threads * V;  // slot s has column s % width, counted from the first aligned pack
    const int ways = max(1, threads / width);  // threads that join a column's slots, each a share of them
    float2* of_slots = shared_pairs + threadIdx.y * (slots + (ways + CLUSTER + 1) * width);
    float2* of_ways = of_slots + slots;
    float2* of_ranks = of_ways + ways * width;  // [CLUSTER, width], by column
    float2* results = of_ranks + CLUSTER * width;
    const auto column_of = [=](int slot) { return Ragged ? (slot + V * width - phase) % width : slot; };

    if (view.step != FINISH) {
#pragma unroll
      for (int i = 0; i < V; ++i) of_slots[thread * V + i] = ends[i];
      __syncthreads();  // all slots are written before they are joined
      for (int item = thread; item < ways * width; item += threads)
        of_ways[item] = join_pairs([=](int slot) { return of_slots[slot]; }, item, slots, ways * width);
      __syncthreads();  // all shares are joined before the columns are
    }

#if CLUSTER > 1
    auto cluster = cooperative_groups::this_cluster();
    cluster.barrier_wait();  // all blocks are there
#endif
    for (int slot = thread; slot < width; slot += threads) {
      const long long column = static_cast<long long>(strip) * width + column_of(slot);
      const bool exists = slab < view.outer && column < view.inner;
      if (view.step == FINISH) {
        if (exists) results[slot] = Result::finish(partials[slab * view.inner + column]);
        continue;
      }
      const float2 pair = ways == 1 ? of_ways[slot]
                                    : join_pairs([=](int at) { return of_ways[at]; }, slot, ways * width, width);
      if (view.step == SUMS) {
        if (exists) partials[(slab * view.parts + part) * view.inner + column] = pair;
      } else if (CLUSTER > 1) {
        give(of_ranks, part * width + column_of(slot), pair);
      } else {
        results[slot] = Result::finish(pair);
      }
    }
    if (view.step == SUMS) return;

#if CLUSTER > 1
    cluster.sync();  // every block has given its columns to all; nobody writes to another's shared memory any more
    for (int slot = thread; slot < width; slot += threads)
      results[slot] = Result::finish(
          join_pairs([=](int at) { return of_ranks[at]; }, column_of(slot), CLUSTER * width, width));
#endif
    __syncthreads();  // the results are written
    int slot = thread * V % width;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      ends[i] = results[slot];
      if (++slot == width) slot = 0;
    }
  }

  // Store
  asm volatile("" : "+l"(places.offset), "+l"(places.stride));  // addresses are computed anew, not kept until here
#pragma unroll
  for (int k = 0; sizeof(T) < sizeof(float) && k < PACKS; ++k) held[k].forget();
#pragma unroll
  for (int k = 0; k < PACKS; ++k) {
    T* to = y_tile + places.offset + k * places.stride;
#pragma unroll
    for (int i = 0; i < V; ++i)
      held[k].put_bits(i, from_float<T>(Result::template apply<T>(held[k].get(i), ends[i])));
    if (y_packed && whole(k)) {
      held[k].store(to);
    } else if (Ragged || !y_packed) {
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (inside(k, i)) to[i] = held[k].bits(i);
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
