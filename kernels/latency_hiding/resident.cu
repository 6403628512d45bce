// A copy of x to y by the warps of the grid; each warp waits for its loads before it issues more.
//   x       T [elements], of T's own alignment; read once
//   y       T [elements]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16
//   words   whole words of WORD / sizeof(T) elements, counted by the host
//   chain   dependent multiply-adds per element, >= 0
//   one, zero   1 and 0, passed at run time so that the compiler cannot leave the chain out
//   needs   elements >= 1
//   WORD    bytes of a load and of a store: 4 or 16
//   LOADS   loads per thread in flight
//   launch  a grid-stride loop: all blocks resident at once, one or two on each multiprocessor; no shared memory
//   moves   D in, D out.   -0 may come out as 0.
//   Arrays that do not both begin at a multiple of a word are copied element by element.
//   Origin: Little's law as in OneFlow's article on 100 days; written here.
#include "common/elementwise.cuh"

static_assert(WORD == 4 || WORD == 16, "a load is of 4 or 16 bytes");
static_assert(LOADS >= 1, "a thread has at least one load in flight");

struct Chain {
  int length;
  float one, zero;

  // The chains of all elements of a word side by side: they are equally long, and independent of each other.
  template <typename T, int Size>
  __device__ __forceinline__ Pack<T, Size> through(Pack<T, Size> word) const {
    constexpr int Steps = 32 / Size;  // unrolled, so that counting them costs little
    float values[Size];
#pragma unroll
    for (int j = 0; j < Size; ++j) values[j] = to_float(word.elements[j]);
#pragma unroll (Steps)
    for (int step = 0; step < length; ++step) {
#pragma unroll
      for (int j = 0; j < Size; ++j) values[j] = fmaf(values[j], one, zero);
    }
#pragma unroll
    for (int j = 0; j < Size; ++j) word.elements[j] = from_float<T>(values[j]);
    return word;
  }
};

template <typename T>
__device__ __forceinline__ void copy_resident(const T* x, T* y, long long words, long long elements, int chain,
                                              float one, float zero) {
  constexpr int Size = WORD / sizeof(T);  // elements of a word
  using Word = Pack<T, Size>;
  const Chain multiply_adds{chain, one, zero};
  const long long threads = global_threads();
  if (!are_aligned<WORD>(x, y)) words = 0;

#pragma unroll 1  // the next iteration must not load before the loads of this one have arrived
  for (long long i = global_thread(); i < words; i += LOADS * threads) {
    Word held[LOADS];
#pragma unroll
    for (int load = 0; load < LOADS; ++load)
      if (i + load * threads < words) held[load] = reinterpret_cast<const Word*>(x)[i + load * threads];
#pragma unroll
    for (int load = 0; load < LOADS; ++load)
      if (i + load * threads < words)
        reinterpret_cast<Word*>(y)[i + load * threads] = multiply_adds.through(held[load]);
  }
  for (long long i = words * Size + global_thread(); i < elements; i += threads)
    y[i] = multiply_adds.through(Pack<T, 1>{{x[i]}}).elements[0];
}

#define BOUNDS __launch_bounds__(1024)

extern "C" __global__ BOUNDS void latency_hiding_resident_f32(const float* x, float* y, long long words,
                                                              long long elements, int chain, float one, float zero) {
  copy_resident(x, y, words, elements, chain, one, zero);
}

extern "C" __global__ BOUNDS void latency_hiding_resident_f16(const __half* x, __half* y, long long words,
                                                              long long elements, int chain, float one, float zero) {
  copy_resident(x, y, words, elements, chain, one, zero);
}

extern "C" __global__ BOUNDS void latency_hiding_resident_bf16(const __nv_bfloat16* x, __nv_bfloat16* y,
                                                               long long words, long long elements, int chain,
                                                               float one, float zero) {
  copy_resident(x, y, words, elements, chain, one, zero);
}
