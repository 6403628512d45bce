// Rows of a matrix in packs of 16 bytes, wherever the rows begin: loads, stores and the elements of packs.
//   T      float, __half, __nv_bfloat16
//   shift  elements of a row's first pack that lie before the row: 0 where the row begins at a multiple of 16 bytes
//   pack   begins with column pack * PER_PACK - shift of the row
#pragma once
#include <type_traits>

#include "common/convert.cuh"

template <typename T>
constexpr int PER_PACK = sizeof(uint4) / sizeof(T);

template <typename T>
__device__ __forceinline__ int shift_of(const T* row) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(row) % sizeof(uint4) / sizeof(T));
}

// Element i of consecutive words as float; i is known to the compiler once its loop is unrolled.
template <typename T>
__device__ __forceinline__ float element_at(const unsigned* words, int i) {
  if constexpr (sizeof(T) == 4) {
    return __uint_as_float(words[i]);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    const unsigned word = words[i / 2];  // a bfloat16 is the upper half of the float
    return __uint_as_float(i % 2 == 0 ? word << 16 : word & 0xffff0000u);
  } else {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(words[i / 2] >> i % 2 * 16)));
  }
}

template <typename T>
__device__ __forceinline__ float element_of(const uint4& pack, int i) {
  const unsigned words[4] = {pack.x, pack.y, pack.z, pack.w};
  return element_at<T>(words, i);
}

// The largest element of packs. It may be NaN; the next comparison with a number drops that. Half types are compared two per
// instruction, and converted to float once.
template <typename T>
using Peak = std::conditional_t<sizeof(T) == 4, float, unsigned>;

template <typename T>
__device__ __forceinline__ Peak<T> larger(Peak<T> a, Peak<T> b) {
  if constexpr (sizeof(T) == 4) {
    return fmaxf(a, b);
  } else {
    using Pair = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
    const Pair pair = __hmax2(reinterpret_cast<const Pair&>(a), reinterpret_cast<const Pair&>(b));
    return reinterpret_cast<const unsigned&>(pair);
  }
}

template <typename T>
__device__ __forceinline__ Peak<T> peak_of(const uint4& pack) {
  if constexpr (sizeof(T) == 4) {
    return fmaxf(fmaxf(element_of<T>(pack, 0), element_of<T>(pack, 1)),
                 fmaxf(element_of<T>(pack, 2), element_of<T>(pack, 3)));
  } else {
    return larger<T>(larger<T>(pack.x, pack.y), larger<T>(pack.z, pack.w));
  }
}

template <typename T>
__device__ __forceinline__ float largest_of(Peak<T> peak) {
  if constexpr (sizeof(T) == 4) return peak;
  else return fmaxf(element_of<T>(make_uint4(peak, 0, 0, 0), 0), element_of<T>(make_uint4(peak, 0, 0, 0), 1));
}

// Two neighbours, rounded to a half type, as one word.
template <typename T>
__device__ __forceinline__ unsigned word_of(float lower, float upper) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(lower, upper);
    return reinterpret_cast<const unsigned&>(pair);
  } else {
    const __half2 pair = __floats2half2_rn(lower, upper);
    return reinterpret_cast<const unsigned&>(pair);
  }
}

// A pack of PER_PACK values, rounded.
template <typename T>
__device__ __forceinline__ uint4 pack_of(const float* values) {
  if constexpr (sizeof(T) == 4) {
    return make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                      __float_as_uint(values[3]));
  } else {
    return make_uint4(word_of<T>(values[0], values[1]), word_of<T>(values[2], values[3]), word_of<T>(values[4], values[5]),
                      word_of<T>(values[6], values[7]));
  }
}

// Makes the compiler unpack a pack again at its next use: kept as floats meanwhile, halves would take twice the registers.
__device__ __forceinline__ void stay_packed(uint4& pack) {
  asm volatile("" : "+r"(pack.x), "+r"(pack.y), "+r"(pack.z), "+r"(pack.w));
}

// The same as element_of by other instructions, because the compiler would else keep what it unpacked before; see stay_packed.
template <typename T>
__device__ __forceinline__ float element_again_of(const uint4& pack, int i) {
  const unsigned words[4] = {pack.x, pack.y, pack.z, pack.w};
  unsigned bits = words[i / 2];
  if constexpr (sizeof(T) == 4) return __uint_as_float(words[i]);
  else if constexpr (std::is_same_v<T, __half>) {
    asm("prmt.b32 %0, %1, 0, 0x1032;" : "=r"(bits) : "r"(bits));  // halves exchanged
    return __half2float(__ushort_as_half(static_cast<unsigned short>(i % 2 == 0 ? bits >> 16 : bits)));
  } else {
    if (i % 2 == 0) asm("prmt.b32 %0, %1, 0, 0x1044;" : "=r"(bits) : "r"(bits));
    else asm("prmt.b32 %0, %1, 0, 0x3244;" : "=r"(bits) : "r"(bits));
    return __uint_as_float(bits);
  }
}

// A pack of -inf, which changes neither a maximum nor a sum of exponentials.
template <typename T>
__device__ __forceinline__ uint4 nothing() {
  const unsigned word = sizeof(T) == 4 ? 0xff800000u : std::is_same_v<T, __half> ? 0xfc00fc00u : 0xff80ff80u;
  return make_uint4(word, word, word, word);
}

template <typename T>
__device__ __forceinline__ Peak<T> least() {
  if constexpr (sizeof(T) == 4) return -CUDART_INF_F;
  else return nothing<T>().x;
}

// Hint: 0 none; 1 evict first, for data that is used once; 2 the same, and not kept in the L1.
template <int Hint>
__device__ __forceinline__ uint4 load_once(const void* place) {
  const uint4* pack = static_cast<const uint4*>(place);
  if constexpr (Hint == 1) return __ldcs(pack);
  if constexpr (Hint == 2) {
    uint4 held;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(held.x), "=r"(held.y), "=r"(held.z), "=r"(held.w)
                 : "l"(__cvta_generic_to_global(pack)));
    return held;
  }
  return *pack;
}

template <int Hint>
__device__ __forceinline__ void store_once(void* place, const uint4& held) {
  uint4* pack = static_cast<uint4*>(place);
  if constexpr (Hint != 0) __stcs(pack, held);
  else *pack = held;
}

// The same beside stores of parts of packs: there the compiler would split an ordinary store into four of 4 bytes, to share
// them with the stores of parts.
template <int Hint>
__device__ __forceinline__ void store_whole(void* place, const uint4& held) {
  if constexpr (Hint != 0) {
    store_once<Hint>(place, held);
  } else {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(place)), "r"(held.x),
                 "r"(held.y), "r"(held.z), "r"(held.w)
                 : "memory");
  }
}

// The bounds of a matrix. A pack may be read whole where it lies within the matrix, even beyond its row.
template <typename T>
struct Matrix {
  const T* first;
  const T* end;
  __device__ __forceinline__ bool holds(const T* place) const { return place >= first && place + PER_PACK<T> <= end; }
};

// Loads the part of a pack that lies in a row of `columns`, element by element: for packs that reach beyond the matrix.
template <typename T>
__device__ __forceinline__ uint4 load_part(const T* row, int column, int columns) {
  float values[PER_PACK<T>];
#pragma unroll
  for (int i = 0; i < PER_PACK<T>; ++i)
    values[i] = column + i >= 0 && column + i < columns ? to_float(row[column + i]) : -CUDART_INF_F;
  return pack_of<T>(values);
}

// The pack with -inf in place of its first `count` elements, and below of its last; none for a negative count.
template <typename T>
__device__ __forceinline__ uint4 without_first(const uint4& pack, int count) {
  const unsigned fill = nothing<T>().x;
  const auto word = [=](unsigned own, int at) {
    const unsigned keep = __funnelshift_lc(0u, ~0u, max(count * (8 * static_cast<int>(sizeof(T))) - 32 * at, 0));
    return (own & keep) | (fill & ~keep);
  };
  return make_uint4(word(pack.x, 0), word(pack.y, 1), word(pack.z, 2), word(pack.w, 3));
}

template <typename T>
__device__ __forceinline__ uint4 without_last(const uint4& pack, int count) {
  const unsigned fill = nothing<T>().x;
  const auto word = [=](unsigned own, int at) {
    const unsigned keep = __funnelshift_rc(~0u, 0u, max(count * (8 * static_cast<int>(sizeof(T))) - 32 * (3 - at), 0));
    return (own & keep) | (fill & ~keep);
  };
  return make_uint4(word(pack.x, 0), word(pack.y, 1), word(pack.z, 2), word(pack.w, 3));
}

__device__ __forceinline__ unsigned word_of_pack(const uint4& pack, int i) {
  const unsigned lower = i % 2 == 0 ? pack.x : pack.y, upper = i % 2 == 0 ? pack.z : pack.w;
  return i / 2 == 0 ? lower : upper;
}

// Stores the last `count` elements of a pack, 1 to PER_PACK - 1, with one store for each power of two in the count.
template <typename T>
__device__ __forceinline__ void store_last(T* place, const uint4& pack, int count) {
  unsigned* words = reinterpret_cast<unsigned*>(place);
  const int bytes = count * static_cast<int>(sizeof(T));
  if (sizeof(T) == 2 && (bytes & 2) != 0)
    reinterpret_cast<unsigned short*>(place)[PER_PACK<T> - count] =
        static_cast<unsigned short>(word_of_pack(pack, 3 - count / 2) >> 16);
  if ((bytes & 4) != 0) words[(bytes & 8) != 0 ? 1 : 3] = (bytes & 8) != 0 ? pack.y : pack.w;
  if ((bytes & 8) != 0) reinterpret_cast<uint2*>(words)[1] = make_uint2(pack.z, pack.w);
}

// Stores the first `count` elements of a pack likewise.
template <typename T>
__device__ __forceinline__ void store_first(T* place, const uint4& pack, int count) {
  unsigned* words = reinterpret_cast<unsigned*>(place);
  const int bytes = count * static_cast<int>(sizeof(T));
  if ((bytes & 8) != 0) reinterpret_cast<uint2*>(words)[0] = make_uint2(pack.x, pack.y);
  if ((bytes & 4) != 0) words[(bytes & 8) != 0 ? 2 : 0] = (bytes & 8) != 0 ? pack.z : pack.x;
  if (sizeof(T) == 2 && (bytes & 2) != 0)
    reinterpret_cast<unsigned short*>(place)[count - 1] = static_cast<unsigned short>(word_of_pack(pack, count / 2));
}

// A loaded pack with -inf in place of the elements outside the row.
template <typename T>
__device__ __forceinline__ uint4 masked(const uint4& pack, int column, int columns) {
  return without_last<T>(without_first<T>(pack, max(-column, 0)), max(column + PER_PACK<T> - columns, 0));
}

// Stores, one by one, the elements that lie in the row, of a pack that begins with its element `column`.
template <typename T>
__device__ __forceinline__ void store_elements(T* place, int column, int columns, const uint4& pack) {
#pragma unroll
  for (int i = 0; i < PER_PACK<T>; ++i)
    if (column + i >= 0 && column + i < columns) place[i] = from_float<T>(element_of<T>(pack, i));
}

// Stores the elements that lie in the row, of a pack that begins with its element `column`; `packed`: it is 16-byte aligned.
template <int Hint, bool Masked, typename T>
__device__ __forceinline__ void store_pack(T* row, int column, int columns, bool packed, const float* values) {
  const uint4 pack = pack_of<T>(values);
  const bool within = column < 0 && column + PER_PACK<T> > columns;  // a row shorter than a pack
  if (Masked && (!packed || within)) store_elements(row + column, column, columns, pack);
  else if (Masked && column < 0) store_last(row + column, pack, PER_PACK<T> + column);
  else if (Masked && column + PER_PACK<T> > columns) store_first(row + column, pack, columns - column);
  else if (Masked) store_whole<Hint>(row + column, pack);
  else store_once<Hint>(row + column, pack);
}

// Starts a copy of a pack of 4, 8 or 16 bytes into shared memory; await_copies waits for it. Both places are aligned to its
// size.
template <typename P>
__device__ __forceinline__ void copy_ahead(P* shared, const void* place) {
#if __CUDA_ARCH__ >= 800
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const auto from = __cvta_generic_to_global(place);
  if constexpr (sizeof(P) == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(sizeof(P)) : "memory");
#else
  *shared = *static_cast<const P*>(place);
#endif
}

__device__ __forceinline__ void await_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
