// Softmax or log-softmax of short rows of any length: a warp brings a span of whole rows into shared memory by packs of
// 16 bytes, its lanes work on the rows there, and it stores the span by packs. Each element is read once, written once.
//   x, y       T [rows, columns], row-major, beginning anywhere; must not overlap
//   lanes      of a row, a power of two to 32; PerLane: elements of each at most
//   tile_rows  rows of a span
//   launch     block any number of whole warps, grid ceil(rows / (tile_rows * warps)); of dynamic shared memory
//              warp_packs packs a warp, which must hold tile_rows rows that begin within the first
#pragma once
#include "common/row_packs.cuh"
#include "common/row_softmax.cuh"

template <typename Op>
__device__ __forceinline__ float lanes_all_reduce(float value, int lanes) {
  for (int offset = lanes / 2; offset > 0; offset /= 2) value = Op::apply(value, __shfl_xor_sync(ALL_LANES, value, offset));
  return value;
}

// A span of elements between global and shared memory, in the order of x.
template <typename T>
__device__ __forceinline__ void bring_span(uint4* tile, const T* begin, int elements, int shift, Matrix<T> matrix) {
  const int packs = (shift + elements + PER_PACK<T> - 1) / PER_PACK<T>;
  for (int k = threadIdx.x % WARP_SIZE; k < packs; k += WARP_SIZE) {
    const int first = k * PER_PACK<T> - shift;
    if (matrix.holds(begin + first)) copy_ahead(tile + k, begin + first);
    else tile[k] = load_part(begin, first, elements);  // it reaches beyond x
  }
}

template <int Hint, typename T>
__device__ __forceinline__ void store_span(const uint4* tile, T* begin, int elements, int shift) {
  const int lane = threadIdx.x % WARP_SIZE;
  const T* staged = reinterpret_cast<const T*>(tile) + shift;
  if (shift_of(begin) != shift) {  // packs of x and y do not lie alike
    for (int i = lane; i < elements; i += WARP_SIZE) begin[i] = staged[i];
    return;
  }
  const int packs = (shift + elements + PER_PACK<T> - 1) / PER_PACK<T>;
  for (int k = lane; k < packs; k += WARP_SIZE) {
    const int first = k * PER_PACK<T> - shift;
    if (first >= 0 && first + PER_PACK<T> <= elements) {
      store_once<Hint>(begin + first, tile[k]);
    } else {  // the neighbouring span stores the rest
      for (int i = max(first, 0); i < min(first + PER_PACK<T>, elements); ++i) begin[i] = staged[i];
    }
  }
}

template <typename Form, int PerLane, int Hint, bool Fast, typename T>
__device__ __forceinline__ void staged_rows(const T* __restrict__ x, T* __restrict__ y, long long rows, int columns,
                                            int lanes, int tile_rows, int warp_packs) {
  extern __shared__ uint4 slots[];
  const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
  uint4* tile = slots + warp * warp_packs;
  const long long first_row = (static_cast<long long>(blockIdx.x) * (blockDim.x / WARP_SIZE) + warp) * tile_rows;
  if (first_row >= rows) return;  // whole warps leave, and none waits for them
  const int own_rows = static_cast<int>(min(static_cast<long long>(tile_rows), rows - first_row));
  const T* x_rows = x + first_row * columns;
  const int shift = shift_of(x_rows);
  bring_span(tile, x_rows, own_rows * columns, shift, Matrix<T>{x, x + rows * columns});
  await_copies();
  __syncwarp();  // every lane's packs are there

  T* staged = reinterpret_cast<T*>(tile) + shift;
  const int own = lane & (lanes - 1);  // ranges [0, lanes)
  for (int first = 0; first < own_rows; first += WARP_SIZE / lanes) {
    const int row = first + lane / lanes;
    const int own_columns = row < own_rows ? columns : 0;  // a row that does not exist is needed by the shuffles only
    T* elements = staged + min(row, own_rows - 1) * columns;
    float values[PerLane];
    float max = MaxOp::identity();
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
      const int column = own + i * lanes;
      const float value = to_float(elements[min(column, columns - 1)]);  // no branch: lanes beyond the end would go their
      values[i] = column < own_columns ? value : -CUDART_INF_F;           // own way through all that follows
      max = MaxOp::apply(max, values[i]);
    }
    __syncwarp();  // who has no row has read another's, which may be written from here on
    max = lanes_all_reduce<MaxOp>(max, lanes);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
      const float power = power_of<Fast, T>(values[i] - max);
      sum += power;
      if constexpr (Form::KEEPS_POWERS) values[i] = power;
    }
    const float scale = Form::scale_of(lanes_all_reduce<SumOp>(sum, lanes));
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
      const int column = own + i * lanes;
      if (column < own_columns) elements[column] = from_float<T>(Form::finish(values[i], max, scale));
    }
  }
  __syncwarp();  // every row is done
  store_span<Hint>(tile, y + first_row * columns, own_rows * columns, shift);
}
