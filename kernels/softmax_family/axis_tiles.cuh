// Tiles of a view [outer, dim, inner] as packs that the threads of a block hold: where they are, and how they are loaded and
// stored.
//   block    (packs side by side, rows at once, slabs); a thread has PACKS + SLOTS packs below each other
//   WHOLE    a tile of row segments, each of whole packs
//   RAGGED   a contiguous tile, whose packs are those of memory: blockDim.x of them hold whole rows, the first and the last
//            reach beyond the tile
//   SHIFTED  a tile of row segments that begin anywhere, of words. blockDim.y is a multiple of a word's elements, so that all
//            rows of a thread begin alike
//   EXACT    1 where whole tiles have neither more packs than rows nor fewer rows at the end of dim; else 0
//   WIDE, HIGH  packs side by side and rows at once, where the compiler is to know them; else 0
//   labels   of a block, blockDim.x * IN_PACK: where the columns are that a thread has in all its packs
#pragma once
#include "softmax_family/axis_packs.cuh"

#ifndef WIDE
#define WIDE 0
#define HIGH 0
#endif

__device__ __forceinline__ int wide() { return WIDE > 0 ? WIDE : static_cast<int>(blockDim.x); }
__device__ __forceinline__ int high() { return HIGH > 0 ? HIGH : static_cast<int>(blockDim.y); }

struct AxisView {
  long long outer;
  int dim;
  long long inner;
  int width;   // columns of a tile: inner, or of a strip
  int strips;  // of inner
  int rows;    // of a part
  int parts;   // of dim
};

struct TilePlace {
  long long slab;
  int strip, part;
};

template <typename T>
__device__ __forceinline__ int phase_of(const T* place) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(place) / sizeof(T) % IN_PACK<T>);
}

// A thread's packs of a tile. Elements [begin_of(k), end_of(k)) of pack k belong to the tile.
template <int Form>
struct Share {
  long long first, stride;  // element of the array that pack 0 begins with, and to the next pack
  int at, step, limit;      // row of pack 0, or its first element in a contiguous tile; to the next pack; of the tile
  int begin, end;           // where packs are below each other
  int label;                // column of the tile that a pack begins with
  long long size;           // of the array: packs beyond it are not read whole

  __device__ __forceinline__ int begin_of(int k) const { return Form == RAGGED ? -(at + k * step) : begin; }
  __device__ __forceinline__ int end_of(int k) const {
    return Form == RAGGED ? limit - (at + k * step) : at + k * step < limit ? end : 0;
  }
};

// Element of the array that a tile begins with.
__device__ __forceinline__ long long start_of(const AxisView& view, TilePlace place) {
  const long long row = place.slab * view.dim + static_cast<long long>(place.part) * view.rows;
  return row * view.inner + static_cast<long long>(place.strip) * view.width;
}

// Whether tiles are whole packs although rows are not: then they are taken to begin with one.
template <typename T>
__device__ __forceinline__ bool are_even(const AxisView& view) {
  return view.dim * view.inner % IN_PACK<T> == 0 && view.rows * view.inner % IN_PACK<T> == 0;
}

// Elements of the tile's first pack before the tile.
template <int Form, typename T>
__device__ __forceinline__ int phase_of_tile(const T* x, const AxisView& view, TilePlace place) {
  return Form == WHOLE || (Form == RAGGED && are_even<T>(view)) ? 0 : phase_of(x + start_of(view, place));
}

template <int Form, typename T>
__device__ __forceinline__ Share<Form> share_of(const T* x, const AxisView& view, TilePlace place) {
  constexpr int V = IN_PACK<T>;
  int x_thread = threadIdx.x, y_thread = threadIdx.y;
  const int segment = wide(), rows_at_once = high();
  asm volatile("" : "+r"(x_thread), "+r"(y_thread));  // found again by a second call, not kept
  const long long left = place.slab < view.outer ? view.dim - static_cast<long long>(place.part) * view.rows : 0;
  const int rows = static_cast<int>(max(0ll, min(left, static_cast<long long>(view.rows))));
  const long long start = start_of(view, place);
  Share<Form> share;
  share.size = view.outer * view.dim * view.inner;
  if constexpr (Form == RAGGED) {
    const int slot = (y_thread * segment + x_thread) * V, phase = phase_of_tile<Form>(x, view, place);
    share.at = slot - phase, share.step = segment * rows_at_once * V, share.limit = rows * view.width;
    share.first = start + share.at, share.stride = share.step;
    share.label = static_cast<int>(static_cast<unsigned>(slot + V * view.width - phase) % static_cast<unsigned>(view.width));
    share.begin = share.end = 0;
  } else {
    const long long row = start + y_thread * view.inner;
    const long long left_columns = view.inner - static_cast<long long>(place.strip) * view.width;
    share.label = x_thread * V - (Form == SHIFTED ? phase_of(x + row) : 0);
    share.first = row + share.label, share.stride = rows_at_once * view.inner;
    share.at = y_thread, share.step = rows_at_once, share.limit = rows;
    share.begin = -share.label;
    share.end = static_cast<int>(min(static_cast<long long>(view.width), left_columns)) - share.label;
  }
  return share;
}

// Whether packs of the block are whole, or beyond its rows altogether: then no single one is asked more. `phase`: of the array.
template <int Form, typename T>
__device__ __forceinline__ bool is_even(const AxisView& view, TilePlace place, int phase) {
  const bool columns = (place.strip + 1ll) * view.width <= view.inner;
  if constexpr (Form == WHOLE && !EXACT) return columns && phase == 0;
  if constexpr (Form == SHIFTED) return false;
  const bool slabs = place.slab - threadIdx.z + blockDim.z <= view.outer;
  if constexpr (Form == WHOLE) return slabs && columns && phase == 0;
  const bool rows = (place.part + 1ll) * view.rows <= view.dim;
  const int packs = high() * (PACKS + SLOTS) * wide();
  return slabs && rows && phase == 0 && are_even<T>(view) && view.rows * view.width == packs * IN_PACK<T>;
}

// Whether a block that is even has pack k.
template <int Form>
__device__ __forceinline__ bool has(const Share<Form>& share, int k) {
  return Form != WHOLE || EXACT || share.at + k * share.step < share.limit;
}

// Words of a thread, whose rows begin alike; with neighbours of the tile's elements, whose columns nobody asks for. What is
// before the array's first element is in the same word, and may be read; what is behind its last one may not.
template <typename T>
__device__ __forceinline__ void load_words(Pack (&held)[PACKS], const T* __restrict__ x, const Share<SHIFTED>& share) {
  constexpr int V = IN_PACK<T>;
  const unsigned fill = nothing<T>().x;
  int rows = share.begin < V && share.end > 0 ? share.limit : 0, cut = -1;  // row whose word reaches beyond the array
  const long long inner = share.stride / share.step;
  if (V > 1 && rows > 0 && share.first + (rows - 1 - share.at) * inner + V > share.size) cut = --rows;
  const T* from = x + share.first;
  int at = share.at;
#pragma unroll
  for (int k = 0; k < PACKS; ++k, at += share.step, from += share.stride)
    word_at(held[k], 0) = at < rows ? *reinterpret_cast<const unsigned*>(from) : fill;
  if (cut < 0) return;
  const Pack word = load_within(x + share.first + (cut - share.at) * inner, share.begin, share.end);
#pragma unroll
  for (int k = 0; k < PACKS; ++k)
    if (share.at + k * share.step == cut) held[k] = word;
}

template <typename T>
__device__ __forceinline__ void store_words(T* __restrict__ y, const Pack (&held)[PACKS], const Share<SHIFTED>& share) {
  constexpr int V = IN_PACK<T>;
  T* to = y + share.first;
  const bool one = share.begin <= 0 && share.end > 0, other = share.begin <= 1 && share.end > 1, packed = phase_of(to) == 0;
  const int whole = one && (V == 1 || other) ? share.limit : 0;  // rows before this; of the others:
  const int single = one != other ? share.limit : 0;             // one element
  int at = share.at;
  if (V == 1 || packed) {
#pragma unroll
    for (int k = 0; k < PACKS; ++k, at += share.step, to += share.stride) {
      if (at < whole) store_whole(reinterpret_cast<Pack*>(to), held[k]);
      if (V > 1 && at < single) store_element(to + other, held[k], other);
    }
  } else {
#pragma unroll
    for (int k = 0; k < PACKS; ++k, at += share.step, to += share.stride) {
      if (one && at < share.limit) store_element(to, held[k], 0);
      if (other && at < share.limit) store_element(to + 1, held[k], 1);
    }
  }
}

template <int Form, typename T>
__device__ __forceinline__ void load_tile(Pack (&held)[PACKS], const T* __restrict__ x, const Share<Form>& share, bool even) {
  constexpr int V = IN_PACK<T>;
  if constexpr (Form == SHIFTED) {
    load_words(held, x, share);
    return;
  }
  if (even) {
    const T* from = x + share.first;
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
      held[k] = has(share, k) ? load_whole(reinterpret_cast<const Pack*>(from + k * share.stride)) : filled(nothing<T>().x);
    return;
  }
  const bool packed = phase_of(x + share.first) == 0;  // of all packs, as their distances are whole packs
  long long first = share.first;
#pragma unroll
  for (int k = 0; k < PACKS; ++k, first += share.stride) {
    const int begin = share.begin_of(k), end = share.end_of(k);
    const bool inside = Form == WHOLE || (first >= 0 && first + V <= share.size);
    if (end <= 0 || begin >= V) held[k] = filled(nothing<T>().x);
    else if (packed && inside && (Form != WHOLE || (begin <= 0 && end >= V)))
      held[k] = load_whole(reinterpret_cast<const Pack*>(x + first));
    else held[k] = load_within(x + first, begin, end);
  }
  // Of packs that were read beyond the tile; not before all of them are under way.
#pragma unroll
  for (int k = 0; k < PACKS && Form == RAGGED; ++k) {
    const int begin = share.begin_of(k), end = share.end_of(k);
    if (begin > 0 || end < V) held[k] = only<T>(held[k], bits_of<T>(begin, end));
  }
}

template <int Form, typename T>
__device__ __forceinline__ void store_tile(T* __restrict__ y, const Pack (&held)[PACKS], const Share<Form>& share, bool even) {
  if constexpr (Form == SHIFTED) {
    store_words(y, held, share);
    return;
  }
  T* to = y + share.first;
  if (even) {
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
      if (has(share, k)) store_whole(reinterpret_cast<Pack*>(to + k * share.stride), held[k]);
    return;
  }
  const bool packed = phase_of(to) == 0;
#pragma unroll
  for (int k = 0; k < PACKS; ++k, to += share.stride) store_within(to, held[k], share.begin_of(k), share.end_of(k), packed);
}
