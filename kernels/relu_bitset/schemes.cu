// Relu with a mask of one bit per element, by four schemes: who makes which bits, and how they are written.
//   x        T [elements]; each element read once
//   y        T [elements]: x where x > 0, else 0; must not overlap x; written once
//   mask     words [ceil(elements / 32)], a bit set where x > 0, the rest 0; written once
//   T        float, __half, __nv_bfloat16
//   needs    elements >= 1
//   SCHEME   Consecutive, Strided, Ballot, BallotWords: a struct below
//   BLOCK    threads of a block: 256
//   launch   grid at most 32 waves of resident blocks, block BLOCK; no shared memory
//   moves    D in, D and one bit per element out
//   order    of bits: that of relu_grad/bits.cuh, but for Strided, which tells its own
//   A NaN gives 0 and no bit, -0 gives 0.   Origin: OneFlow's article on performance; written here.
#include "common/elementwise.cuh"

static_assert(BLOCK == 256, "a tile of Strided has 256 bytes of mask");

constexpr int WARP = 32;
constexpr unsigned ALL = 0xffffffffu;
constexpr int WORDS_A_WARP = 8;  // 32 bytes, one sector

// Writes relu of element i, and gives its bit.
template <typename T>
__device__ __forceinline__ bool relu_of(const T* __restrict__ x, T* __restrict__ y, long long i) {
  const T value = x[i];
  const bool positive = to_float(value) > 0.0f;
  y[i] = positive ? value : from_float<T>(0.0f);
  return positive;
}

// One byte of mask from 8 elements `step` apart, of which those before `end` are there.
template <typename T>
__device__ __forceinline__ unsigned char byte_of(const T* __restrict__ x, T* __restrict__ y, long long first,
                                                 long long step, long long end) {
  unsigned bits = 0;
  if (first + 7 * step < end) {
    T held[8];  // all loads are under way before the first store waits for one
#pragma unroll
    for (int k = 0; k < 8; ++k) held[k] = x[first + k * step];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const bool positive = to_float(held[k]) > 0.0f;
      y[first + k * step] = positive ? held[k] : from_float<T>(0.0f);
      bits |= static_cast<unsigned>(positive) << k;
    }
  } else {
    for (int k = 0; k < 8; ++k)
      if (first + k * step < end) bits |= static_cast<unsigned>(relu_of(x, y, first + k * step)) << k;
  }
  return static_cast<unsigned char>(bits);
}

// A thread takes 8 consecutive elements and writes their byte: neighbours read 8 elements apart.
struct Consecutive {
  template <typename T>
  static __device__ __forceinline__ void apply(const T* __restrict__ x, T* __restrict__ y, unsigned* mask,
                                               long long elements) {
    unsigned char* bytes = reinterpret_cast<unsigned char*>(mask);
    const long long count = (elements + WARP - 1) / WARP * 4;  // bytes of whole words
    for (long long i = global_thread(); i < count; i += global_threads()) bytes[i] = byte_of(x, y, 8 * i, 1, elements);
  }
};

// Neighbouring threads take neighbouring elements and write neighbouring bytes, 8 elements per thread.
//   order   of r elements of a tile, 2048 in all but the last, and s = ceil(r / 8): element k * s + t of the tile is
//           bit k of its byte t. Who reads the mask must know that.
struct Strided {
  template <typename T>
  static __device__ __forceinline__ void apply(const T* __restrict__ x, T* __restrict__ y, unsigned* mask,
                                               long long elements) {
    constexpr int Tile = 8 * BLOCK;
    unsigned char* bytes = reinterpret_cast<unsigned char*>(mask);
    const long long count = (elements + WARP - 1) / WARP * 4;  // bytes of whole words
    for (long long i = global_thread(); i < count; i += global_threads()) {
      const long long tile = i / BLOCK * Tile;  // its first element; BLOCK threads of a block share it
      const long long end = min(tile + Tile, elements);
      const int step = static_cast<int>((end - tile + 7) / 8);
      const int t = static_cast<int>(i % BLOCK);  // ranges [0, 256); from `step` on only fills up the last word
      bytes[i] = t < step ? byte_of(x, y, tile + t, step, end) : 0;
    }
  }
};

// A warp takes 32 elements, votes, and one lane writes the word: 4 bytes of a sector of 32.
struct Ballot {
  template <typename T>
  static __device__ __forceinline__ void apply(const T* __restrict__ x, T* __restrict__ y, unsigned* mask,
                                               long long elements) {
    const int lane = threadIdx.x % WARP;  // ranges [0, 32)
    // Lanes stay together, beyond the last element as well: all of them vote.
    for (long long first = global_thread() - lane; first < elements; first += global_threads()) {
      const bool positive = first + lane < elements && relu_of(x, y, first + lane);
      const unsigned word = __ballot_sync(ALL, positive);
      if (lane == 0) mask[first / WARP] = word;
    }
  }
};

// A warp takes 8 times 32 elements, and 8 lanes write a word each: a sector, whole.
struct BallotWords {
  template <typename T>
  static __device__ __forceinline__ void apply(const T* __restrict__ x, T* __restrict__ y, unsigned* mask,
                                               long long elements) {
    const int lane = threadIdx.x % WARP;  // ranges [0, 32)
    const long long words = (elements + WARP - 1) / WARP;
    for (long long start = (global_thread() - lane) * WORDS_A_WARP; start < elements;
         start += global_threads() * WORDS_A_WARP) {
      unsigned own = 0;  // of lane k, below 8: the word of elements [32 k, 32 k + 32)
      if (start + WORDS_A_WARP * WARP <= elements) {
        T held[WORDS_A_WARP];  // all loads are under way before the first store waits for one
#pragma unroll
        for (int k = 0; k < WORDS_A_WARP; ++k) held[k] = x[start + k * WARP + lane];
#pragma unroll
        for (int k = 0; k < WORDS_A_WARP; ++k) {
          const bool positive = to_float(held[k]) > 0.0f;
          y[start + k * WARP + lane] = positive ? held[k] : from_float<T>(0.0f);
          const unsigned word = __ballot_sync(ALL, positive);
          if (lane == k) own = word;
        }
      } else {
        for (int k = 0; k < WORDS_A_WARP; ++k) {
          const long long i = start + k * WARP + lane;
          const unsigned word = __ballot_sync(ALL, i < elements && relu_of(x, y, i));
          if (lane == k) own = word;
        }
      }
      if (lane < WORDS_A_WARP && start / WARP + lane < words) mask[start / WARP + lane] = own;
    }
  }
};

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void relu_bitset_schemes_f32(const float* x, float* y, unsigned* mask,
                                                          long long elements) {
  SCHEME::apply(x, y, mask, elements);
}

extern "C" __global__ BOUNDS void relu_bitset_schemes_f16(const __half* x, __half* y, unsigned* mask,
                                                          long long elements) {
  SCHEME::apply(x, y, mask, elements);
}

extern "C" __global__ BOUNDS void relu_bitset_schemes_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, unsigned* mask,
                                                           long long elements) {
  SCHEME::apply(x, y, mask, elements);
}
