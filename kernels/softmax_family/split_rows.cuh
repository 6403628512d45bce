// Softmax or log-softmax of rows that no cluster holds, or that are too few to fill a GPU: two launches. The first reads
// each chunk of a row for its maximum and sum of powers, the second joins a row's parts and reads x again.
//   x, y      T [rows, columns], row-major, beginning anywhere; must not overlap
//   parts     float2 [rows, chunks], maximum and sum of powers relative to it; written and read once
//   chunk     elements of a chunk, PER_PACK * Block * Packs at most; Block threads
//   launch    grid (chunks, rows), of y as many as gridDim.y has, each of which takes every gridDim.y-th row; block Block
#pragma once
#include "softmax_family/row_packs.cuh"
#include "softmax_family/algebra.cuh"

// A chunk's packs, with -inf where there is no element.
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

template <int Block, int Packs, bool Fast, typename T>
__device__ __forceinline__ void split_rows_parts(const T* __restrict__ x, float2* __restrict__ parts, long long rows,
                                                 long long columns, int chunk) {
  __shared__ float2 warp_parts[Block / WARP_SIZE];
  const long long start = static_cast<long long>(blockIdx.x) * chunk;  // of the chunk in its row
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
    const Powers<Fast, T> powers(base);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < Packs; ++k)
#pragma unroll
      for (int i = 0; i < PER_PACK<T>; ++i) sum += powers.of(element_of<T>(held[k], i));
    sum = powers.corrected(warp_all_reduce<SumOp>(sum), base);
    if (threadIdx.x % WARP_SIZE == 0) warp_parts[threadIdx.x / WARP_SIZE] = make_float2(max, sum);
    __syncthreads();  // every warp's part is there
    if (threadIdx.x < WARP_SIZE) {
      float own = MaxOp::identity();
      for (int i = threadIdx.x; i < Block / WARP_SIZE; i += WARP_SIZE) own = MaxOp::apply(own, warp_parts[i].x);
      own = warp_all_reduce<MaxOp>(own);
      float joined = 0.0f;  // of a chunk that is -inf throughout 0, not NaN: the rest of the row may be finite
      for (int i = threadIdx.x; i < Block / WARP_SIZE; i += WARP_SIZE)
        joined += warp_parts[i].y * expf(warp_parts[i].x - base_of(own));
      joined = warp_all_reduce<SumOp>(joined);
      if (threadIdx.x == 0) parts[row * gridDim.x + blockIdx.x] = make_float2(own, joined);
    }
    __syncthreads();  // all have read before the next row's parts are written
  }
}

template <typename Form, int Block, int Packs, int Hint, bool Fast, typename T>
__device__ __forceinline__ void split_rows_finish(const T* __restrict__ x, T* __restrict__ y,
                                                  const float2* __restrict__ parts, long long rows, long long columns,
                                                  int chunk) {
  const long long start = static_cast<long long>(blockIdx.x) * chunk;
  const int elements = static_cast<int>(min(static_cast<long long>(chunk), columns - start));
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    const T* x_chunk = x + row * columns + start;
    T* y_chunk = y + row * columns + start;
    uint4 held[Packs];
    load_chunk<Block, Packs, Hint>(held, x_chunk, elements, Matrix<T>{x, x + rows * columns});
    const Part all = warp_all_join(parts + row * gridDim.x, gridDim.x);  // by every warp: no barrier
    const Powers<Fast, T> powers(all.max);
    const Ends ends = ends_of<Form>(all, powers);
    const int shift = shift_of(x_chunk);
    const bool packed = shift_of(y_chunk) == shift;
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      const int at = (k * Block + static_cast<int>(threadIdx.x)) * PER_PACK<T> - shift;
      if (at >= elements) continue;
      float results[PER_PACK<T>];
#pragma unroll
      for (int i = 0; i < PER_PACK<T>; ++i) results[i] = result_of<Form>(element_of<T>(held[k], i), powers, ends);
      store_pack<Hint, true>(y_chunk, at, elements, packed, results);
    }
  }
}
