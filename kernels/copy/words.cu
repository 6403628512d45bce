// A copy of x to y by words of 4, 8 or 16 bytes, then the tail.
//   x       T [elements], of T's own alignment; read once
//   y       T [elements]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16
//   words   whole words of WORD / sizeof(T) elements, counted by the host
//   needs   elements >= 1
//   WORD    bytes of a load and of a store: 4, 8 or 16
//   BLOCK   threads of a block
//   launch  grid at most 32 waves of resident blocks, block BLOCK; no shared memory
//   moves   D in, D out
//   Arrays that do not both begin at a multiple of a word are copied element by element.
//   Origin: copies by int, int2 and int4 of J. Luitjens (NVIDIA); written here.
#include "common/elementwise.cuh"

static_assert(WORD == 4 || WORD == 8 || WORD == 16, "an access is of 4, 8 or 16 bytes");

template <typename T>
struct Same {
  static constexpr bool PAIRS = false;
  __device__ __forceinline__ T operator()(T x) const { return x; }
};

template <typename T>
__device__ __forceinline__ void copy_words(const T* x, T* y, long long words, long long elements) {
  map_packed<WORD / sizeof(T)>(Same<T>(), words, elements, y, x);
}

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void copy_words_f32(const float* x, float* y, long long words, long long elements) {
  copy_words(x, y, words, elements);
}

extern "C" __global__ BOUNDS void copy_words_f16(const __half* x, __half* y, long long words, long long elements) {
  copy_words(x, y, words, elements);
}

extern "C" __global__ BOUNDS void copy_words_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long words,
                                                  long long elements) {
  copy_words(x, y, words, elements);
}
