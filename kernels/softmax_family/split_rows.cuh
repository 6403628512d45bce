// Softmax or log-softmax in two launches, for rows that no cluster holds or that are too few to fill a GPU. The first reads
// each chunk of a row for its maximum and sum of exponentials; the second joins the parts of a row and reads x again.
//   x, y      T [rows, columns], row-major, beginning anywhere; must not overlap
//   parts     MaxSum [rows, chunks], maximum and sum of exponentials relative to it; written and read once
//   chunk     elements per chunk, at most PER_PACK * Block * Packs
//   launch    grid (chunks, at most rows), block Block: a block takes every gridDim.y-th row
//   moves     each element is read twice and written once
#pragma once
#include "softmax_family/algebra.cuh"
#include "softmax_family/row_packs.cuh"

// Loads the packs of a chunk, with -inf where there is no element.
template <int Block, int Packs, int Hint, typename T>
__device__ __forceinline__ void load_chunk(uint4 (&held)[Packs], const T* first, int elements, Matrix<T> matrix) {
  const int shift = shift_of(first);
#pragma unroll
  for (int k = 0; k < Packs; ++k) {
    const int at = (k * Block + static_cast<int>(threadIdx.x)) * PER_PACK<T> - shift;
    if (at >= elements) held[k] = nothing<T>();
    else if (matrix.holds(first + at)) held[k] = load_once<Hint>(first + at);
    else held[k] = load_part(first, at, elements);
  }
#pragma unroll
  for (int k = 0; k < Packs; ++k) {
    const int at = (k * Block + static_cast<int>(threadIdx.x)) * PER_PACK<T> - shift;
    if (at < 0 || at + PER_PACK<T> > elements) held[k] = masked<T>(held[k], at, elements);
  }
}

// Writes the pair of every chunk: part_of(held, elements, shift) gives that of a warp's packs, join(parts) that of the block.
template <int Block, int Packs, typename T, typename Pair, typename PartOf, typename Join>
__device__ __forceinline__ void write_parts(const T* __restrict__ x, Pair* __restrict__ parts, long long rows,
                                            long long columns, int chunk, PartOf part_of, Join join) {
  __shared__ Pair warp_parts[Block / WARP_SIZE];
  const long long start = static_cast<long long>(blockIdx.x) * chunk;  // column that the chunk begins with
  const int elements = static_cast<int>(min(static_cast<long long>(chunk), columns - start));
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    const T* x_chunk = x + row * columns + start;
    uint4 held[Packs];
    load_chunk<Block, Packs, 0>(held, x_chunk, elements, Matrix<T>{x, x + rows * columns});
    const Pair part = part_of(held, elements, shift_of(x_chunk));
    if (threadIdx.x % WARP_SIZE == 0) warp_parts[threadIdx.x / WARP_SIZE] = part;
    __syncthreads();  // every warp's part is there
    if (threadIdx.x < WARP_SIZE) {
      const Pair joined = join(warp_parts, elements, shift_of(x_chunk));
      if (threadIdx.x == 0) parts[row * gridDim.x + blockIdx.x] = joined;
    }
    __syncthreads();  // all have read before the next row's parts are written
  }
}

// Reads x again for its results: norm_of_row(parts) gives what all elements of a row need from the pairs of its chunks,
// results_of(pack, column, norm, results) the results of a pack, which begins with that column of the row.
template <int Block, int Packs, int Hint, typename T, typename Pair, typename NormOfRow, typename ResultsOf>
__device__ __forceinline__ void finish_rows(const T* __restrict__ x, T* __restrict__ y, const Pair* __restrict__ parts,
                                            long long rows, long long columns, int chunk, NormOfRow norm_of_row,
                                            ResultsOf results_of) {
  const long long start = static_cast<long long>(blockIdx.x) * chunk;
  const int elements = static_cast<int>(min(static_cast<long long>(chunk), columns - start));
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    const T* x_chunk = x + row * columns + start;
    T* y_chunk = y + row * columns + start;
    uint4 held[Packs];
    load_chunk<Block, Packs, Hint>(held, x_chunk, elements, Matrix<T>{x, x + rows * columns});
    const auto norm = norm_of_row(parts + row * gridDim.x);  // every warp does this: no barrier is needed
    const int shift = shift_of(x_chunk);
    const bool packed = shift_of(y_chunk) == shift;
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      const int at = (k * Block + static_cast<int>(threadIdx.x)) * PER_PACK<T> - shift;
      if (at >= elements) continue;
      float results[PER_PACK<T>];
      results_of(held[k], start + at, norm, results);
      store_pack<Hint, true>(y_chunk, at, elements, packed, results);
    }
  }
}

template <int Block, int Packs, typename T>
__device__ __forceinline__ void split_rows_parts(const T* __restrict__ x, MaxSum* __restrict__ parts, long long rows,
                                                 long long columns, int chunk) {
  const auto part_of = [](const uint4 (&held)[Packs], int, int) -> MaxSum {
    float max = MaxOp::identity();
#pragma unroll
    for (int k = 0; k < Packs; ++k)
#pragma unroll
      for (int i = 0; i < PER_PACK<T>; ++i) max = MaxOp::apply(max, element_of<T>(held[k], i));
    max = warp_all_reduce<MaxOp>(max);
    const float base = base_of(max);
    const Exponentials<T> exponentials(base);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < Packs; ++k)
#pragma unroll
      for (int i = 0; i < PER_PACK<T>; ++i) sum += exponentials.of(element_of<T>(held[k], i));
    return {max, exponentials.without_excess(warp_all_reduce<SumOp>(sum), base)};
  };
  const auto join = [](const MaxSum* pairs, int, int) { return warp_all_join<PartWeight>(pairs, Block / WARP_SIZE); };
  write_parts<Block, Packs>(x, parts, rows, columns, chunk, part_of, join);
}

template <typename Form, int Block, int Packs, int Hint, typename T>
__device__ __forceinline__ void split_rows_finish(const T* __restrict__ x, T* __restrict__ y,
                                                  const MaxSum* __restrict__ parts, long long rows, long long columns,
                                                  int chunk) {
  struct RowNorm {
    Exponentials<T> exponentials;
    Norm norm;
  };
  const auto norm_of_row = [](const MaxSum* pairs) -> RowNorm {
    const MaxSum all = warp_all_join(pairs, gridDim.x);
    const Exponentials<T> exponentials(all.max);
    return {exponentials, norm_of<Form>(all, exponentials)};
  };
  const auto results_of = [](const uint4& pack, long long, const RowNorm& row, float* results) {
#pragma unroll
    for (int i = 0; i < PER_PACK<T>; ++i) results[i] = result_of<Form>(element_of<T>(pack, i), row.exponentials, row.norm);
  };
  finish_rows<Block, Packs, Hint>(x, y, parts, rows, columns, chunk, norm_of_row, results_of);
}
