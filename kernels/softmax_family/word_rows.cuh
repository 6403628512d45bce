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
#include "softmax_family/row_words.cuh"
#include "softmax_family/rows_by_elements.cuh"

// Loads the words from the lane's first element of the row on; `left`: elements of the row from there on. What lies beyond the
// row is -inf.
template <int Hint, int Bytes, int Lanes, int Words, typename T>
__device__ __forceinline__ void load_row(RowWords<Bytes, Lanes, Words, T>& own, const T* row, int left) {
  using Row = RowWords<Bytes, Lanes, Words, T>;
  const unsigned fill = nothing<T>().x;
  own.each_word(0, left, [&](unsigned* registers, int at) {
    const auto* place = reinterpret_cast<const Word<Bytes>*>(row + at);
    unpack(registers, Hint == 1 ? __ldcs(place) : *place);
    if (Bytes == 2) registers[0] |= fill & 0xffff0000u;
  });
  if ((Words - 1) * Row::Step < left) return;
#pragma unroll
  for (int i = (Words - 1) * Row::Registers; i < Words * Row::Registers; ++i) own.held[i] = fill;
}

template <int Bytes, int Lanes, int Words, typename T>
__device__ __forceinline__ float max_of(const RowWords<Bytes, Lanes, Words, T>& own) {
  Peak<T> peak = least<T>();
#pragma unroll
  for (unsigned word : own.held) {
    if constexpr (sizeof(T) == 4) peak = larger<T>(peak, __uint_as_float(word));
    else peak = larger<T>(peak, word);
  }
  return largest_of<T>(peak);
}

// Each step is for all rows, so that their latencies overlap.
template <typename Form, int Bytes, int Lanes, int Words, int Rows, int Block, int Hint, typename T>
__device__ __forceinline__ void word_rows(const T* __restrict__ x, T* __restrict__ y, long long rows, int columns) {
  static_assert(Lanes >= 2 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0, "lanes: a power of two from 2 to 32");
  static_assert(Block % WARP_SIZE == 0 && Block <= 1024, "a block is whole warps");
  static_assert(Hint == 0 || Hint == 1, "hint: 0 none, 1 evict first");
  const auto begin = reinterpret_cast<unsigned long long>(x), target = reinterpret_cast<unsigned long long>(y);
  if (Bytes > sizeof(T) && (begin | target) % Bytes != 0) return rows_by_elements<Form>(x, y, rows, columns);
  using Row = RowWords<Bytes, Lanes, Words, T>;
  constexpr int Groups = Block / Lanes;  // rows of a block at once, Rows times
  const int column = static_cast<int>(threadIdx.x) % Lanes * Row::N, left = columns - column;
  const bool all = (Words - 1) * Row::Step < left;
  const long long first_row = static_cast<long long>(blockIdx.x) * (Groups * Rows) + threadIdx.x / Lanes;

  // load
  Row own[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r)  // the last row in place of one beyond it
    load_row<Hint>(own[r], x + min(first_row + r * Groups, rows - 1) * columns + column, left);

  // reduce
  float max[Rows], sum[Rows], kept[Rows][Row::Elements];  // kept in place of the elements
#pragma unroll
  for (int r = 0; r < Rows; ++r) max[r] = max_of(own[r]);
#pragma unroll
  for (int r = 0; r < Rows; ++r) max[r] = warp_all_reduce<MaxOp, Lanes>(max[r]);
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const Exponentials<T> exponentials(max[r]);
    Sums sums;
#pragma unroll
    for (int i = 0; i < Row::Elements; ++i) {
      const float value = own[r].element(i), exponent = exponentials.exponent(value);
      const float exponential = exponentials.of_exponent(exponent);
      kept[r][i] = Form::template kept<T>(value, exponent, exponential);
      sums.parts[i % 4] += exponential;
    }
    sum[r] = sums.all();
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) sum[r] = warp_all_reduce<SumOp, Lanes>(sum[r]);

  // compute and store
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const long long row = first_row + r * Groups;
    const Norm norm = Form::norm({max[r], sum[r]}, Exponentials<T>(max[r]));
    if (row < rows)
      own[r].template store<Hint>(y + row * columns + column, all,
                                  [&](int i) { return Form::template result<T>(kept[r][i], norm); });
  }
}
