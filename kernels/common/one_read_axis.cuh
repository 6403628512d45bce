// Softmax and log-softmax along any axis of a view [outer, dim, inner], from a tile that registers hold.
//   tile    all rows of dim, or one of `parts` shares of them, by all of inner or a strip of it: see common/axis_tiles.cuh
//   order   a thread has the same columns in each of its packs; maxima first, then sums relative to them: within threads,
//           lanes, the block, and at last the blocks that share a column
//   sums    joined in an order fixed by thread and block numbers: the same on every run
//   PACKS    of a thread
//   SEGMENT, GROUP, FOLD, CLUSTER, TICKETS  see common/axis_join.cuh
//   LOADS, STORES  hints of common/row_packs.cuh
#pragma once
#include "common/axis_join.cuh"
#include "common/cluster_exchange.cuh"

#if CLUSTER > 1
#define ONE_READ_AXIS_CLUSTER __cluster_dims__(CLUSTER, 1, 1)
#else
#define ONE_READ_AXIS_CLUSTER
#endif

static_assert(PACKS >= 1 && PACKS <= 16, "a thread holds at most 16 packs in registers");
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

// ---- The tile ----

template <typename T>
__device__ __forceinline__ void sum_powers(float (&sums)[PER_PACK<T>], const uint4 (&held)[PACKS], uint4 most) {
#pragma unroll
  for (int i = 0; i < PER_PACK<T>; ++i) {
    const Powers<true, T> powers(base_of(element_of<T>(most, i)));
    sums[i] = 0.0f;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) sums[i] += powers.of(element_of<T>(held[k], i));
    if (sizeof(T) == 2 && i % 2 == 1) asm volatile("" : "+f"(sums[i]) : : "memory");  // else all are unpacked at once
  }
}

// Results in place of packs; `max_of` and `end_of` give those of element i.
template <typename Result, typename T, typename Max, typename End>
__device__ __forceinline__ void apply_to(uint4 (&held)[PACKS], Max max_of, End end_of) {
#pragma unroll
  for (int i = 0; i < PER_PACK<T>; i += 2) {
    const float maxima[2] = {max_of(i), max_of(i + 1)}, ends[2] = {end_of(i), end_of(i + 1)};
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      float results[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) results[j] = Result::template apply<T>(element_of<T>(held[k], i + j), maxima[j], ends[j]);
      if constexpr (sizeof(T) == 4) {
        (i == 0 ? held[k].x : held[k].z) = __float_as_uint(results[0]);
        (i == 0 ? held[k].y : held[k].w) = __float_as_uint(results[1]);
      } else {
        (i == 0 ? held[k].x : i == 2 ? held[k].y : i == 4 ? held[k].z : held[k].w) = word_of<T>(results[0], results[1]);
      }
    }
    if (sizeof(T) == 2) asm volatile("" : : : "memory");  // else more columns are unpacked than registers hold
  }
}

// Maxima of the block's columns and sums of powers relative to them, in `sheets`.
template <int Form, typename T>
__device__ __forceinline__ void sum_up_block(const uint4 (&held)[PACKS], const Sheets<T>& sheets) {
  uint4 most = held[0];
#pragma unroll
  for (int k = 1; k < PACKS; ++k) most = larger_pack<T>(most, held[k]);
  most = max_of_block<Form, T>(max_of_lanes<T>(most), sheets);
  float sums[PER_PACK<T>];
  sum_powers<T>(sums, held, most);
  add_lanes<T>(sums);
  sums_of_block<T>(sums, sheets);
}

// Maximum and end of each of the block's columns, from what its threads and the blocks of its cluster have summed up.
template <typename Result, int Form, typename T>
__device__ __forceinline__ void join_columns(const T* x, const AxisView& view, TilePlace place, const Sheets<T>& sheets) {
  const int thread = threadIdx.y * wide() + threadIdx.x, threads = wide() * high();
  const auto know = [&](int column, float2 pair) {
    sheets.max[column] = pair.x, sheets.end[column] = Result::template end_of<T>(pair.x, pair.y);
  };
  const int phase = phase_of_tile<Form>(x, view, place);
  if constexpr (CLUSTER > 1) cluster_wait();
  for (int column = thread; column < view.width; column += threads) {
    const float2 pair = pair_of<Form, T>(column, phase, sheets, view);
    if (CLUSTER > 1) {
#pragma unroll 1
      for (int rank = 0; rank < CLUSTER; ++rank)
        send(sheets.parts + place.part * view.width + column, rank, pair, sheets.box);
    } else {
      know(column, pair);
    }
  }
  if constexpr (CLUSTER > 1) {
    expect(sheets.box, CLUSTER * view.width * static_cast<int>(sizeof(float2)));
    for (int column = thread; column < view.width; column += threads) {
      await(sheets.box, 0);
      know(column, join_pairs([&](int rank) { return sheets.parts[rank * view.width + column]; }, CLUSTER));
    }
  }
  __syncthreads();  // the results are written
}

// Results in place of packs, of columns that `sheets` knows.
template <typename Result, int Form, typename T>
__device__ __forceinline__ void apply_columns(uint4 (&held)[PACKS], const Share<Form>& share, const Sheets<T>& sheets,
                                              const AxisView& view) {
  constexpr int V = PER_PACK<T>;
#pragma unroll
  for (int k = 0; k < PACKS; ++k) stay_packed(held[k]);
  if constexpr (Form == WHOLE) {
    const float* max = sheets.max + threadIdx.x * V;
    const float* end = sheets.end + threadIdx.x * V;
    apply_to<Result, T>(held, [=](int i) { return max[i]; }, [=](int i) { return end[i]; });
  } else {
    // Elements outside the tile are not stored: any column will do for them.
    int columns[V], column = share.label;
#pragma unroll
    for (int i = 0; i < V; ++i, ++column) {
      if (Form == RAGGED && column == view.width) column = 0;
      columns[i] = max(0, min(column, view.width - 1));
    }
    apply_to<Result, T>(held, [&](int i) { return sheets.max[columns[i]]; }, [&](int i) { return sheets.end[columns[i]]; });
  }
}

// Of the block.
__device__ __forceinline__ TilePlace place_of(const AxisView& view) {
  const int part = blockIdx.x % CLUSTER, across = blockIdx.x / CLUSTER;
  if (view.strips > 1) return {blockIdx.y + static_cast<long long>(blockIdx.z) * gridDim.y, across, part};
  return {static_cast<long long>(across) * blockDim.z + threadIdx.z, 0, part};
}

// shared  16 bytes, and for each slab of the block what Sheets says; none for groups
template <typename Result, int Form, typename T>
__device__ __forceinline__ void one_read_axis(const T* __restrict__ x, T* __restrict__ y, const AxisView& view) {
  if constexpr (CLUSTER > 1) open_mailbox(own_mailbox());
  const TilePlace place = place_of(view);
  const Share<Form> share = share_of<Form>(x, view, place);
  const bool full = is_full<Form, T>(view, place, phase_of(x) | phase_of(y));
  uint4 held[PACKS];
  load_tile<Form>(held, x, share, full);

  if constexpr (GROUP > 0) {
    uint4 most = held[0];
#pragma unroll
    for (int k = 1; k < PACKS; ++k) most = larger_pack<T>(most, held[k]);
    most = max_of_lanes<T>(most);
    float sums[PER_PACK<T>];
    sum_powers<T>(sums, held, most);
    add_lanes<T>(sums);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) stay_packed(held[k]);
    apply_to<Result, T>(held, [&](int i) { return element_of<T>(most, i); }, [&](int i) {
      const float2 pair = corrected<T>({element_of<T>(most, i), sums[i]});
      return Result::template end_of<T>(pair.x, pair.y);
    });
  } else {
    const Sheets<T> sheets = sheets_of<Form, T>(view.width);
    sum_up_block<Form, T>(held, sheets);
    join_columns<Result, Form, T>(x, view, place, sheets);
    apply_columns<Result, Form, T>(held, share, sheets, view);
  }
  if (full) {
    store_full(y + share.first, held, share.stride);
    return;
  }
  // Kept, all of it takes more registers than packs leave: it is found again.
  store_tile<Form>(y, held, share_of<Form>(x, view, place), false);
}
