// Packs, of which tiles along an axis that is not the last are made: 16 bytes each, or fewer where rows are no multiple of 16
// bytes. A pack of one half is kept in the lower half of a word.
//   Tile   the constants of a launch; one_read_axis_entries.cuh makes them from the defines of the plan. Used here: Layout;
//          PackBytes: 16, 8, 4 or 2; and Loads and Stores, the hints of row_packs.cuh for packs of 16 bytes
#pragma once
#include "softmax_family/row_packs.cuh"

enum Layout { WHOLE = 0, RAGGED = 1, SHIFTED = 2 };

template <typename Tile>
using Pack = std::conditional_t<Tile::PackBytes == 16, uint4,
                                std::conditional_t<Tile::PackBytes == 8, uint2, unsigned>>;

template <typename Tile, typename T>
constexpr int IN_PACK = Tile::PackBytes / sizeof(T);
template <typename Tile>
constexpr int PACK_WORDS = sizeof(Pack<Tile>) / sizeof(unsigned);  // registers of a pack

__device__ __forceinline__ unsigned& word_at(unsigned& pack, int) { return pack; }
__device__ __forceinline__ unsigned& word_at(uint2& pack, int i) { return i == 0 ? pack.x : pack.y; }
__device__ __forceinline__ unsigned& word_at(uint4& pack, int i) {
  return i == 0 ? pack.x : i == 1 ? pack.y : i == 2 ? pack.z : pack.w;
}

// A word from one float, or from two values of a half type.
template <typename T>
__device__ __forceinline__ unsigned word_from(const float* values) {
  if constexpr (sizeof(T) == 4) return __float_as_uint(values[0]);
  else return word_of<T>(values[0], values[1]);
}

template <typename T>
__device__ __forceinline__ float element_of(const unsigned& word, int i) {
  return element_at<T>(&word, i);
}

template <typename T>
__device__ __forceinline__ float element_of(const uint2& pack, int i) {
  const unsigned words[2] = {pack.x, pack.y};
  return element_at<T>(words, i);
}

__device__ __forceinline__ void stay_packed(unsigned& word) { asm volatile("" : "+r"(word)); }
__device__ __forceinline__ void stay_packed(uint2& pack) { asm volatile("" : "+r"(pack.x), "+r"(pack.y)); }

// A pack whose words are all `word`.
template <typename P>
__device__ __forceinline__ P filled(unsigned word) {
  if constexpr (sizeof(P) == 4) return word;
  else if constexpr (sizeof(P) == 8) return make_uint2(word, word);
  else return make_uint4(word, word, word, word);
}

// ---- Memory ----

template <typename Tile>
__device__ __forceinline__ Pack<Tile> load_pack(const void* place) {
  if constexpr (Tile::PackBytes == 16) return load_once<Tile::Loads>(place);
  else if constexpr (Tile::PackBytes == 2) return *static_cast<const unsigned short*>(place);
  else return *static_cast<const Pack<Tile>*>(place);
}

template <typename Tile>
__device__ __forceinline__ void store_pack(void* place, const Pack<Tile>& pack) {
  if constexpr (Tile::PackBytes == 16) store_whole<Tile::Stores>(place, pack);
  else if constexpr (Tile::PackBytes == 2) *static_cast<unsigned short*>(place) = static_cast<unsigned short>(pack);
  else *static_cast<Pack<Tile>*>(place) = pack;
}

// ---- Packs of which only elements [begin, end) belong to the tile ----

// A mask of the bits of these elements.
template <typename Tile, typename T>
__device__ __forceinline__ Pack<Tile> bits_of(int begin, int end) {
  constexpr int Bits = 8 * sizeof(T);
  Pack<Tile> bits;
#pragma unroll
  for (int i = 0; i < PACK_WORDS<Tile>; ++i)
    word_at(bits, i) = __funnelshift_lc(0u, ~0u, max(begin * Bits - 32 * i, 0)) &
                       __funnelshift_rc(~0u, 0u, max(32 * (i + 1) - end * Bits, 0));
  return bits;
}

// The pack with -inf in place of all elements outside of `bits`.
template <typename Tile, typename T>
__device__ __forceinline__ Pack<Tile> only(Pack<Tile> pack, Pack<Tile> bits) {
  const unsigned fill = nothing<T>().x;
#pragma unroll
  for (int i = 0; i < PACK_WORDS<Tile>; ++i)
    word_at(pack, i) = (word_at(pack, i) & word_at(bits, i)) | (fill & ~word_at(bits, i));
  return pack;
}

// Loads these elements one by one; the others are -inf. `place`: where element 0 of the pack is.
template <typename Tile, typename T>
__device__ __forceinline__ auto load_within(const T* place, int begin, int end) {
  constexpr int V = IN_PACK<Tile, T>;
  if constexpr (Tile::PackBytes == 16) {
    return load_part(place + begin, -begin, end - begin);
  } else {
    float values[V + 1] = {};  // a word is made of two halves
#pragma unroll
    for (int i = 0; i < V; ++i) values[i] = begin <= i && end > i ? to_float(place[i]) : -CUDART_INF_F;
    Pack<Tile> pack;
#pragma unroll
    for (int i = 0; i < PACK_WORDS<Tile>; ++i) word_at(pack, i) = word_from<T>(values + i * 4 / sizeof(T));
    return pack;
  }
}

// Stores element i of a pack, unchanged.
template <typename Tile, typename T>
__device__ __forceinline__ void store_element(T* place, Pack<Tile> pack, int i) {
  if constexpr (sizeof(T) == 4) *reinterpret_cast<unsigned*>(place) = word_at(pack, i);
  else *reinterpret_cast<unsigned short*>(place) = static_cast<unsigned short>(word_at(pack, i / 2) >> i % 2 * 16);
}

// Stores these elements. `place`: where element 0 of the pack is; `packed`: it is aligned for storing a whole pack.
template <typename Tile, typename T>
__device__ __forceinline__ void store_within(T* place, const Pack<Tile>& pack, int begin, int end, bool packed) {
  constexpr int V = IN_PACK<Tile, T>;
  if (packed && begin <= 0 && end >= V) {
    store_pack<Tile>(place, pack);
    return;
  }
  if (end <= 0 || begin >= V) return;
  if constexpr (Tile::PackBytes == 16) {
    if (packed && end >= V) return store_last(place, pack, V - begin);
    if (packed && begin <= 0) return store_first(place, pack, end);
  }
#pragma unroll
  for (int i = 0; i < V; ++i)
    if (i >= begin && i < end) store_element<Tile>(place + i, pack, i);
}
