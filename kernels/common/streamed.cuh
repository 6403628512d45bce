// Applies a function to one element of each source, over whole arrays, one tile per block: at the speed of memory.
//   Function   as in elementwise.cuh; its arguments come from sources in place of arrays
//   sources    `pack<Size>(i)` gives elements [i * Size, (i + 1) * Size) by one access, `single(i)` one element;
//              `aligned<Size>()` whether the former may be asked for. None may overlap the result
//   BLOCK      threads of a block; PACKS: packs per thread in flight; HINT: see below
//   launch     grid ceil(elements / (BLOCK * PACKS * Size)), at least 1; block BLOCK; no shared memory
// A block moves one tile and ends, so that a multiprocessor takes the next tile as soon as it is free. Results are computed
// for all packs before the first is stored, so that all loads are under way at once. Where an array does not begin at a
// multiple of a pack, a block goes through its tile element by element, with four in flight. Offsets are 64-bit: arrays may
// have more than 2^31 elements.
#pragma once
#include "common/elementwise.cuh"

// Hints for loads and stores of data that is used once.
constexpr int PLAIN = 0;        // no hint
constexpr int STREAM = 1;       // loads and stores leave the caches first
constexpr int NO_ALLOCATE = 2;  // loads are not kept in the L1
constexpr int STREAM_STORES = 3;

template <int Bytes>
struct WordOf;
template <>
struct WordOf<1> { using Type = unsigned char; };
template <>
struct WordOf<2> { using Type = unsigned short; };
template <>
struct WordOf<4> { using Type = unsigned; };
template <>
struct WordOf<8> { using Type = uint2; };
template <>
struct WordOf<16> { using Type = uint4; };

// One access of a whole pack, aligned to its size. Nobody writes meanwhile what it reads.
template <int Hint, typename Packed>
__device__ __forceinline__ Packed load_once(const Packed* place) {
  using Word = typename WordOf<sizeof(Packed)>::Type;
  const Word* words = reinterpret_cast<const Word*>(place);
  Word word;
  if constexpr (Hint == STREAM) {
    word = __ldcs(words);
  } else if constexpr (Hint == NO_ALLOCATE && sizeof(Packed) == 16) {
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
        : "l"(words));
  } else {
    word = __ldg(words);
  }
  return *reinterpret_cast<const Packed*>(&word);
}

template <int Hint, typename Packed>
__device__ __forceinline__ void store_once(Packed* place, const Packed& packed) {
  using Word = typename WordOf<sizeof(Packed)>::Type;
  const Word word = *reinterpret_cast<const Word*>(&packed);
  if constexpr (Hint == STREAM || Hint == STREAM_STORES) {
    __stcs(reinterpret_cast<Word*>(place), word);
  } else {
    *reinterpret_cast<Word*>(place) = word;
  }
}

// A source that reads an array.
template <typename T>
struct Elements {
  const T* array;

  template <int Size>
  __device__ __forceinline__ bool aligned() const { return are_aligned<Size * sizeof(T)>(array); }
  template <int Size>
  __device__ __forceinline__ Pack<T, Size> pack(long long i) const {
    return load_once<HINT>(reinterpret_cast<const Pack<T, Size>*>(array) + i);
  }
  __device__ __forceinline__ T single(long long i) const { return __ldg(array + i); }
};
template <typename T>
Elements(const T*) -> Elements<T>;

// result[i] for i of [first, end), by the threads of one block.
template <typename Function, typename Result, typename... Sources>
__device__ __forceinline__ void stream_singly(Function function, long long first, long long end,
                                              Result* __restrict__ result, const Sources... sources) {
  constexpr int Together = 4;
  // Neither loop is unrolled further: else this path would take registers, and so resident blocks, from that of packs.
  long long i = first + threadIdx.x;
#pragma unroll 1
  for (; i + (Together - 1) * BLOCK < end; i += Together * BLOCK) {
    Result held[Together];
#pragma unroll
    for (int k = 0; k < Together; ++k) held[k] = function(sources.single(i + k * BLOCK)...);
#pragma unroll
    for (int k = 0; k < Together; ++k) result[i + k * BLOCK] = held[k];
  }
#pragma unroll 1
  for (; i < end; i += BLOCK) result[i] = function(sources.single(i)...);
}

// All of [0, elements).
template <int Size, typename Function, typename Result, typename... Sources>
__device__ __forceinline__ void map_streamed(Function function, long long elements, Result* __restrict__ result,
                                             const Sources... sources) {
  constexpr int Tile = BLOCK * PACKS;                                    // packs
  const long long first = static_cast<long long>(blockIdx.x) * Tile;     // pack of this block
  const long long end = min(first * Size + Tile * Size, elements);       // element
  if (!are_aligned<Size * sizeof(Result)>(result) || !(sources.template aligned<Size>() && ...)) {
    stream_singly(function, first * Size, end, result, sources...);
    return;
  }
  using Packed = Pack<Result, Size>;
  Packed* packs = reinterpret_cast<Packed*>(result) + first + threadIdx.x;
  if (end - first * Size == Tile * Size) {
    Packed held[PACKS];
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
      held[k] = apply_pack<Size, Result>(function, sources.template pack<Size>(first + threadIdx.x + k * BLOCK)...);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) store_once<HINT>(packs + k * BLOCK, held[k]);
  } else {  // the last tile: whole packs, then the elements that are left
    const int whole = static_cast<int>((end - first * Size) / Size);  // ranges [0, Tile)
#pragma unroll 1
    for (int i = threadIdx.x; i < whole; i += BLOCK)
      store_once<HINT>(packs + i - threadIdx.x,
                       apply_pack<Size, Result>(function, sources.template pack<Size>(first + i)...));
    stream_singly(function, (first + whole) * Size, end, result, sources...);
  }
}
