// One or two neighbouring elements moved by a single access of 2 to 8 bytes, as OneFlow's softmax loads and stores.
//   needs   PACK 1 or 2; the address a multiple of PACK elements
#pragma once
#include <cstring>

#include "common/convert.cuh"

// The unsigned integer of so many bytes. A pack is moved as one integer and taken apart by shifts: a
// vector or structure may end as two accesses when the compiler unrolls the loop round it.
template <int BYTES>
struct WordOf;
template <>
struct WordOf<2> { using type = unsigned short; };
template <>
struct WordOf<4> { using type = unsigned int; };
template <>
struct WordOf<8> { using type = unsigned long long; };

// The elements from `source` on, as float, times `scale`: the multiplication rides on the load.
template <int PACK, typename T>
__device__ __forceinline__ void load_scaled(const T* source, float scale, float* values) {
  static_assert(PACK == 1 || PACK == 2, "PACK must be 1 or 2");
  using Word = typename WordOf<PACK * sizeof(T)>::type;
  using Bits = typename WordOf<sizeof(T)>::type;
  const Word word = *reinterpret_cast<const Word*>(source);
#pragma unroll
  for (int i = 0; i < PACK; ++i) {
    const Bits bits = static_cast<Bits>(word >> (8 * sizeof(T) * i));
    T element;
    memcpy(&element, &bits, sizeof(T));
    values[i] = scale * to_float(element);
  }
}

template <int PACK, typename T>
__device__ __forceinline__ void store_rounded(const float* values, T* target) {
  static_assert(PACK == 1 || PACK == 2, "PACK must be 1 or 2");
  using Word = typename WordOf<PACK * sizeof(T)>::type;
  using Bits = typename WordOf<sizeof(T)>::type;
  Word word = 0;
#pragma unroll
  for (int i = 0; i < PACK; ++i) {
    const T element = from_float<T>(values[i]);
    Bits bits;
    memcpy(&bits, &element, sizeof(T));
    word |= static_cast<Word>(bits) << (8 * sizeof(T) * i);
  }
  *reinterpret_cast<Word*>(target) = word;
}
