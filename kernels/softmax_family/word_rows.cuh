// Softmax or log-softmax of rows that are words of 8, 4 or 2 bytes, but not packs of 16: no word lies in two rows, so that none
// has to be masked. Lanes of a warp hold a row.
//   x, y       T [rows, columns], row-major; must not overlap
//   Bytes      of a word: one element or several. Unless both arrays begin at multiples, a warp takes each row by elements, and
//              reads x three times
//   Lanes      neighbouring lanes per row, a power of two from 2 to 32
//   Words      per lane and row, in registers
//   Rows       that a lane works on at once
//   needs      columns are whole words; Lanes * Words words hold a row, and Lanes * (Words - 1) do not
//   launch     block Block, whole warps; grid ceil(rows / (Block / Lanes * Rows)), no shared memory
//   moves      each element is read once and written once
#pragma once
#include "softmax_family/algebra.cuh"
#include "softmax_family/row_packs.cuh"
#include "softmax_family/rows_by_elements.cuh"

template <int Bytes>
using Word = std::conditional_t<Bytes == 8, uint2, std::conditional_t<Bytes == 4, unsigned, unsigned short>>;

// The words of one row that a lane holds. They are Step elements apart; beyond the row they are -inf.
template <int Bytes, int Lanes, int Words, typename T>
struct RowWords {
  static constexpr int N = Bytes / sizeof(T), Step = Lanes * N, Elements = Words * N;
  static constexpr int Registers = Bytes == 8 ? 2 : 1;  // of a word; one of 2 bytes is the lower half of its register
  unsigned held[Words * Registers];

  __device__ __forceinline__ float element(int i) const {
    return Bytes == 2 ? element_at<T>(held + i, 0) : element_at<T>(held, i);
  }

  // `row`: the lane's first element; `left`: elements of the row from there on. In place of a word beyond the row it loads
  // the row's last, because with a branch the compiler would delay the loads that follow.
  template <int Hint>
  __device__ __forceinline__ void load(const T* row, int left) {
    const unsigned fill = nothing<T>().x;
#pragma unroll
    for (int k = 0; k < Words; ++k) {
      const auto* place = reinterpret_cast<const Word<Bytes>*>(row + (k < Words - 1 ? k * Step : min(k * Step, left - N)));
      const Word<Bytes> word = Hint == 1 ? __ldcs(place) : *place;
      if constexpr (Bytes == 8) held[2 * k] = word.x, held[2 * k + 1] = word.y;
      else held[k] = Bytes == 4 ? word : word | (fill & 0xffff0000u);
    }
    if ((Words - 1) * Step < left) return;
#pragma unroll
    for (int i = (Words - 1) * Registers; i < Words * Registers; ++i) held[i] = fill;
  }

  __device__ __forceinline__ float max() const {
    Peak<T> peak = least<T>();
#pragma unroll
    for (unsigned word : held) {
      if constexpr (sizeof(T) == 4) peak = larger<T>(peak, __uint_as_float(word));
      else peak = larger<T>(peak, word);
    }
    return largest_of<T>(peak);
  }

  // The sum of value(element, i) over all i, as four independent sums, so that additions overlap.
  template <typename Value>
  __device__ __forceinline__ float sum_of(Value value) {
    float sums[4] = {};
#pragma unroll
    for (int i = 0; i < Elements; ++i) sums[i % 4] += value(element(i), i);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  // Stores result(i) in place of each element of the row.
  template <int Hint, typename Result>
  __device__ __forceinline__ void store(T* row, int left, Result result) const {
#pragma unroll
    for (int k = 0; k < Words; ++k) {
      float results[N + 1] = {};  // a word of 2 bytes has one element, and word_of takes two
#pragma unroll
      for (int i = 0; i < N; ++i) results[i] = result(k * N + i);
      unsigned registers[Registers];
#pragma unroll
      for (int i = 0; i < Registers; ++i) {
        if constexpr (sizeof(T) == 4) registers[i] = __float_as_uint(results[i]);
        else registers[i] = word_of<T>(results[2 * i], results[2 * i + 1]);
      }
      if (k == Words - 1 && (Words - 1) * Step >= left) continue;
      Word<Bytes> word, *place = reinterpret_cast<Word<Bytes>*>(row + k * Step);
      if constexpr (Bytes == 8) word = make_uint2(registers[0], registers[1]);
      else word = static_cast<Word<Bytes>>(registers[0]);
      if constexpr (Hint == 1) __stcs(place, word);
      else *place = word;
    }
  }
};

// Each step is for all rows, so that their latencies overlap.
template <typename Form, int Bytes, int Lanes, int Words, int Rows, int Block, int Hint, typename T>
__device__ __forceinline__ void word_rows(const T* __restrict__ x, T* __restrict__ y, long long rows, int columns) {
  static_assert(Bytes == 8 || Bytes == 4 || (Bytes == 2 && sizeof(T) == 2), "words of 8 or 4 bytes, of half types 2 as well");
  static_assert(Lanes >= 2 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0, "lanes: a power of two from 2 to 32");
  static_assert(Block % WARP_SIZE == 0 && Block <= 1024, "a block is whole warps");
  const auto begin = reinterpret_cast<unsigned long long>(x), target = reinterpret_cast<unsigned long long>(y);
  if (Bytes > sizeof(T) && (begin | target) % Bytes != 0) return rows_by_elements<Form>(x, y, rows, columns);
  using Row = RowWords<Bytes, Lanes, Words, T>;
  constexpr int Groups = Block / Lanes;  // rows of a block at once, Rows times
  const int column = static_cast<int>(threadIdx.x) % Lanes * Row::N, left = columns - column;
  const long long first_row = static_cast<long long>(blockIdx.x) * (Groups * Rows) + threadIdx.x / Lanes;

  // load
  Row own[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r)  // the last row in place of one beyond it
    own[r].template load<Hint>(x + min(first_row + r * Groups, rows - 1) * columns + column, left);

  // reduce
  float max[Rows], sum[Rows], kept[Rows][Row::Elements];  // kept in place of the elements
#pragma unroll
  for (int r = 0; r < Rows; ++r) max[r] = own[r].max();
#pragma unroll
  for (int r = 0; r < Rows; ++r) max[r] = warp_all_reduce<MaxOp, Lanes>(max[r]);
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const Exponentials<T> exponentials(max[r]);
    sum[r] = own[r].sum_of([&](float value, int i) {
      const float exponent = exponentials.exponent(value), exponential = exponentials.of_exponent(exponent);
      kept[r][i] = Form::template kept<T>(value, exponent, exponential);
      return exponential;
    });
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) sum[r] = warp_all_reduce<SumOp, Lanes>(sum[r]);

  // compute and store
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const long long row = first_row + r * Groups;
    const Norm norm = Form::norm({max[r], sum[r]}, Exponentials<T>(max[r]));
    if (row < rows)
      own[r].template store<Hint>(y + row * columns + column, left,
                                  [&](int i) { return Form::template result<T>(kept[r][i], norm); });
  }
}
