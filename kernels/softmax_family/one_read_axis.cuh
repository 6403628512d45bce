// Softmax and log-softmax along any axis of a view [outer, dim, inner], from a tile in registers and shared memory.
//   tile    all rows of dim, or one of `parts` shares of them, by all of inner or a strip of it: see softmax_family/axis_tiles.cuh
//   order   a thread has the same columns in each of its packs: with its lanes it finds their maxima, then sums relative to
//           them; pairs of both are joined within the block, and at last by the blocks that share a column
//   sums    joined in an order fixed by thread and block numbers: the same on every run
//   PACKS    of a thread, in registers; SLOTS: further ones in shared memory
//   GANG     1 where the blocks that share columns are a gang, see softmax_family/tickets.cuh; else 0
//   SEGMENT, GROUP, FOLD, CLUSTER, TICKETS  see softmax_family/axis_columns.cuh
//   LOADS, STORES  hints of softmax_family/row_packs.cuh
#pragma once
#include "softmax_family/axis_columns.cuh"
#include "softmax_family/axis_shared_packs.cuh"
#include "softmax_family/cluster_exchange.cuh"
#include "softmax_family/tickets.cuh"

#if CLUSTER > 1
#define ONE_READ_AXIS_CLUSTER __cluster_dims__(CLUSTER, 1, 1)
#else
#define ONE_READ_AXIS_CLUSTER
#endif

static_assert(PACKS >= 1 && PACKS * PACK_WORDS <= 64, "a thread holds at most 64 words in registers");
static_assert(CLUSTER >= 1 && CLUSTER <= 16, "a cluster has at most 16 blocks");

// ---- Arithmetic ----

struct LogSoftmax {
  template <typename T>
  static __device__ __forceinline__ float end_of(float, float sum) {
    return sizeof(T) == 4 ? logf(sum) : __logf(sum);
  }
  template <typename T>
  static __device__ __forceinline__ float apply(float x, float max, float end) { return x - max - end; }
};

struct Softmax {
  template <typename T>  // with what the powers have in excess
  static __device__ __forceinline__ float end_of(float max, float sum) {
    return Powers<false, T>(max).correction(max) / sum;
  }
  template <typename T>
  static __device__ __forceinline__ float apply(float x, float max, float end) {
    return Powers<false, T>(max).of(x) * end;
  }
};

// The end of a column, of its maximum and its sum.
template <typename Result, typename T>
__device__ __forceinline__ float end_of(float2 pair) {
  const float base = base_of(pair.x);
  return Result::template end_of<T>(pair.x, Powers<false, T>(base).corrected(pair.y, base));
}

// ---- The tile ----

template <typename T>
__device__ __forceinline__ void sum_powers(float (&sums)[IN_PACK<T>], const Pack (&held)[PACKS], Pack most) {
#pragma unroll
  for (int i = 0; i < IN_PACK<T>; ++i) {
    const Powers<true, T> powers(base_of(element_of<T>(most, i)));
    sums[i] = 0.0f;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) sums[i] += powers.of(element_of<T>(held[k], i));
    if (sizeof(T) == 2 && i % 2 == 1) asm volatile("" : "+f"(sums[i]) : : "memory");  // else all are unpacked at once
  }
}

// Results in place of packs; `max_of` and `end_of` give those of element i.
template <typename Result, typename T, typename Max, typename End>
__device__ __forceinline__ void apply_to(Pack (&held)[PACKS], Max max_of, End end_of) {
  constexpr int V = IN_PACK<T>, Each = V < 2 ? V : 2;
#pragma unroll
  for (int i = 0; i < V; i += Each) {
    float maxima[Each], ends[Each];
#pragma unroll
    for (int j = 0; j < Each; ++j) maxima[j] = max_of(i + j), ends[j] = end_of(i + j);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      float results[Each];
#pragma unroll
      for (int j = 0; j < Each; ++j) results[j] = Result::template apply<T>(element_of<T>(held[k], i + j), maxima[j], ends[j]);
#pragma unroll
      for (int j = 0; j < Each; j += 4 / sizeof(T)) word_at(held[k], (i + j) * sizeof(T) / 4) = word_from<T>(results + j);
    }
    if (sizeof(T) == 2) asm volatile("" : : : "memory");  // else more columns are unpacked than registers hold
  }
}

// The maximum of each of a thread's columns, over those of its lanes that have them, too.
template <typename T>
__device__ __forceinline__ Pack max_of_packs(const Pack (&held)[PACKS], const Slots& slots) {
  Pack most = held[0];
#pragma unroll
  for (int k = 1; k < PACKS; ++k) most = larger_pack<T>(most, held[k]);
#pragma unroll 4
  for (int k = 0; k < SLOTS; ++k) most = larger_pack<T>(most, slots[k]);
  return max_of_lanes<T>(most);
}

// Sums of powers relative to that, over the same lanes.
template <typename T>
__device__ __forceinline__ void sum_packs(float (&sums)[IN_PACK<T>], const Pack (&held)[PACKS], const Slots& slots,
                                          const Pack& most) {
  sum_powers<T>(sums, held, most);
#pragma unroll 2
  for (int k = 0; k < SLOTS; ++k) {
    const Pack pack = slots[k];
#pragma unroll
    for (int i = 0; i < IN_PACK<T>; ++i)
      sums[i] += Powers<true, T>(base_of(element_of<T>(most, i))).of(element_of<T>(pack, i));
  }
  add_lanes<T>(sums);
}

// Maximum and end of each of the block's columns, from what its threads and the blocks of its cluster have summed up.
template <typename Result, int Form, typename T>
__device__ __forceinline__ void join_columns(const T* x, const AxisView& view, TilePlace place, const Sheets<T>& sheets) {
  const auto know = [&](int column, float2 pair) {
    sheets.max[column] = pair.x, sheets.end[column] = end_of<Result, T>(pair);
  };
  const int phase = phase_of_tile<Form>(x, view, place);
  if constexpr (CLUSTER > 1) cluster_wait();
  for_columns(view.width, [&](int column, int way, unsigned lanes) {
    const float2 pair = pair_of<Form>(column, way, lanes, phase, sheets, view);
    if (CLUSTER > 1) {
#pragma unroll 1
      for (int rank = way; rank < CLUSTER; rank += WAYS)
        send(sheets.parts + place.part * view.width + column, rank, pair, sheets.box);
    } else if (way == 0) {
      know(column, pair);
    }
  });
  if constexpr (CLUSTER > 1) {
    expect(sheets.box, CLUSTER * view.width * static_cast<int>(sizeof(float2)));
    for_columns(view.width, [&](int column, int way, unsigned lanes) {
      await(sheets.box, 0);
      const auto part = [&](int rank) { return sheets.parts[rank * view.width + column]; };
      const float2 pair = join_ways<T>(part, CLUSTER, way, lanes);
      if (way == 0) know(column, pair);
    });
  }
  __syncthreads();  // the results are written
}

// The first blocks on a GPU would load all at once, then all wait, then all store. They begin one after another instead, at
// the rate at which memory serves them; the blocks of gangs, which wait longest, when others have loaded.
struct Turns {
  int first;     // blocks; of gangs, those that load at once
  float cycles;  // from one to the next
};

#if TICKETS || GANG
// As place_of, by the number of a tile among those of all units.
__device__ __forceinline__ TilePlace place_of_tile(const AxisView& view, unsigned tile) {
  const unsigned unit = tile / view.parts;
  return {unit / view.strips, static_cast<int>(unit % view.strips), static_cast<int>(tile % view.parts)};
}

// What the block has summed up, to pairs[part, column] of its unit, and counted.
template <int Form, typename T>
__device__ __forceinline__ void give_columns(const T* x, float2* pairs, const AxisView& view, TilePlace place, unsigned unit,
                                             const Sheets<T>& sheets) {
  const int phase = phase_of_tile<Form>(x, view, place);
  for_columns(view.width, [&](int column, int way, unsigned lanes) {
    const float2 pair = pair_of<Form>(column, way, lanes, phase, sheets, view);
    if (way == 0) __stcg(pairs + place.part * view.width + column, pair);
  });
  count_tile(unit);
}
#endif

#if GANG
__device__ __forceinline__ unsigned tiles_of(const AxisView& view) {
  return static_cast<unsigned>(view.outer) * view.strips * view.parts;
}

// As place_of, by the order in which blocks start; once the tile may be loaded.
__device__ __forceinline__ TilePlace place_in_gang(const AxisView& view, Turns turns) {
  const unsigned ticket = take_ticket(tiles_of(view));
  if ((threadIdx.x | threadIdx.y) == 0) await_loads(ticket, turns.first);
  __syncthreads();  // the turn has come
  return place_of_tile(view, ticket);
}

// As join_columns, by all blocks of a gang.
template <typename Result, int Form, typename T>
__device__ __forceinline__ void join_gang(const T* x, float2* partials, const AxisView& view, TilePlace place,
                                          const Sheets<T>& sheets) {
  const int thread = threadIdx.y * wide() + threadIdx.x;
  const unsigned unit = static_cast<unsigned>(place.slab) * view.strips + place.strip;
  float2* pairs = partials + static_cast<long long>(unit) * view.parts * view.width;
  if (thread == 0) count_load(tiles_of(view));
  give_columns<Form>(x, pairs, view, place, unit, sheets);
  if (thread == 0) await_state(unit, view.parts);
  __syncthreads();  // all blocks of the gang have written
  join_parts<T>(pairs, view.parts, view.width, sheets.parts, [&](int column, float2 pair) {
    sheets.max[column] = pair.x, sheets.end[column] = end_of<Result, T>(pair);
  });
  __syncthreads();  // the columns are known
  if (thread == 0) leave_unit(unit, 2 * view.parts - 1);
}
#else
__device__ __forceinline__ TilePlace place_in_gang(const AxisView&, Turns) { return {}; }
template <typename Result, int Form, typename T>
__device__ __forceinline__ void join_gang(const T*, float2*, const AxisView&, TilePlace, const Sheets<T>&) {}
#endif

// Those of a thread's packs. Elements outside the tile are not stored: any column will do for them.
template <int Form, int V>
__device__ __forceinline__ void columns_of(int (&columns)[V], int label, const AxisView& view) {
#pragma unroll
  for (int i = 0; i < V; ++i, ++label) {
    if (Form == RAGGED && label == view.width) label = 0;
    columns[i] = Form == WHOLE ? label : max(0, min(label, view.width - 1));
  }
}

// Results in place of packs, of columns that `sheets` knows.
template <typename Result, int Form, typename T>
__device__ __forceinline__ void apply_columns(Pack (&held)[PACKS], const Share<Form>& share, const Sheets<T>& sheets,
                                              const AxisView& view) {
#pragma unroll
  for (int k = 0; k < PACKS; ++k) stay_packed(held[k]);
  int columns[IN_PACK<T>];
  columns_of<Form>(columns, share.label, view);
  apply_to<Result, T>(held, [&](int i) { return sheets.max[columns[i]]; }, [&](int i) { return sheets.end[columns[i]]; });
}

// The same of a thread's slots, which are stored at once.
template <typename Result, int Form, typename T>
__device__ __forceinline__ void finish_slots(T* __restrict__ y, const Slots& slots, const Share<Form>& share,
                                             const Sheets<T>& sheets, const AxisView& view, bool even) {
  constexpr int V = IN_PACK<T>;
  int columns[V];
  columns_of<Form>(columns, share.label, view);
  float maxima[V], ends[V];
#pragma unroll
  for (int i = 0; i < V; ++i) maxima[i] = sheets.max[columns[i]], ends[i] = sheets.end[columns[i]];
  const auto result_of = [&](float x, int i) { return Result::template apply<T>(x, maxima[i], ends[i]); };
  store_slots(y, slots, share, even, result_of);
}

// Of the block.
__device__ __forceinline__ TilePlace place_of(const AxisView& view) {
  const int part = blockIdx.x % CLUSTER, across = blockIdx.x / CLUSTER;
  if (view.strips > 1) return {blockIdx.y + static_cast<long long>(blockIdx.z) * gridDim.y, across, part};
  return {static_cast<long long>(across) * blockDim.z + threadIdx.z, 0, part};
}

__device__ __forceinline__ void take_turn(Turns turns) {
  constexpr int Nap = 20, MostNaps = 500;  // nanoseconds; so that a slow clock does no harm
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (block >= turns.first) return;
  if (threadIdx.y * wide() + threadIdx.x < WARP_SIZE && threadIdx.z == 0) {
    const long long begin = clock64(), delay = static_cast<long long>(block / CLUSTER * CLUSTER * turns.cycles);
    for (int naps = 0; naps < MostNaps && clock64() - begin < delay; ++naps) __nanosleep(Nap);
  }
  __syncthreads();  // the turn has come
}

// turns     of the blocks that are the first on the GPU
// shared    16 bytes, slots, and for each slab of the block what Sheets says; none for groups
// partials  of gangs: [units, parts, width]
template <typename Result, int Form, typename T>
__device__ __forceinline__ void one_read_axis(const T* __restrict__ x, T* __restrict__ y, float2* partials,
                                              const AxisView& view, Turns turns) {
  if constexpr (CLUSTER > 1) open_mailbox(own_mailbox());
  const TilePlace place = GANG ? place_in_gang(view, turns) : place_of(view);
  if constexpr (GROUP == 0 && !GANG) take_turn(turns);
  const Share<Form> share = share_of<Form>(x, view, place);
  const bool even = is_even<Form, T>(view, place, phase_of(x) | phase_of(y));
  const Slots slots = own_slots();
  if constexpr (SLOTS > 0) load_slots(slots, x, below_registers(share), even);
  Pack held[PACKS];
  load_tile<Form>(held, x, share, even);
  if constexpr (SLOTS > 0) await_slots<Form, T>(slots, below_registers(share), even);
  const Pack most = max_of_packs<T>(held, slots);
  if constexpr (GROUP == 0) put_maxima(most, sheets_of<T>(view.width));
  float sums[IN_PACK<T>];
  sum_packs<T>(sums, held, slots, most);

  if constexpr (GROUP > 0) {
#pragma unroll
    for (int k = 0; k < PACKS; ++k) stay_packed(held[k]);
    apply_to<Result, T>(held, [&](int i) { return element_of<T>(most, i); }, [&](int i) {
      return end_of<Result, T>(make_float2(element_of<T>(most, i), sums[i]));
    });
  } else {
    const Sheets<T> sheets = sheets_of<T>(view.width);
    put_sums(sums, sheets);
    if constexpr (GANG) join_gang<Result, Form>(x, partials, view, place, sheets);
    else join_columns<Result, Form>(x, view, place, sheets);
    apply_columns<Result, Form, T>(held, share, sheets, view);
  }
  // Kept, all of a share takes more registers than packs leave: it is found again.
  store_tile<Form>(y, held, share_of<Form>(x, view, place), even);
  if constexpr (SLOTS > 0)
    finish_slots<Result>(y, slots, below_registers(share_of<Form>(x, view, place)), sheets_of<T>(view.width), view, even);
}
