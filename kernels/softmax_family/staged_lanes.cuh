// Softmax or log-softmax of rows of half types that end within a pack, by a few lanes per row. A warp copies a span of rows to
// shared memory in packs of 16 bytes, lanes read and write their row there in 4-byte words of two elements, and the warp stores
// the span in packs. Only the two words that a row shares with its neighbours are masked.
//   x, y       T [rows, columns], T of 2 bytes, row-major; must not overlap. Moved in packs where both begin at the same place
//              in a pack, else by elements
//   Lanes      neighbouring lanes per row, a power of two up to 32
//   Words      4-byte loads per lane and row, as few as hold columns / 2 + 1 words: a row may begin and end within a word
//   Group      rows that lanes take one after another; a warp has 32 / Lanes * Group rows, a multiple of 8
//   Rows       rows of these that lanes work on at once
//   launch     block Block, any number of whole warps; grid ceil(rows / (Block / Lanes * Group));
//              shared memory Block / Lanes * Group * columns * 2 bytes, and 16 bytes more per warp
//   moves      each element is read once and written once
#pragma once
#include "softmax_family/algebra.cuh"
#include "softmax_family/row_packs.cuh"

// Replaces the elements of Rows rows by their results. The rows begin at the elements `begin` of `words`; `own` is the number
// of the lane in its row.
template <typename Form, int Lanes, int Words, int Rows, typename T>
__device__ __forceinline__ void rows_by_lanes(unsigned* words, const unsigned (&begin)[Rows], unsigned columns,
                                              unsigned own) {
  constexpr int Last = Words - 1;
  const unsigned fill = nothing<T>().x;
  unsigned* place[Rows];        // where the lane's first word is
  bool head[Rows], tail[Rows];  // the row has only the upper half of its first word, only the lower half of its last word
  bool whole[Rows];             // the row has all of the lane's last word
  unsigned held[Rows][Words];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const unsigned first = begin[r] / 2 + own, end = begin[r] + columns;
    place[r] = words + first;
    head[r] = begin[r] % 2 != 0 && own == 0;
    tail[r] = end % 2 != 0 && first + Last * Lanes == end / 2;
    whole[r] = first + Last * Lanes < end / 2;
#pragma unroll
    for (int k = 0; k < Last; ++k) held[r][k] = place[r][k * Lanes];
    held[r][Last] = whole[r] || tail[r] ? place[r][Last * Lanes] : fill;
    if (head[r]) held[r][0] = (held[r][0] & 0xffff0000u) | (fill & 0x0000ffffu);
    if (tail[r]) held[r][Last] = (held[r][Last] & 0x0000ffffu) | (fill & 0xffff0000u);
  }
  __syncwarp();  // words that two rows share are read before they are written

  float max[Rows], sum[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    Peak<T> peak = held[r][0];
#pragma unroll
    for (int k = 1; k < Words; ++k) peak = larger<T>(peak, held[r][k]);
    max[r] = largest_of<T>(peak);
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) max[r] = warp_all_reduce<MaxOp, Lanes>(max[r]);
  float kept[Rows][2 * Words];  // in place of the elements
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const Exponentials<T> exponentials(max[r]);
    float sums[4];  // independent, so that additions overlap
#pragma unroll
    for (int i = 0; i < 2 * Words; ++i) {
      const float value = element_at<T>(held[r], i), exponent = exponentials.exponent(value);
      const float exponential = exponentials.of_exponent(exponent);
      kept[r][i] = Form::template kept<T>(value, exponent, exponential);
      sums[i % 4] = i < 4 ? exponential : sums[i % 4] + exponential;
    }
    sum[r] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) sum[r] = warp_all_reduce<SumOp, Lanes>(sum[r]);

#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const Norm norm = Form::norm({max[r], sum[r]}, Exponentials<T>(max[r]));
#pragma unroll
    for (int k = 0; k < Words; ++k)
      held[r][k] = word_of<T>(Form::template result<T>(kept[r][2 * k], norm),
                              Form::template result<T>(kept[r][2 * k + 1], norm));
    if (!head[r]) place[r][0] = held[r][0];
    else reinterpret_cast<unsigned short*>(place[r])[1] = static_cast<unsigned short>(held[r][0] >> 16);
#pragma unroll
    for (int k = 1; k < Last; ++k) place[r][k * Lanes] = held[r][k];
    if (whole[r]) place[r][Last * Lanes] = held[r][Last];
    unsigned short* lower = reinterpret_cast<unsigned short*>(place[r] + Last * Lanes);
    if (tail[r]) *lower = static_cast<unsigned short>(held[r][Last]);
  }
  __syncwarp();  // they are written before they are read for another row
}

// Copies the WarpRows rows of a warp to shared memory, and back once work(tile, shift) has replaced their elements by results;
// they begin `shift` elements after the tile. `work` ends with __syncwarp().
//   Least, Most   bounds of columns
template <int WarpRows, int Least, int Most, int Block, int Hint, typename T, typename Work>
__device__ __forceinline__ void staged_span(const T* __restrict__ x, T* __restrict__ y, long long rows, int columns,
                                            Work work) {
  constexpr int N = PER_PACK<T>;
  static_assert(WarpRows % N == 0, "a warp's rows must be whole packs");
  constexpr int LeastPacks = WarpRows / N * Least, MostPacks = WarpRows / N * Most;  // of a span
  extern __shared__ uint4 tiles[];
  const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
  const long long first_row = (static_cast<long long>(blockIdx.x) * (Block / WARP_SIZE) + warp) * WarpRows;
  if (first_row >= rows) return;  // whole warps leave, and none waits for them
  const T* x_rows = x + first_row * columns;
  T* y_rows = y + first_row * columns;
  const bool full = rows - first_row >= WarpRows;
  const int elements = full ? WarpRows * columns : static_cast<int>(rows - first_row) * columns;
  const int shift = shift_of(x_rows), packs = (shift + elements) / N;  // packs before a last, partial one
  const int places = WarpRows / N * columns + 1;
  uint4* tile = tiles + warp * places;
  T* staged = reinterpret_cast<T*>(tile) + shift;
  const int part = (lane < N ? lane : packs * N + lane - N) - shift;  // the lane's element of the first or last, partial pack
  const bool has_part = lane < N ? shift != 0 : lane < 2 * N && (shift + elements) % N != 0;
  const bool own_part = has_part && part >= 0 && part < elements;

  const uint4* from = reinterpret_cast<const uint4*>(x_rows - shift) + lane;
  if (full) {
#pragma unroll
    for (int k = 0; k < MostPacks; k += WARP_SIZE)
      if ((k > 0 || lane > 0 || shift == 0) && (k + WARP_SIZE <= LeastPacks || k + lane < packs))
        copy_ahead(tile + lane + k, from + k);
  } else {  // in packs too: by elements, the last warp would take much longer than the others
    for (int k = 0; k + lane < packs; k += WARP_SIZE)
      if (k > 0 || lane > 0 || shift == 0) copy_ahead(tile + lane + k, from + k);
    for (int k = (shift + elements + N - 1) / N + lane; k < places; k += WARP_SIZE) tile[k] = uint4{};
  }
  if (has_part) staged[part] = own_part ? x_rows[part] : from_float<T>(0.0f);
  await_copies();
  __syncwarp();  // every lane's packs are there
  work(tile, shift);
  if (shift_of(y_rows) == shift) {
    uint4* to = reinterpret_cast<uint4*>(y_rows - shift) + lane;
    if (full) {
#pragma unroll
      for (int k = 0; k < MostPacks; k += WARP_SIZE)
        if ((k > 0 || lane > 0 || shift == 0) && (k + WARP_SIZE <= LeastPacks || k + lane < packs))
          store_once<Hint>(to + k, tile[lane + k]);
    } else {
      for (int k = 0; k + lane < packs; k += WARP_SIZE)
        if (k > 0 || lane > 0 || shift == 0) store_once<Hint>(to + k, tile[lane + k]);
    }
    if (own_part) y_rows[part] = staged[part];
  } else {
    for (int i = lane; i < elements; i += WARP_SIZE) y_rows[i] = staged[i];
  }
}

template <typename Form, int Lanes, int Words, int Group, int Rows, int Block, int Hint, typename T>
__device__ __forceinline__ void staged_lanes(const T* __restrict__ x, T* __restrict__ y, long long rows, int columns) {
  static_assert(sizeof(T) == 2, "words of shared memory have two elements");
  static_assert(Lanes >= 1 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0, "LANES must be a power of two to 32");
  static_assert(Words >= 2, "WORDS must be at least 2: a lane has not both ends of a row in one");
  static_assert(Group % Rows == 0, "GROUP rows must be so many at once");
  constexpr int Least = 2 * Lanes * (Words - 1), Most = 2 * Lanes * Words - 1;  // as Words bounds columns
  staged_span<WARP_SIZE / Lanes * Group, Least, Most, Block, Hint>(x, y, rows, columns, [=](uint4* tile, int shift) {
    const int lane = threadIdx.x % WARP_SIZE;
    unsigned next = shift + lane / Lanes * (Group * columns);
#pragma unroll 1
    for (int done = 0; done < Group; done += Rows) {
      unsigned begin[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r, next += columns) begin[r] = next;
      rows_by_lanes<Form, Lanes, Words, Rows, T>(reinterpret_cast<unsigned*>(tile), begin, columns, lane % Lanes);
    }
  });
}
