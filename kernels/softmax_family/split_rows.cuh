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

template <int Block, int Packs, typename T>
__device__ __forceinline__ void split_rows_parts(const T* __restrict__ x, MaxSum* __restrict__ parts, long long rows,
                                                 long long columns, int chunk) {
  __shared__ MaxSum warp_parts[Block / WARP_SIZE];
  const long long start = static_cast<long long>(blockIdx.x) * chunk;  // column that the chunk begins with
  const int elements = static_cast<int>(min(static_cast<long long>(chunk), columns - start));
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    uint4 held[Packs];
    load_chunk<Block, Packs, 0>(held, x + row * columns + start, elements, Matrix<T>{x, x + rows * columns});
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
    sum = exponentials.without_excess(warp_all_reduce<SumOp>(sum), base);
    if (threadIdx.x % WARP_SIZE == 0) warp_parts[threadIdx.x / WARP_SIZE] = {max, sum};
    __syncthreads();  // every warp's part is there
    if (threadIdx.x < WARP_SIZE) {
      const MaxSum joined = warp_all_join<PartWeight>(warp_parts, Block / WARP_SIZE);
      if (threadIdx.x == 0) parts[row * gridDim.x + blockIdx.x] = joined;
    }
    __syncthreads();  // all have read before the next row's parts are written
  }
}

template <typename Form, int Block, int Packs, int Hint, typename T>
__device__ __forceinline__ void split_rows_finish(const T* __restrict__ x, T* __restrict__ y,
                                                  const MaxSum* __restrict__ parts, long long rows, long long columns,
                                                  int chunk) {
  const long long start = static_cast<long long>(blockIdx.x) * chunk;
  const int elements = static_cast<int>(min(static_cast<long long>(chunk), columns - start));
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    const T* x_chunk = x + row * columns + start;
    T* y_chunk = y + row * columns + start;
    uint4 held[Packs];
    load_chunk<Block, Packs, Hint>(held, x_chunk, elements, Matrix<T>{x, x + rows * columns});
    const MaxSum all = warp_all_join(parts + row * gridDim.x, gridDim.x);  // every warp does this: no barrier is needed
    const Exponentials<T> exponentials(all.max);
    const Norm norm = norm_of<Form>(all, exponentials);
    const int shift = shift_of(x_chunk);
    const bool packed = shift_of(y_chunk) == shift;
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      const int at = (k * Block + static_cast<int>(threadIdx.x)) * PER_PACK<T> - shift;
      if (at >= elements) continue;
      float results[PER_PACK<T>];
#pragma unroll
      for (int i = 0; i < PER_PACK<T>; ++i) results[i] = result_of<Form>(element_of<T>(held[k], i), exponentials, norm);
      store_pack<Hint, true>(y_chunk, at, elements, packed, results);
    }
  }
}
