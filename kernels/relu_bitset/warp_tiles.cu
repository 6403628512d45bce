// Relu with a mask of one bit per element: a warp takes a tile of neighbouring packs and writes its words at once.
//   x        T [elements], of T's own alignment; read once
//   y        T [elements]: x where x > 0, else 0; must not overlap x; written once
//   mask     words [ceil(elements / 32)], a bit set where x > 0, the rest 0; written once
//   T        float, __half, __nv_bfloat16, in packs of 16 bytes
//   needs    elements >= 1
//   order    of bits: that of relu_grad/bits.cuh
//   BLOCK    threads of a block; PACKS: packs per thread in flight; HINT: see common/streamed.cuh
//   launch   grid ceil(elements / (BLOCK * PACKS * elements of a pack)), block BLOCK; no shared memory
//   moves    D in, D and one bit per element out
// A warp's words are one store of 16 bytes for each pack of float, of 32 for each of the others: whole sectors from two
// packs per thread on. Where x or y does not begin at a multiple of 16 bytes, and at the end, a warp votes on 32 elements
// at a time. A NaN gives 0 and no bit, -0 gives 0.   Origin: written here.
#include "common/streamed.cuh"

constexpr int WARP = 32;
constexpr unsigned ALL = 0xffffffffu;

// A warp's tile, whole: packs first + k * WARP + lane for k below PACKS.
template <typename T>
__device__ __forceinline__ void mask_packs(const T* __restrict__ x, T* __restrict__ y, unsigned* __restrict__ mask,
                                           long long first, int lane) {
  constexpr int Size = 16 / sizeof(T);    // elements, and so bits, of a pack
  constexpr int Sharing = WARP / Size;    // lanes whose bits make up a word
  constexpr int Words = PACKS * Size;     // of the tile, each held by one lane
  static_assert(Words <= WARP, "a lane writes one word of the tile");
  const Elements<T> source = {x};
  Pack<T, Size> held[PACKS];
#pragma unroll
  for (int k = 0; k < PACKS; ++k) held[k] = source.template pack<Size>(first + k * WARP + lane);

  unsigned own = 0;  // of lane k * Size + w: word w of packs k
#pragma unroll
  for (int k = 0; k < PACKS; ++k) {
    unsigned bits = 0;
#pragma unroll
    for (int j = 0; j < Size; ++j) {
      const bool positive = to_float(held[k].elements[j]) > 0.0f;
      held[k].elements[j] = positive ? held[k].elements[j] : from_float<T>(0.0f);
      bits |= static_cast<unsigned>(positive) << j;
    }
    store_once<HINT>(reinterpret_cast<Pack<T, Size>*>(y) + first + k * WARP + lane, held[k]);
    bits <<= lane % Sharing * Size;
#pragma unroll
    for (int offset = 1; offset < Sharing; offset *= 2) bits |= __shfl_xor_sync(ALL, bits, offset);
    const unsigned word = __shfl_sync(ALL, bits, lane % Size * Sharing);
    if (lane / Size == k) own = word;
  }
  if (lane < Words) mask[first * Size / WARP + lane] = own;
}

// Elements [first, end) of a warp's tile, 32 of them per vote. `first` is a multiple of 32.
template <typename T>
__device__ __forceinline__ void mask_votes(const T* __restrict__ x, T* __restrict__ y, unsigned* __restrict__ mask,
                                           long long first, long long end, int lane) {
#pragma unroll 4
  for (long long i = first; i < end; i += WARP) {
    const bool there = i + lane < end;
    const T value = there ? __ldg(x + i + lane) : from_float<T>(0.0f);
    const bool positive = to_float(value) > 0.0f;
    if (there) y[i + lane] = positive ? value : from_float<T>(0.0f);
    const unsigned word = __ballot_sync(ALL, positive);
    if (lane == 0) mask[i / WARP] = word;
  }
}

template <typename T>
__device__ __forceinline__ void relu_bitset_warp_tiles(const T* __restrict__ x, T* __restrict__ y,
                                                       unsigned* __restrict__ mask, long long elements) {
  constexpr int Size = 16 / sizeof(T), Tile = WARP * PACKS * Size;
  const int lane = threadIdx.x % WARP;                                 // ranges [0, 32)
  const long long first = (global_thread() - lane) * (PACKS * Size);  // of this warp
  if (are_aligned<16>(x, y) && first + Tile <= elements) {
    mask_packs(x, y, mask, first / Size, lane);
  } else {
    mask_votes(x, y, mask, first, min(first + Tile, elements), lane);
  }
}

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void relu_bitset_warp_tiles_f32(const float* x, float* y, unsigned* mask,
                                                             long long elements) {
  relu_bitset_warp_tiles(x, y, mask, elements);
}

extern "C" __global__ BOUNDS void relu_bitset_warp_tiles_f16(const __half* x, __half* y, unsigned* mask,
                                                             long long elements) {
  relu_bitset_warp_tiles(x, y, mask, elements);
}

extern "C" __global__ BOUNDS void relu_bitset_warp_tiles_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, unsigned* mask,
                                                              long long elements) {
  relu_bitset_warp_tiles(x, y, mask, elements);
}
