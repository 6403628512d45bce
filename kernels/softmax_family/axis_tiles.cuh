// Tiles of a view [outer, dim, inner]: the packs that the threads of a block hold, where they lie, how they are loaded and
// stored.
//   block    (Wide packs side by side, High rows at once, slabs). A thread has Packs + SharedPacks packs, one below the other
//   labels   Wide * IN_PACK per block: positions across the tile. A thread has the same columns in all its packs
//   Layout   WHOLE    row segments of whole packs, of any size
//            RAGGED   one contiguous stretch of memory in packs: Wide packs hold whole rows, and the first and the last pack
//                     reach beyond the tile
//            SHIFTED  row segments that begin anywhere, by 4-byte loads. High is a multiple of a pack's elements, so all rows
//                     of a thread begin at the same place in a pack
//   Exact    of WHOLE: the packs hold exactly the tile's rows, and tiles fill dim
#pragma once
#include "softmax_family/axis_packs.cuh"

// How blocks that share columns exchange their sums, where dim is more than one block holds.
enum class Exchange {
  None,
  Cluster,     // through shared memory
  CoResident,  // through global memory, by blocks that wait for each other; see tickets.cuh
  Tickets,     // through global memory, and tiles are read twice; see ticketed_axis.cuh
};

// A thread's packs in registers.
template <typename Tile>
using Held = Pack<Tile>[Tile::Packs];

struct AxisView {
  long long outer;
  int dim;
  long long inner;
  int width;   // columns of a tile: inner, or the width of a strip
  int strips;  // into which inner is cut
  int rows;    // of one part
  int parts;   // into which dim is cut
};

struct TilePlace {
  long long slab;
  int strip, part;
};

template <typename Tile, typename T>
__device__ __forceinline__ int phase_of(const T* place) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(place) / sizeof(T) % IN_PACK<Tile, T>);
}

// The packs of a tile that one thread has. Elements [begin_of(k), end_of(k)) of pack k belong to the tile.
template <typename Tile>
struct Share {
  long long first, stride;  // first element of pack 0 in the array, and the distance to the next pack
  int at, step, limit;      // row of pack 0 (RAGGED: its first element in the tile), distance to the next, end of the tile
  int begin, end;           // elements of each pack that belong to the tile, but for RAGGED
  int label;                // column of the tile that each pack begins with
  long long size;           // elements of the array: a pack that reaches beyond is not read whole

  __device__ __forceinline__ int begin_of(int k) const { return Tile::Layout == RAGGED ? -(at + k * step) : begin; }
  __device__ __forceinline__ int end_of(int k) const {
    return Tile::Layout == RAGGED ? limit - (at + k * step) : at + k * step < limit ? end : 0;
  }
};

// First element of a tile in the array.
__device__ __forceinline__ long long start_of(const AxisView& view, TilePlace place) {
  const long long row = place.slab * view.dim + static_cast<long long>(place.part) * view.rows;
  return row * view.inner + static_cast<long long>(place.strip) * view.width;
}

// Whether every tile is a multiple of a pack although rows are not: then each tile begins with a pack.
template <typename Tile, typename T>
__device__ __forceinline__ bool are_even(const AxisView& view) {
  return view.dim * view.inner % IN_PACK<Tile, T> == 0 && view.rows * view.inner % IN_PACK<Tile, T> == 0;
}

// Elements of the tile's first pack before the tile.
template <typename Tile, typename T>
__device__ __forceinline__ int phase_of_tile(const T* x, const AxisView& view, TilePlace place) {
  if (Tile::Layout == WHOLE || (Tile::Layout == RAGGED && are_even<Tile, T>(view))) return 0;
  return phase_of<Tile>(x + start_of(view, place));
}

template <typename Tile, typename T>
__device__ __forceinline__ Share<Tile> share_of(const T* x, const AxisView& view, TilePlace place) {
  constexpr int V = IN_PACK<Tile, T>;
  int x_thread = threadIdx.x, y_thread = threadIdx.y;
  const int segment = Tile::Wide, rows_at_once = Tile::High;
  asm volatile("" : "+r"(x_thread), "+r"(y_thread));  // a second call computes this anew instead of keeping registers
  const long long left = place.slab < view.outer ? view.dim - static_cast<long long>(place.part) * view.rows : 0;
  const int rows = static_cast<int>(max(0ll, min(left, static_cast<long long>(view.rows))));
  const long long start = start_of(view, place);
  Share<Tile> share;
  share.size = view.outer * view.dim * view.inner;
  if constexpr (Tile::Layout == RAGGED) {
    const int own = (y_thread * segment + x_thread) * V, phase = phase_of_tile<Tile>(x, view, place);
    share.at = own - phase, share.step = segment * rows_at_once * V, share.limit = rows * view.width;
    share.first = start + share.at, share.stride = share.step;
    share.label = static_cast<int>(static_cast<unsigned>(own + V * view.width - phase) % static_cast<unsigned>(view.width));
    share.begin = share.end = 0;
  } else {
    const long long row = start + y_thread * view.inner;
    const long long left_columns = view.inner - static_cast<long long>(place.strip) * view.width;
    share.label = x_thread * V - (Tile::Layout == SHIFTED ? phase_of<Tile>(x + row) : 0);
    share.first = row + share.label, share.stride = rows_at_once * view.inner;
    share.at = y_thread, share.step = rows_at_once, share.limit = rows;
    share.begin = -share.label;
    share.end = static_cast<int>(min(static_cast<long long>(view.width), left_columns)) - share.label;
  }
  return share;
}

// Whether each pack of the block lies either whole in the tile or whole beyond its rows: then packs need no further checks.
// `phase`: place of the array's first element in its pack.
template <typename Tile, typename T>
__device__ __forceinline__ bool is_even(const AxisView& view, TilePlace place, int phase) {
  const bool columns = (place.strip + 1ll) * view.width <= view.inner;
  if constexpr (Tile::Layout == WHOLE && !Tile::Exact) return columns && phase == 0;
  if constexpr (Tile::Layout == SHIFTED) return false;
  const bool slabs = place.slab - threadIdx.z + blockDim.z <= view.outer;
  if constexpr (Tile::Layout == WHOLE) return slabs && columns && phase == 0;
  const bool rows = (place.part + 1ll) * view.rows <= view.dim;
  const int packs = Tile::High * (Tile::Packs + Tile::SharedPacks) * Tile::Wide;
  return slabs && rows && phase == 0 && are_even<Tile, T>(view) && view.rows * view.width == packs * IN_PACK<Tile, T>;
}

// Whether pack k belongs to the tile, in a block for which is_even holds.
template <typename Tile>
__device__ __forceinline__ bool has(const Share<Tile>& share, int k) {
  return Tile::Layout != WHOLE || Tile::Exact || share.at + k * share.step < share.limit;
}

// Rows of a thread that have a whole 4-byte pack in the array: a load may bring a neighbour from outside the tile, whose column
// is never used. A pack may reach before the array's first element, but not beyond its last: `cut` is such a row, or -1.
struct ShiftedRows {
  int whole, cut;
};

template <typename Tile, typename T>
__device__ __forceinline__ ShiftedRows shifted_rows(const Share<Tile>& share) {
  constexpr int V = IN_PACK<Tile, T>;
  ShiftedRows rows = {share.begin < V && share.end > 0 ? share.limit : 0, -1};
  const long long inner = share.stride / share.step;
  if (V > 1 && rows.whole > 0 && share.first + (rows.whole - 1 - share.at) * inner + V > share.size) rows.cut = --rows.whole;
  return rows;
}

// The pack of row `cut`.
template <typename Tile, typename T>
__device__ __forceinline__ Pack<Tile> pack_of_cut(const T* x, const Share<Tile>& share, int cut) {
  return load_within<Tile>(x + share.first + (cut - share.at) * (share.stride / share.step), share.begin, share.end);
}

template <typename Tile, typename T>
__device__ __forceinline__ void load_shifted(Held<Tile>& held, const T* __restrict__ x, const Share<Tile>& share) {
  const unsigned fill = nothing<T>().x;
  const ShiftedRows rows = shifted_rows<Tile, T>(share);
  const T* from = x + share.first;
  int at = share.at;
#pragma unroll
  for (int k = 0; k < Tile::Packs; ++k, at += share.step, from += share.stride)
    word_at(held[k], 0) = at < rows.whole ? *reinterpret_cast<const unsigned*>(from) : fill;
  if (rows.cut < 0) return;
  const Pack<Tile> part = pack_of_cut<Tile>(x, share, rows.cut);
#pragma unroll
  for (int k = 0; k < Tile::Packs; ++k)
    if (share.at + k * share.step == rows.cut) held[k] = part;
}

// Stores pack_of(0) .. pack_of(Count - 1) of a share, `Unroll` at a time.
template <typename Tile, int Count, int Unroll, typename T, typename PackOf>
__device__ __forceinline__ void store_shifted(T* __restrict__ y, const Share<Tile>& share, PackOf pack_of) {
  constexpr int V = IN_PACK<Tile, T>;
  T* to = y + share.first;
  const bool one = share.begin <= 0 && share.end > 0, other = share.begin <= 1 && share.end > 1;
  const bool packed = phase_of<Tile>(to) == 0;
  const int whole = one && (V == 1 || other) ? share.limit : 0;  // rows below this store a whole pack
  const int single = one != other ? share.limit : 0;             // rows below this store one element
  int at = share.at;
  if (V == 1 || packed) {
#pragma unroll Unroll
    for (int k = 0; k < Count; ++k, at += share.step, to += share.stride) {
      const Pack<Tile> pack = pack_of(k);
      if (at < whole) store_pack<Tile>(to, pack);
      if (V > 1 && at < single) store_element<Tile>(to + other, pack, other);
    }
  } else {
#pragma unroll Unroll
    for (int k = 0; k < Count; ++k, at += share.step, to += share.stride) {
      const Pack<Tile> pack = pack_of(k);
      if (one && at < share.limit) store_element<Tile>(to, pack, 0);
      if (other && at < share.limit) store_element<Tile>(to + 1, pack, 1);
    }
  }
}

template <typename Tile, typename T>
__device__ __forceinline__ void load_tile(Held<Tile>& held, const T* __restrict__ x, const Share<Tile>& share, bool even) {
  constexpr int V = IN_PACK<Tile, T>;
  if constexpr (Tile::Layout == SHIFTED) {
    load_shifted<Tile>(held, x, share);
    return;
  }
  if (even) {
    const T* from = x + share.first;
#pragma unroll
    for (int k = 0; k < Tile::Packs; ++k)
      held[k] = has(share, k) ? load_pack<Tile>(from + k * share.stride)
                              : filled<Pack<Tile>>(nothing<T>().x);
    return;
  }
  const bool packed = phase_of<Tile>(x + share.first) == 0;  // for all packs: they are whole packs apart
  long long first = share.first;
#pragma unroll
  for (int k = 0; k < Tile::Packs; ++k, first += share.stride) {
    const int begin = share.begin_of(k), end = share.end_of(k);
    const bool inside = Tile::Layout == WHOLE || (first >= 0 && first + V <= share.size);
    if (end <= 0 || begin >= V) held[k] = filled<Pack<Tile>>(nothing<T>().x);
    else if (packed && inside && (Tile::Layout != WHOLE || (begin <= 0 && end >= V)))
      held[k] = load_pack<Tile>(x + first);
    else held[k] = load_within<Tile>(x + first, begin, end);
  }
  // Masks what was read beyond the tile, once all loads are under way.
#pragma unroll
  for (int k = 0; k < Tile::Packs && Tile::Layout == RAGGED; ++k) {
    const int begin = share.begin_of(k), end = share.end_of(k);
    if (begin > 0 || end < V) held[k] = only<Tile, T>(held[k], bits_of<Tile, T>(begin, end));
  }
}

template <typename Tile, typename T>
__device__ __forceinline__ void store_tile(T* __restrict__ y, const Held<Tile>& held, const Share<Tile>& share, bool even) {
  if constexpr (Tile::Layout == SHIFTED) {
    store_shifted<Tile, Tile::Packs, Tile::Packs>(y, share, [&](int k) { return held[k]; });
    return;
  }
  T* to = y + share.first;
  if (even) {
#pragma unroll
    for (int k = 0; k < Tile::Packs; ++k)
      if (has(share, k)) store_pack<Tile>(to + k * share.stride, held[k]);
    return;
  }
  const bool packed = phase_of<Tile>(to) == 0;
#pragma unroll
  for (int k = 0; k < Tile::Packs; ++k, to += share.stride)
    store_within<Tile>(to, held[k], share.begin_of(k), share.end_of(k), packed);
}
