// Going through a matrix [rows, columns] by rows: who visits which element.
#pragma once
#include "common/convert.cuh"
#include "common/reduction_trees.cuh"

// One thread's share of a row that a block of Block threads goes through, Loads columns per thread and step,
// neighbouring threads on neighbouring columns. `value(column)` gives the float to join.
template <typename Op, int Block, int Loads = 1, typename Value>
__device__ __forceinline__ float fold_columns(int columns, Value value) {
  float part = Op::identity();
  for (int first = threadIdx.x; first < columns; first += Block * Loads) {
#pragma unroll
    for (int load = 0; load < Loads; ++load) {
      const int column = first + load * Block;
      if (column < columns) part = Op::apply(part, value(column));
    }
  }
  return part;
}

// result[row] = all of value(index) of row blockIdx.x joined by Op through a tree of reduction_trees.cuh; index is
// the element's place in the matrix. One block per row; shared Block floats.
template <typename Tree, typename Op, int Block, typename Value>
__device__ __forceinline__ void reduce_row(float* result, int columns, Value value) {
  __shared__ float slots[Block];
  const long long start = static_cast<long long>(blockIdx.x) * columns;  // blockIdx.x ranges [0, rows)
  const float part = fold_columns<Op, Block>(columns, [=](int column) { return value(start + column); });
  Tree::template reduce<Op>(slots, part);
  if (threadIdx.x == 0) result[blockIdx.x] = slots[0];
}

// The same by shuffles, for blocks that cover several rows or one; index as above.
//   block   Block threads as (lanes, rows of a block): a power of two of lanes to 32, or all on one row
//   grid    x = ceil(rows / rows of a block)
template <typename Op, int Block, typename Result, typename Value>
__device__ __forceinline__ void reduce_rows(Result* result, long long rows, int columns, Value value) {
  const int lanes = blockDim.x;
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;

  // A row beyond the last takes part with nothing: its lanes are needed by the shuffles.
  float part = Op::identity();
  if (row < rows) {
    for (int column = threadIdx.x; column < columns; column += lanes)
      part = Op::apply(part, value(row * columns + column));
  }

  if (lanes == Block) {
    part = block_all_reduce<Op, Block>(part);
  } else {
    // Neighbouring lanes share a row, a power of two of them, so no exchange leaves the row.
    for (int offset = lanes / 2; offset > 0; offset /= 2)
      part = Op::apply(part, __shfl_xor_sync(ALL_LANES, part, offset));
  }
  if (row < rows && threadIdx.x == 0) result[row] = from_float<Result>(part);
}

// body(row, index) for every element, coalesced and without a division to find the row.
//   block   (lanes, rows of a block)
//   grid    x = ceil(rows / rows of a block), y = blocks that share a row's columns
template <typename Body>
__device__ __forceinline__ void each_element(long long rows, int columns, Body body) {
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const int step = gridDim.y * blockDim.x;
  for (int column = blockIdx.y * blockDim.x + threadIdx.x; column < columns; column += step)
    body(row, row * columns + column);
}
