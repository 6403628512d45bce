// Layer norm along the last axis, of rows that are words of 8, 4 or 2 bytes, but not packs of 16: no word has to be masked,
// nor gamma and beta to be shifted, and they can be under way before x.
//   x            T [rows, columns], row-major; read once
//   gamma, beta  T [columns]; read once by each thread, before x
//   y            T [rows, columns]; must not overlap x; written once
//   T            float, __half, __nv_bfloat16; arithmetic in float
//   WORD         bytes of a word: one element or several. Unless all arrays begin at multiples, a warp takes each row by
//                elements, and reads x three times
//   THREADS      per row: a power of two from 2 to 32, or whole warps
//   WORDS        per thread and row, in registers; as many of gamma and of beta
//   ROWS         that a thread works on at once; 1 where a row has several warps
//   needs        columns are whole words; THREADS * WORDS words hold a row, and THREADS * (WORDS - 1) do not
//   launch       block BLOCK: a multiple of THREADS, or THREADS if these are several warps;
//                grid ceil(rows / (BLOCK / THREADS * ROWS)), no dynamic shared memory
//   moves        D in, D out
//   A row with an infinity or a NaN gives NaN.   Origin: written here.
#include "layer_norm/rows.cuh"
#include "softmax_family/row_words.cuh"

static_assert(BLOCK % 32 == 0 && BLOCK % THREADS == 0 && BLOCK <= 1024, "BLOCK must be whole warps, and whole rows");
static_assert(THREADS <= 32 || (BLOCK == THREADS && ROWS == 1), "a row of several warps has a block of its own");
static_assert(HINT == 0 || HINT == 1, "HINT: 0 none, 1 evict first");

// Loads that the compiler does not delay until the sums are known.
__device__ __forceinline__ void load_first(uint2& word, size_t from) {
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(word.x), "=r"(word.y) : "l"(from) : "memory");
}
__device__ __forceinline__ void load_first(unsigned& word, size_t from) {
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
}
__device__ __forceinline__ void load_first(unsigned short& word, size_t from) {
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(word) : "l"(from) : "memory");
}

template <typename T>
using Row = RowWords<WORD, THREADS, WORDS, T>;

// Calls use(value, i) for each element in the row; all: the last word lies in it.
template <typename T, typename Use>
__device__ __forceinline__ void each(const Row<T>& x, bool all, Use use) {
#pragma unroll
  for (int i = 0; i < Row<T>::Elements; ++i)
    if (i < Row<T>::Elements - Row<T>::N || all) use(x.element(i), i);
}

// The compiler then has nothing unpacked that it could keep; see again() of moments.cuh.
template <typename T>
__device__ __forceinline__ void stay_packed(Row<T>& x) {
#pragma unroll
  for (unsigned& word : x.held) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) word += blockIdx.z;
    else if constexpr (sizeof(T) == 2) asm volatile("" : "+r"(word));
  }
}

template <typename T>
__device__ __forceinline__ float sum_of(const Row<T>& x, bool all) {
  Sums sums;
  each<T>(x, all, [&](float value, int i) { sums.parts[i % 4] += value; });
  return sums.all();
}

template <typename T>
__device__ __forceinline__ float squares_of(Row<T>& x, bool all, float mean) {
  Sums sums;
  stay_packed<T>(x);
  each<T>(x, all, [&](float value, int i) { sums.parts[i % 4] = fmaf(value - mean, value - mean, sums.parts[i % 4]); });
  return sums.all();
}

// The norms of rows that lanes hold. Each step is for all rows, so that their latencies overlap.
template <typename T>
__device__ __forceinline__ void norms_of_lanes(RowNorm (&norms)[ROWS], Row<T> (&x)[ROWS], bool all, int columns,
                                               float eps) {
  float mean[ROWS], squares[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) mean[r] = sum_of(x[r], all);
#pragma unroll
  for (int r = 0; r < ROWS; ++r) mean[r] = divided(warp_all_reduce<SumOp, THREADS>(mean[r]), columns);
#pragma unroll
  for (int r = 0; r < ROWS; ++r) squares[r] = squares_of(x[r], all, mean[r]);
#pragma unroll
  for (int r = 0; r < ROWS; ++r)
    norms[r] = norm_of<T>(mean[r], warp_all_reduce<SumOp, THREADS>(squares[r]), columns, eps);
}

// The norm of a row that the warps of a block hold. Each has deviations from its own mean, so that one exchange suffices.
template <typename T>
__device__ __forceinline__ RowNorm norm_of_warps(Row<T>& x, bool all, int columns, float eps) {
  constexpr int Warps = THREADS / WARP_SIZE;
  const auto elements_of_part = [=](int part) { return elements_of<Warps, Row<T>::N>(part, columns, 0); };
  const int elements = elements_of_part(threadIdx.x / WARP_SIZE);
  const float mean = divided(warp_all_reduce<SumOp>(sum_of(x, all)), max(elements, 1));
  const Moments own{mean, warp_all_reduce<SumOp>(squares_of(x, all, mean))};
  const Moments* parts = exchange_parts<Warps, 1>(own, 0, nullptr);
  const Moments row = warp_all_join<LANES_FOR<Warps>>(parts, Warps, columns, elements_of_part);
  return norm_of<T>(row.mean, row.squares, columns, eps);
}

template <typename T>
__device__ __forceinline__ void store_row(T* y, Row<T>& x, Row<T>& gamma, Row<T>& beta, RowNorm norm, bool all) {
  stay_packed<T>(x), stay_packed<T>(gamma), stay_packed<T>(beta);
  x.template store<HINT>(y, all, [&](int i) {
    return fmaf(norm.template normal<T>(x.element(i)), gamma.element(i), beta.element(i));
  });
}

template <typename T>
__device__ __forceinline__ void layer_norm_words(const T* __restrict__ x, const Weights<T>& weights, T* __restrict__ y,
                                                 long long rows, int columns) {
  constexpr int Groups = BLOCK / THREADS;  // rows of a block at once, ROWS times
  // Never taken where a word is one element; but without this branch ptxas would delay loads of gamma until the sums are known.
  const auto address = [](const T* array) { return reinterpret_cast<unsigned long long>(array); };
  if ((address(x) | address(y) | address(weights.gamma) | address(weights.beta)) % WORD != 0)
    return layer_norm_by_elements(x, weights, y, rows, columns);

  // load
  const int column = static_cast<int>(threadIdx.x) % THREADS * Row<T>::N;
  const bool all = column + (WORDS - 1) * Row<T>::Step < columns;
  const long long first_row = static_cast<long long>(blockIdx.x) * (Groups * ROWS) + threadIdx.x / THREADS;
  Row<T> gamma, beta, held[ROWS];
  const auto load_weights = [&](Row<T>& row, const T* from) {
    row.each_word(column, columns, [&](unsigned* registers, int at) {
      Word<WORD> word;
      load_first(word, __cvta_generic_to_global(from + at));
      unpack(registers, word);
    });
  };
  load_weights(gamma, weights.gamma), load_weights(beta, weights.beta);
  __syncwarp();  // the compiler moves no load across it
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const T* row = x + min(first_row + r * Groups, rows - 1) * columns;  // the last in place of one beyond it
    held[r].each_word(column, columns, [&](unsigned* registers, int at) {
      const auto* place = reinterpret_cast<const Word<WORD>*>(row + at);
      unpack(registers, HINT == 1 ? __ldcs(place) : *place);
    });
  }

  // reduce
  RowNorm norms[ROWS];
  if constexpr (THREADS <= WARP_SIZE) norms_of_lanes(norms, held, all, columns, weights.eps);
  else norms[0] = norm_of_warps(held[0], all, columns, weights.eps);

  // compute and store
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const long long row = first_row + r * Groups;
    if (row < rows) store_row(y + row * columns + column, held[r], gamma, beta, norms[r], all);
  }
}

#define DEFINE(dtype, T)                                                                                            \
  extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) layer_norm_one_read_words_##dtype(                  \
      const T* x, const T* gamma, const T* beta, T* y, long long rows, int columns, float eps) {                    \
    layer_norm_words(x, {gamma, beta, eps}, y, rows, columns);                                                      \
  }

#if ITEM_BYTES == 4
DEFINE(f32, float)
#else
DEFINE(f16, __half)
DEFINE(bf16, __nv_bfloat16)
#endif
