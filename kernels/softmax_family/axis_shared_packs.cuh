// Packs of a tile that are held in shared memory because registers do not hold them. A thread reads back only its own.
//   Tile   SharedPacks: packs per thread, in the rows of the tile below its Packs
#pragma once
#include "softmax_family/axis_tiles.cuh"

template <typename Tile>
struct SharedPacks {
  Pack<Tile>* first;
  int stride;  // to the thread's next pack
  __device__ __forceinline__ Pack<Tile>& operator[](int k) const { return first[k * stride]; }
};

template <typename Tile>
__device__ __forceinline__ SharedPacks<Tile> own_shared_packs() {
  extern __shared__ uint4 shared_packs[];
  return {reinterpret_cast<Pack<Tile>*>(shared_packs + 1) + threadIdx.y * Tile::Wide + threadIdx.x, Tile::Wide * Tile::High};
}

// The share of a thread that begins below its packs in registers.
template <typename Tile>
__device__ __forceinline__ Share<Tile> below_registers(Share<Tile> share) {
  share.first += Tile::Packs * share.stride;
  share.at += Tile::Packs * share.step;
  return share;
}

// Starts the copies; await_shared_packs waits for them.
template <typename Tile, typename T>
__device__ __forceinline__ void load_shared_packs(const SharedPacks<Tile>& packs, const T* __restrict__ x,
                                                  const Share<Tile>& share, bool even) {
  constexpr int V = IN_PACK<Tile, T>;
  if constexpr (Tile::Layout == SHIFTED) {
    const ShiftedRows rows = shifted_rows<Tile, T>(share);
    const T* from = x + share.first;
    int at = share.at;
#pragma unroll 4
    for (int k = 0; k < Tile::SharedPacks; ++k, at += share.step, from += share.stride) {
      if (at < rows.whole) copy_ahead(&packs[k], from);
      else packs[k] = at == rows.cut ? pack_of_cut<Tile>(x, share, rows.cut) : filled<Pack<Tile>>(nothing<T>().x);
    }
    return;
  }
  if (even) {
    const T* from = x + share.first;
#pragma unroll
    for (int k = 0; k < Tile::SharedPacks; ++k, from += share.stride) {
      if (has(share, k)) copy_ahead(&packs[k], from);
      else packs[k] = filled<Pack<Tile>>(nothing<T>().x);
    }
    return;
  }
  const bool packed = phase_of<Tile>(x + share.first) == 0;  // for all packs: they are whole packs apart
  long long first = share.first;
#pragma unroll 2
  for (int k = 0; k < Tile::SharedPacks; ++k, first += share.stride) {
    const int begin = share.begin_of(k), end = share.end_of(k);
    const bool inside = Tile::Layout == WHOLE || (first >= 0 && first + V <= share.size);
    if (end <= 0 || begin >= V) packs[k] = filled<Pack<Tile>>(nothing<T>().x);
    else if (packed && inside && (Tile::Layout != WHOLE || (begin <= 0 && end >= V))) copy_ahead(&packs[k], x + first);
    else packs[k] = load_within<Tile>(x + first, begin, end);
  }
}

template <typename Tile, typename T>
__device__ __forceinline__ void await_shared_packs(const SharedPacks<Tile>& packs, const Share<Tile>& share, bool even) {
  await_copies();
  if constexpr (Tile::Layout == RAGGED) {
#pragma unroll 1
    for (int k = 0; k < Tile::SharedPacks && !even; ++k) {  // masks what was read beyond the tile
      const int begin = share.begin_of(k), end = share.end_of(k);
      if (begin > 0 || end < IN_PACK<Tile, T>) packs[k] = only<Tile, T>(packs[k], bits_of<Tile, T>(begin, end));
    }
  }
}

// Stores result_of(element, i) for element i of each pack.
template <typename Tile, typename T, typename ResultOf>
__device__ __forceinline__ void store_shared_packs(T* __restrict__ y, const SharedPacks<Tile>& packs,
                                                   const Share<Tile>& share, bool even, ResultOf result_of) {
  constexpr int V = IN_PACK<Tile, T>;
  const auto results_of = [&](int k) {
    Pack<Tile> pack = packs[k];
    float results[V];
#pragma unroll
    for (int i = 0; i < V; ++i) results[i] = result_of(element_of<T>(pack, i), i);
#pragma unroll
    for (int i = 0; i < PACK_WORDS<Tile>; ++i) word_at(pack, i) = word_from<T>(results + i * 4 / sizeof(T));
    return pack;
  };
  if constexpr (Tile::Layout == SHIFTED) {
    store_shifted<Tile, Tile::SharedPacks, 4>(y, share, results_of);
    return;
  }
  T* to = y + share.first;
  const bool packed = phase_of<Tile>(to) == 0;
#pragma unroll 2
  for (int k = 0; k < Tile::SharedPacks; ++k, to += share.stride) {
    const Pack<Tile> pack = results_of(k);
    if (even && has(share, k)) store_pack<Tile>(to, pack);
    else if (!even) store_within<Tile>(to, pack, share.begin_of(k), share.end_of(k), packed);
  }
}
