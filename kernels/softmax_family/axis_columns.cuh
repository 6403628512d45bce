// Column state of a tile: the maximum of each column, and the sum of exponentials relative to it. Lanes of a warp that share
// columns join theirs by shuffles; the threads of a block then join the rest through shared memory.
//   Segment  distance between lanes of a warp that have the same columns: 1, 2, 4 .. 16; 0 where none have
//   Group    threads of a slab, where they sum up columns without shared memory: lanes of one warp, or 1; else 0
//   Fold     columns of an array where one pack holds several rows: 2 or 4; else 0
//   Cluster  blocks of a cluster that share a column
//   Ways     lanes of a warp that join the rows of one column: a power of two up to 32. With several slabs per block, it
//            divides the threads of a slab
//   Chunk    pairs of one column that a lane loads before it joins them
#pragma once
#include "softmax_family/algebra.cuh"
#include "softmax_family/axis_tiles.cuh"
#include "softmax_family/cluster_exchange.cuh"

template <typename T>
__device__ __forceinline__ unsigned larger_word(unsigned a, unsigned b) {
  if constexpr (sizeof(T) == 4) return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b)));
  else return larger<T>(a, b);
}

template <typename T, typename P>
__device__ __forceinline__ P larger_pack(P a, P b) {
#pragma unroll
  for (int i = 0; i < sizeof(P) / sizeof(unsigned); ++i) word_at(a, i) = larger_word<T>(word_at(a, i), word_at(b, i));
  return a;
}

// The pack of the lane `offset` away. It repeats its first `Bytes`, so only these are exchanged.
template <int Bytes, typename P>
__device__ __forceinline__ P from_lane(P pack, int offset) {
  constexpr int Words = Bytes / sizeof(unsigned);
#pragma unroll
  for (int i = 0; i < sizeof(P) / sizeof(unsigned); ++i)
    word_at(pack, i) = i < Words ? __shfl_xor_sync(ALL_LANES, word_at(pack, i), offset) : word_at(pack, i % Words);
  return pack;
}

// ---- Lanes of a warp ----

template <typename Tile>  // lanes among which those Segment apart have the same columns
constexpr int SHARING = Tile::Group > 0 ? Tile::Group : WARP_SIZE;

// The maximum of each column of a pack that holds several rows: elements Fold * k + i, for all k, are column i.
template <typename Tile, typename T>
__device__ __forceinline__ uint4 folded_max(uint4 most) {
  if constexpr (Tile::Fold > 0 && Tile::Fold * sizeof(T) <= 8) {
    const uint4 other = make_uint4(most.z, most.w, most.x, most.y);
    most = larger_pack<T>(most, other);
  }
  if constexpr (Tile::Fold > 0 && Tile::Fold * sizeof(T) <= 4) {
    const uint4 other = make_uint4(most.y, most.x, most.w, most.z);
    most = larger_pack<T>(most, other);
  }
  return most;
}

template <typename Tile, typename T>
__device__ __forceinline__ void fold_sums(float (&sums)[IN_PACK<Tile, T>]) {
#pragma unroll
  for (int period = IN_PACK<Tile, T> / 2; Tile::Fold > 0 && period >= Tile::Fold; period /= 2)
#pragma unroll
    for (int i = 0; i < period; ++i) sums[i] = sums[i + period] = sums[i] + sums[i + period];
}

// The maximum over lanes that share columns. A pack of several rows is folded first, so that fewer words are exchanged.
template <typename Tile, typename T>
__device__ __forceinline__ Pack<Tile> max_of_lanes(Pack<Tile> most) {
  if constexpr (Tile::Segment > 0 || Tile::Fold > 0) {
    if constexpr (Tile::Fold > 0) most = folded_max<Tile, T>(most);
    constexpr int Bytes = Tile::Fold > 0 ? Tile::Fold * static_cast<int>(sizeof(T)) : sizeof(Pack<Tile>);
#pragma unroll
    for (int offset = Tile::Segment; Tile::Segment > 0 && offset < SHARING<Tile>; offset *= 2)
      most = larger_pack<T>(most, from_lane<Bytes>(most, offset));
  }
  return most;
}

template <typename Tile, typename T>
__device__ __forceinline__ void add_lanes(float (&sums)[IN_PACK<Tile, T>]) {
  constexpr int Columns = Tile::Fold > 0 ? Tile::Fold : IN_PACK<Tile, T>;
  fold_sums<Tile, T>(sums);
#pragma unroll
  for (int offset = Tile::Segment; Tile::Segment > 0 && offset < SHARING<Tile>; offset *= 2)
#pragma unroll
    for (int i = 0; i < Columns; ++i) sums[i] += __shfl_xor_sync(ALL_LANES, sums[i], offset);
#pragma unroll
  for (int i = Columns; i < IN_PACK<Tile, T>; ++i) sums[i] = sums[i % Columns];
}

// ---- The threads of a slab, through shared memory ----

// In shared memory: one row per warp where lanes were joined, else one per row of threads. labels: Wide * IN_PACK.
template <typename Tile, typename T>
struct ColumnState {
  Pack<Tile>* most;  // [rows, packs side by side]
  float* sums;       // [rows, labels], relative to those maxima
  MaxSum* parts;     // [Cluster, width]; [max(threads, width)] where parts come from global memory
  float* max;        // [width], the max of each column's Norm
  float* term;       // [width], its term
  Mailbox* box;
  int rows, labels;

  __device__ __forceinline__ MaxSum pair(int row, int label) const {
    constexpr int Apart = Tile::PackBytes == 2 ? 2 : 1;  // a word has one half
    return {to_float(reinterpret_cast<const T*>(most)[(row * labels + label) * Apart]), sums[row * labels + label]};
  }
  __device__ __forceinline__ Norm norm(int column) const { return {max[column], term[column]}; }
  __device__ __forceinline__ void set_norm(int column, Norm norm) const { max[column] = norm.max, term[column] = norm.term; }
};

__device__ __forceinline__ Mailbox* own_mailbox() {
  extern __shared__ uint4 shared_packs[];
  return reinterpret_cast<Mailbox*>(shared_packs);
}

template <typename Tile, typename T>
__device__ __forceinline__ ColumnState<Tile, T> column_state(int width) {
  extern __shared__ uint4 shared_packs[];
  constexpr int Words = PACK_WORDS<Tile>, Threads = Tile::Wide * Tile::High;
  constexpr bool Global = Tile::Exchanged == Exchange::CoResident || Tile::Exchanged == Exchange::Tickets;
  ColumnState<Tile, T> state;
  const int padded = (width + 3) / 4 * 4;
  state.rows = Tile::Segment > 0 ? Threads / WARP_SIZE : Tile::High;
  state.labels = Tile::Wide * IN_PACK<Tile, T>;
  const auto whole = [](int words) { return (words + 3) / 4 * 4; };  // what follows is aligned
  const int pairs = Global ? max(Threads, padded) : Tile::Cluster > 1 ? Tile::Cluster * padded : 0;
  const int held = whole(Tile::SharedPacks * Threads * Words) / 4, maxima = whole(state.rows * Tile::Wide * Words) / 4;
  const int sums = whole(state.rows * state.labels), floats = sums + 2 * padded + 2 * pairs;
  uint4* own = shared_packs + 1 + held + threadIdx.z * (maxima + (floats + 3) / 4);
  state.most = reinterpret_cast<Pack<Tile>*>(own);
  state.sums = reinterpret_cast<float*>(own + maxima);
  state.max = state.sums + sums;
  state.term = state.max + padded;
  state.parts = reinterpret_cast<MaxSum*>(state.term + padded);
  state.box = own_mailbox();
  return state;
}

// The row of the column state that this thread's values go to. `writes`: whether this lane writes them for all that share it.
template <typename Tile>
__device__ __forceinline__ int state_row(bool& writes) {
  if constexpr (Tile::Segment == 0) {
    writes = true;
    return threadIdx.y;
  }
  const int thread = threadIdx.y * Tile::Segment + threadIdx.x;
  writes = thread % WARP_SIZE < Tile::Segment;
  return thread / WARP_SIZE;
}

// Calls work(column, way, mask of the lanes) for each column of the tile, by Ways lanes of a warp.
template <typename Tile, typename Work>
__device__ __forceinline__ void for_columns(int width, Work work) {
  constexpr int Ways = Tile::Ways, Threads = Tile::Wide * Tile::High, Groups = Threads / Ways;
  const int thread = threadIdx.y * Tile::Wide + threadIdx.x;
  const int lane = (threadIdx.z * Threads + thread) % WARP_SIZE;
  const unsigned lanes = (Ways == WARP_SIZE ? ALL_LANES : (1u << Ways % WARP_SIZE) - 1) << lane / Ways * Ways;
  if (thread >= Groups * Ways) return;
  for (int column = thread / Ways; column < width; column += Groups) work(column, thread % Ways, lanes);
}

// Joins the pairs get(0) .. get(count - 1) of a column by its lanes; each lane gets the result.
template <typename Tile, typename T, typename Get>
__device__ __forceinline__ MaxSum join_column(Get get, int count, int way, unsigned lanes) {
  const MaxSum own = join_strided<HardwareWeight<T>, Tile::Chunk>(get, way, count, Tile::Ways);
  if constexpr (Tile::Ways == 1) return own;
  return join<HardwareWeight<T>, Tile::Ways>([&](auto use) { use(own); }, lanes);
}

// Writes the maxima that a thread's lanes share, as soon as they are known: this overlaps with the sums.
template <typename Tile, typename T>
__device__ __forceinline__ void put_maxima(const Pack<Tile>& most, const ColumnState<Tile, T>& state) {
  bool writes;
  const int row = state_row<Tile>(writes);
  if (writes) state.most[row * Tile::Wide + threadIdx.x] = most;
}

template <typename Tile, typename T>
__device__ __forceinline__ void put_sums(const float (&sums)[IN_PACK<Tile, T>], const ColumnState<Tile, T>& state) {
  constexpr int V = IN_PACK<Tile, T>;
  bool writes;
  const int row = state_row<Tile>(writes);
  float* place = state.sums + row * state.labels + threadIdx.x * V;
  if (writes) {
    if constexpr (V < 4) {
#pragma unroll
      for (int i = 0; i < V; ++i) place[i] = sums[i];
    } else {
#pragma unroll
      for (int i = 0; i < V; i += 4)
        *reinterpret_cast<float4*>(place + i) = make_float4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]);
    }
  }
  __syncthreads();  // all rows are written
}

// The pair of a column over this block, by the column's lanes. `phase`: place of the tile's first element in its pack.
template <typename Tile, typename T>
__device__ __forceinline__ MaxSum pair_of(int column, int way, unsigned lanes, int phase, const ColumnState<Tile, T>& state,
                                          const AxisView& view) {
  constexpr int V = IN_PACK<Tile, T>;
  if constexpr (Tile::Layout == WHOLE) {
    return join_column<Tile, T>([&](int row) { return state.pair(row, column); }, state.rows, way, lanes);
  } else if constexpr (Tile::Layout == RAGGED) {
    const int label = (column + phase) % view.width;
    const int copies = __ffs(state.labels / view.width) - 1;  // a power of two: of packs that hold whole rows
    const auto pair = [&](int i) { return state.pair(i >> copies, label + (i & ((1 << copies) - 1)) * view.width); };
    return join_column<Tile, T>(pair, state.rows << copies, way, lanes);
  } else {
    const int rest = static_cast<int>(view.inner % V);  // rows with the same row % V begin at the same place in a pack
    const auto pair = [&](int row) { return state.pair(row, column + (phase + row % V * rest) % V); };
    return join_column<Tile, T>(pair, state.rows, way, lanes);
  }
}
