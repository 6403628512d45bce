// A bias for each element, whatever its axis, one tile per block.
//   x       T [elements], seen as [outer, dim, inner], of T's own alignment; read once
//   bias    T [dim]; read for each pack, from the caches after the first time
//   y       T [elements]; must not overlap x or bias; written once
//   T       float, __half, __nv_bfloat16, in packs of 16 bytes; arithmetic in float
//   needs   elements >= 1, dim * inner < 2^31
//   WHICH   which elements of the bias a pack gets: a struct below
//   BLOCK   threads of a block; PACKS: packs per thread in flight; HINT: see common/streamed.cuh
//   launch  grid ceil(elements / (BLOCK * PACKS * elements of a pack)), block BLOCK; no shared memory
//   moves   D and the bias in, D out
//   Where an array does not begin at a multiple of 16 bytes, all elements are processed one by one.
//   Origin: written here.
#include "common/streamed.cuh"

// The place in the bias for each element. A block beyond the first 2^32 elements divides once in 64 bits, which costs four
// times as much as all else that it does; all other divisions have 32 bits.
struct Place {
  long long block_first;  // first element of this block
  unsigned within;        // place of that element in [dim, inner]
  unsigned slab;          // dim * inner
  unsigned inner;

  __device__ __forceinline__ Place(int tile, unsigned slab, unsigned inner)
      : block_first(static_cast<long long>(blockIdx.x) * tile),
        within(block_first >> 32 == 0 ? static_cast<unsigned>(block_first) % slab
                                      : static_cast<unsigned>(block_first % slab)),
        slab(slab),
        inner(inner) {}
  // The place of element i in [dim, inner]. Tiles have fewer than 2^31 elements, so the sum is below 2^32.
  __device__ __forceinline__ unsigned in_slab(long long i) const {
    const unsigned beyond = within + static_cast<unsigned>(i - block_first);
    return beyond < slab ? beyond : beyond % slab;
  }
};

// One element of the bias for each element of the pack, next to each other: inner is 1, and dim a multiple of a pack.
template <typename T>
struct Neighbours {
  const T* bias;
  Place place;

  template <int Size>
  __device__ __forceinline__ bool aligned() const { return are_aligned<Size * sizeof(T)>(bias); }
  template <int Size>
  __device__ __forceinline__ Pack<T, Size> pack(long long i) const {
    return load_once<PLAIN>(reinterpret_cast<const Pack<T, Size>*>(bias + place.in_slab(i * Size)));
  }
  __device__ __forceinline__ T single(long long i) const { return __ldg(bias + place.in_slab(i) / place.inner); }
};

// One element of the bias for the whole pack: inner is a multiple of a pack.
template <typename T>
struct Same : Neighbours<T> {
  template <int Size>
  __device__ __forceinline__ bool aligned() const { return true; }
  template <int Size>
  __device__ __forceinline__ Pack<T, Size> pack(long long i) const {
    const T one = this->single(i * Size);
    Pack<T, Size> each;
#pragma unroll
    for (int j = 0; j < Size; ++j) each.elements[j] = one;
    return each;
  }
};

// Any shape: counts on from the place of the pack's first element.
template <typename T>
struct Any : Neighbours<T> {
  template <int Size>
  __device__ __forceinline__ bool aligned() const { return true; }
  template <int Size>
  __device__ __forceinline__ Pack<T, Size> pack(long long i) const {
    const unsigned in_slab = this->place.in_slab(i * Size);
    unsigned number = in_slab / this->place.inner, over = in_slab - number * this->place.inner;
    const unsigned dim = this->place.slab / this->place.inner;
    Pack<T, Size> each;
#pragma unroll
    for (int j = 0; j < Size; ++j) {
      each.elements[j] = __ldg(this->bias + number);
      if (++over == this->place.inner) {
        over = 0;
        if (++number == dim) number = 0;
      }
    }
    return each;
  }
};

template <typename T>
struct Sum {
  static constexpr bool PAIRS = false;
  __device__ __forceinline__ T operator()(T x, T bias) const { return from_float<T>(to_float(x) + to_float(bias)); }
};

template <typename T>
__device__ __forceinline__ void bias_add_streamed(const T* x, const T* bias, T* y, long long elements, int slab,
                                                  int inner) {
  constexpr int Size = 16 / sizeof(T);  // elements of a pack
  const Neighbours<T> where = {bias, Place(BLOCK * PACKS * Size, slab, inner)};
  map_streamed<Size>(Sum<T>(), elements, y, Elements{x}, WHICH<T>{where});
}

#define BOUNDS __launch_bounds__(BLOCK, 2048 / BLOCK)  // as many threads as a multiprocessor runs

extern "C" __global__ BOUNDS void bias_add_streamed_f32(const float* x, const float* bias, float* y,
                                                        long long elements, int slab, int inner) {
  bias_add_streamed(x, bias, y, elements, slab, inner);
}

extern "C" __global__ BOUNDS void bias_add_streamed_f16(const __half* x, const __half* bias, __half* y,
                                                        long long elements, int slab, int inner) {
  bias_add_streamed(x, bias, y, elements, slab, inner);
}

extern "C" __global__ BOUNDS void bias_add_streamed_bf16(const __nv_bfloat16* x, const __nv_bfloat16* bias,
                                                         __nv_bfloat16* y, long long elements, int slab, int inner) {
  bias_add_streamed(x, bias, y, elements, slab, inner);
}
