// Softmax and log-softmax along any axis of a view [outer, dim, inner], from a tile in registers and shared memory.
//   tile    all rows of dim or one of `parts` shares of them, by all of inner or one strip of it: see axis_tiles.cuh
//   order   a thread has the same columns in all its packs. It finds their maxima, then sums relative to these, with the lanes
//           that share the columns. Pairs of both are joined within the block, then by the blocks that share a column
//   sums    joined in an order fixed by thread and block numbers: the same on every run
//   shared  16 bytes, SharedPacks, and one ColumnState per slab of the block; none where Group is not 0
#pragma once
#include "softmax_family/axis_columns.cuh"
#include "softmax_family/axis_shared_packs.cuh"
#include "softmax_family/cluster_exchange.cuh"
#include "softmax_family/tickets.cuh"

// ---- Arithmetic ----

template <typename Tile, typename T>
__device__ __forceinline__ void sum_held(float (&sums)[IN_PACK<Tile, T>], const Held<Tile>& held, const Pack<Tile>& most) {
#pragma unroll
  for (int i = 0; i < IN_PACK<Tile, T>; ++i) {
    const Exponentials<T, true> exponentials(base_of(element_of<T>(most, i)));
    sums[i] = 0.0f;
#pragma unroll
    for (int k = 0; k < Tile::Packs; ++k) sums[i] += exponentials.of(element_of<T>(held[k], i));
    if (sizeof(T) == 2 && i % 2 == 1) asm volatile("" : "+f"(sums[i]) : : "memory");  // else all columns are unpacked at once
  }
}

// Replaces the elements of the packs by their results; norm_of(i) is the norm of element i of each pack.
template <typename Form, typename Tile, typename T, typename NormOf>
__device__ __forceinline__ void apply_to(Held<Tile>& held, NormOf norm_of) {
  constexpr int V = IN_PACK<Tile, T>, Each = V < 2 ? V : 2;
#pragma unroll
  for (int i = 0; i < V; i += Each) {
    Norm norms[Each];
#pragma unroll
    for (int j = 0; j < Each; ++j) norms[j] = norm_of(i + j);
#pragma unroll
    for (int k = 0; k < Tile::Packs; ++k) {
      float results[Each + 1] = {};  // a word is made of two halves
#pragma unroll
      for (int j = 0; j < Each; ++j)
        results[j] = result_of<Form>(element_of<T>(held[k], i + j), Exponentials<T>(norms[j].max), norms[j]);
#pragma unroll
      for (int j = 0; j < Each; j += 4 / sizeof(T)) word_at(held[k], (i + j) * sizeof(T) / 4) = word_from<T>(results + j);
    }
    if (sizeof(T) == 2) asm volatile("" : : : "memory");  // else more columns are unpacked than registers hold
  }
}

// The maximum of each column of a thread, over all lanes that share the column.
template <typename Tile, typename T>
__device__ __forceinline__ Pack<Tile> max_of_packs(const Held<Tile>& held, const SharedPacks<Tile>& packs) {
  Pack<Tile> most = held[0];
#pragma unroll
  for (int k = 1; k < Tile::Packs; ++k) most = larger_pack<T>(most, held[k]);
#pragma unroll 4
  for (int k = 0; k < Tile::SharedPacks; ++k) most = larger_pack<T>(most, packs[k]);
  return max_of_lanes<Tile, T>(most);
}

// Sums of exponentials relative to these maxima, over the same lanes.
template <typename Tile, typename T>
__device__ __forceinline__ void sum_packs(float (&sums)[IN_PACK<Tile, T>], const Held<Tile>& held,
                                          const SharedPacks<Tile>& packs, const Pack<Tile>& most) {
  sum_held<Tile, T>(sums, held, most);
#pragma unroll 2
  for (int k = 0; k < Tile::SharedPacks; ++k) {
    const Pack<Tile> pack = packs[k];
#pragma unroll
    for (int i = 0; i < IN_PACK<Tile, T>; ++i)
      sums[i] += Exponentials<T, true>(base_of(element_of<T>(most, i))).of(element_of<T>(pack, i));
  }
  add_lanes<Tile, T>(sums);
}

// ---- The columns of a block, of its cluster, and of a co-resident group ----

// The norm of a column, from a pair whose sum has the excess of its exponentials.
template <typename Form, typename T>
__device__ __forceinline__ Norm norm_of_column(MaxSum pair) {
  return Form::norm(pair, Exponentials<T>(pair.max));
}

// Finds the norm of each column of the block, from the column state of its threads and of the other blocks of its cluster.
template <typename Form, typename Tile, typename T>
__device__ __forceinline__ void finish_columns(const T* x, const AxisView& view, TilePlace place,
                                               const ColumnState<Tile, T>& state) {
  const int phase = phase_of_tile<Tile>(x, view, place);
  if constexpr (Tile::Cluster > 1) cluster_wait();
  for_columns<Tile>(view.width, [&](int column, int way, unsigned lanes) {
    const MaxSum pair = pair_of(column, way, lanes, phase, state, view);
    if (Tile::Cluster > 1) {
#pragma unroll 1
      for (int rank = way; rank < Tile::Cluster; rank += Tile::Ways)
        send(state.parts + place.part * view.width + column, rank, pair, state.box);
    } else if (way == 0) {
      state.set_norm(column, norm_of_column<Form, T>(pair));
    }
  });
  if constexpr (Tile::Cluster > 1) {
    expect(state.box, Tile::Cluster * view.width * static_cast<int>(sizeof(MaxSum)));
    for_columns<Tile>(view.width, [&](int column, int way, unsigned lanes) {
      await(state.box, 0);
      const auto part = [&](int rank) { return state.parts[rank * view.width + column]; };
      const MaxSum pair = join_column<Tile, T>(part, Tile::Cluster, way, lanes);
      if (way == 0) state.set_norm(column, norm_of_column<Form, T>(pair));
    });
  }
  __syncthreads();  // the norms are written
}

// The place of a tile, by its number among the tiles of all units.
__device__ __forceinline__ TilePlace place_of_tile(const AxisView& view, unsigned tile) {
  const unsigned unit = tile / view.parts;
  return {unit / view.strips, static_cast<int>(unit % view.strips), static_cast<int>(tile % view.parts)};
}

// Writes the sums of the block to pairs[part, column] of its unit, and counts the tile.
template <typename Tile, typename T>
__device__ __forceinline__ void publish_columns(const T* x, MaxSum* pairs, const AxisView& view, TilePlace place, unsigned unit,
                                             const ColumnState<Tile, T>& state) {
  const int phase = phase_of_tile<Tile>(x, view, place);
  for_columns<Tile>(view.width, [&](int column, int way, unsigned lanes) {
    const MaxSum pair = pair_of(column, way, lanes, phase, state, view);
    if (way == 0) store_pair(pairs + place.part * view.width + column, pair);
  });
  count_tile<Tile>(unit);
}

__device__ __forceinline__ unsigned tiles_of(const AxisView& view) {
  return static_cast<unsigned>(view.outer) * view.strips * view.parts;
}

// The same as finish_columns, by all blocks of a co-resident group.
template <typename Form, typename Tile, typename T>
__device__ __forceinline__ void finish_in_group(const T* x, MaxSum* partials, const AxisView& view, TilePlace place,
                                                const ColumnState<Tile, T>& state) {
  const int thread = threadIdx.y * Tile::Wide + threadIdx.x;
  const unsigned unit = static_cast<unsigned>(place.slab) * view.strips + place.strip;
  MaxSum* pairs = partials + static_cast<long long>(unit) * view.parts * view.width;
  if (thread == 0) count_load<Tile>(tiles_of(view));
  publish_columns(x, pairs, view, place, unit, state);
  if (thread == 0) await_state<Tile>(unit, view.parts);
  __syncthreads();  // all blocks of the group have written
  join_unit<Tile, T>(pairs, view.parts, view.width, state.parts,
                     [&](int column, MaxSum pair) { state.set_norm(column, norm_of_column<Form, T>(pair)); });
  __syncthreads();  // the columns are known
  if (thread == 0) release_unit<Tile>(unit, 2 * view.parts - 1);
}

// ---- Results ----

// The columns of a thread's packs. Elements outside the tile get any column, because they are not stored.
template <typename Tile, int V>
__device__ __forceinline__ void columns_of(int (&columns)[V], int label, const AxisView& view) {
#pragma unroll
  for (int i = 0; i < V; ++i, ++label) {
    if (Tile::Layout == RAGGED && label == view.width) label = 0;
    columns[i] = Tile::Layout == WHOLE ? label : max(0, min(label, view.width - 1));
  }
}

// Replaces the elements of the packs by their results, with the norms in `state`.
template <typename Form, typename Tile, typename T>
__device__ __forceinline__ void apply_columns(Held<Tile>& held, const Share<Tile>& share, const ColumnState<Tile, T>& state,
                                              const AxisView& view) {
#pragma unroll
  for (int k = 0; k < Tile::Packs; ++k) stay_packed(held[k]);
  int columns[IN_PACK<Tile, T>];
  columns_of<Tile>(columns, share.label, view);
  apply_to<Form, Tile, T>(held, [&](int i) { return state.norm(columns[i]); });
}

// The same for the packs in shared memory, whose results are stored at once.
template <typename Form, typename Tile, typename T>
__device__ __forceinline__ void finish_shared_packs(T* __restrict__ y, const SharedPacks<Tile>& packs,
                                                    const Share<Tile>& share, const ColumnState<Tile, T>& state,
                                                    const AxisView& view, bool even) {
  constexpr int V = IN_PACK<Tile, T>;
  int columns[V];
  columns_of<Tile>(columns, share.label, view);
  Norm norms[V];
#pragma unroll
  for (int i = 0; i < V; ++i) norms[i] = state.norm(columns[i]);
  store_shared_packs(y, packs, share, even,
                     [&](float x, int i) { return result_of<Form>(x, Exponentials<T>(norms[i].max), norms[i]); });
}

// All steps of columns whose sums need no shared memory: replaces the elements of the packs by their results.
template <typename Form, typename Tile, typename T>
__device__ __forceinline__ void finish_in_registers(Held<Tile>& held) {
  const SharedPacks<Tile> none = own_shared_packs<Tile>();
  const Pack<Tile> most = max_of_packs<Tile, T>(held, none);
  float sums[IN_PACK<Tile, T>];
  sum_packs<Tile, T>(sums, held, none, most);
#pragma unroll
  for (int k = 0; k < Tile::Packs; ++k) stay_packed(held[k]);
  apply_to<Form, Tile, T>(held, [&](int i) { return norm_of_column<Form, T>({element_of<T>(most, i), sums[i]}); });
}

// ---- When a block starts, and where ----

// Started together, the first blocks on a GPU would all load, then all wait, then all store. So they start one after another,
// at the rate at which memory serves them; blocks of co-resident groups start when earlier blocks have loaded.
struct StaggeredStart {
  int first;     // blocks that start one after another; of co-resident groups, blocks that load at once
  float cycles;  // between the starts of two blocks
};

template <typename Tile>
__device__ __forceinline__ TilePlace place_of(const AxisView& view) {
  const int part = blockIdx.x % Tile::Cluster, across = blockIdx.x / Tile::Cluster;
  if (view.strips > 1) return {blockIdx.y + static_cast<long long>(blockIdx.z) * gridDim.y, across, part};
  return {static_cast<long long>(across) * blockDim.z + threadIdx.z, 0, part};
}

// The tile of a block in the order in which blocks start; returns once the tile may be loaded.
template <typename Tile>
__device__ __forceinline__ TilePlace place_in_group(const AxisView& view, StaggeredStart start) {
  const unsigned ticket = take_ticket<Tile>(tiles_of(view));
  if ((threadIdx.x | threadIdx.y) == 0) await_loads<Tile>(ticket, start.first);
  __syncthreads();  // the tile may be loaded
  return place_of_tile(view, ticket);
}

template <typename Tile>
__device__ __forceinline__ void await_start(StaggeredStart start) {
  constexpr int Nap = 20, MostNaps = 500;  // nanoseconds; the limit bounds the delay where the clock is slow
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (block >= start.first) return;
  if (threadIdx.y * Tile::Wide + threadIdx.x < WARP_SIZE && threadIdx.z == 0) {
    const long long begin = clock64(), delay = static_cast<long long>(block / Tile::Cluster * Tile::Cluster * start.cycles);
    for (int naps = 0; naps < MostNaps && clock64() - begin < delay; ++naps) __nanosleep(Nap);
  }
  __syncthreads();  // the block may start
}

// Storing when each warp is ready is 3 to 13 % slower beyond the L2, probably because neighbouring warps then write parts of
// the same sectors at different times.
__device__ __forceinline__ void store_together() { __syncthreads(); }

// Several strips of a slab, by threads that have columns of their own. All are loaded before the first is worked on: one strip
// of few rows asks memory for too little at once.
template <typename Form, typename Tile, typename T>
__device__ __forceinline__ void one_read_strips(const T* __restrict__ x, T* __restrict__ y, const AxisView& view,
                                                TilePlace place) {
  constexpr int Apart = Tile::Wide * IN_PACK<Tile, T>;
  static_assert(Tile::Group == 1 && Tile::Layout == WHOLE && Tile::Exact, "a thread has all rows of its columns");
  static_assert(Tile::Strips * Tile::Packs * PACK_WORDS<Tile> <= 64, "a thread holds at most 64 words in registers");
  place.strip *= Tile::Strips;
  const auto strip = [&](int i) { return share_of<Tile>(x, view, {place.slab, place.strip + i, place.part}); };
  const bool packed = (phase_of<Tile>(x) | phase_of<Tile>(y)) == 0;  // then each pack is in the slab or beyond it
  const Share<Tile> first = strip(0);
  const long long left = view.inner - static_cast<long long>(place.strip) * view.width - first.label;  // columns of the slab
  Held<Tile> held[Tile::Strips];
  if (packed) {
#pragma unroll
    for (int i = 0; i < Tile::Strips; ++i)
#pragma unroll
      for (int k = 0; k < Tile::Packs; ++k)
        held[i][k] = i * Apart < left ? load_pack<Tile>(x + first.first + i * Apart + k * first.stride)
                                      : filled<Pack<Tile>>(nothing<T>().x);
  } else {
#pragma unroll
    for (int i = 0; i < Tile::Strips; ++i) load_tile<Tile>(held[i], x, strip(i), false);
  }
#pragma unroll
  for (int i = 0; i < Tile::Strips; ++i) finish_in_registers<Form, Tile, T>(held[i]);
  store_together();
  if (packed) {
#pragma unroll
    for (int i = 0; i < Tile::Strips; ++i)
#pragma unroll
      for (int k = 0; k < Tile::Packs; ++k)
        if (i * Apart < left) store_pack<Tile>(y + first.first + i * Apart + k * first.stride, held[i][k]);
  } else {
#pragma unroll
    for (int i = 0; i < Tile::Strips; ++i) store_tile<Tile>(y, held[i], strip(i), false);
  }
}

// partials  [units, parts, width], used by co-resident groups only
template <typename Form, typename Tile, typename T>
__device__ __forceinline__ void one_read_axis(const T* __restrict__ x, T* __restrict__ y, MaxSum* partials,
                                              const AxisView& view, StaggeredStart start) {
  static_assert(Tile::Packs >= 1 && Tile::Packs * PACK_WORDS<Tile> <= 64, "a thread holds at most 64 words in registers");
  static_assert(Tile::Cluster >= 1 && Tile::Cluster <= 16, "a cluster has at most 16 blocks");
  constexpr bool InGroup = Tile::Exchanged == Exchange::CoResident;
  if constexpr (Tile::Cluster > 1) open_mailbox(own_mailbox());
  TilePlace place;
  if constexpr (InGroup) place = place_in_group<Tile>(view, start);
  else place = place_of<Tile>(view);
  if constexpr (Tile::Group == 0 && !InGroup) await_start<Tile>(start);
  if constexpr (Tile::Strips > 1) return one_read_strips<Form, Tile>(x, y, view, place);

  // load
  const Share<Tile> share = share_of<Tile>(x, view, place);
  const bool even = is_even<Tile, T>(view, place, phase_of<Tile>(x) | phase_of<Tile>(y));
  const SharedPacks<Tile> packs = own_shared_packs<Tile>();
  if constexpr (Tile::SharedPacks > 0) load_shared_packs(packs, x, below_registers(share), even);
  Held<Tile> held;
  load_tile<Tile>(held, x, share, even);
  if constexpr (Tile::SharedPacks > 0) await_shared_packs<Tile, T>(packs, below_registers(share), even);

  // reduce, compute and store
  if constexpr (Tile::Group > 0) {
    finish_in_registers<Form, Tile, T>(held);
    if (Tile::Group == 1 && Tile::PackBytes < 16 && blockDim.z == 1) store_together();
  } else {
    const Pack<Tile> most = max_of_packs<Tile, T>(held, packs);
    put_maxima(most, column_state<Tile, T>(view.width));  // computed anew below: kept, it would take registers
    float sums[IN_PACK<Tile, T>];
    sum_packs<Tile, T>(sums, held, packs, most);
    const ColumnState<Tile, T> state = column_state<Tile, T>(view.width);
    put_sums(sums, state);
    if constexpr (InGroup) finish_in_group<Form>(x, partials, view, place, state);
    else finish_columns<Form>(x, view, place, state);
    apply_columns<Form>(held, share, state, view);
  }
  // The share is computed anew: kept, it would take registers from packs.
  store_tile<Tile>(y, held, share_of<Tile>(x, view, place), even);
  if constexpr (Tile::SharedPacks > 0)
    finish_shared_packs<Form>(y, packs, below_registers(share_of<Tile>(x, view, place)), column_state<Tile, T>(view.width),
                              view, even);
}
