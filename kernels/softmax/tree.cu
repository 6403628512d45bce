// Softmax over the last axis, one block per row, the row's maximum and sum found by one of five reduction trees.
//   x       T [rows, columns], row-major; read three times
//   y       T [rows, columns]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   needs   rows <= 2^31 - 1, columns <= 2^30
//   TREE    Modulo, Strided, Sequential, Unrolled, Shuffle: the name of a tree in common/reduction_trees.cuh
//   BLOCK   threads of a block; LOADS: columns that a thread folds in each step. Together 256 columns per step,
//           so that 256 threads with one column and 128 threads with two go through a row alike
//   launch  grid rows, block BLOCK, shared BLOCK floats
//   moves   3 reads' worth of D in (the second and third from the caches while they hold the row), 1 D out
//   A row of -inf gives NaN.   Origin: the trees of M. Harris (NVIDIA), as softmax wraps them; written here.
#include "common/convert.cuh"
#include "common/reduction_trees.cuh"
#include "softmax/rows.cuh"

using Tree = trees::TREE;
static_assert(BLOCK * LOADS == 256, "a step must cover 256 columns, whatever the tree");
static_assert(BLOCK % WARP_SIZE == 0 && (BLOCK & (BLOCK - 1)) == 0, "trees halve the block down to one thread");

template <typename T>
__device__ void softmax_tree(const T* __restrict__ x, T* __restrict__ y, int columns, float scale) {
  __shared__ float slots[BLOCK];
  const long long start = static_cast<long long>(blockIdx.x) * columns;  // blockIdx.x ranges [0, rows)
  const T* x_row = x + start;
  T* y_row = y + start;

  const float part_max =
      fold_columns<MaxOp, BLOCK, LOADS>(columns, [=](int column) { return scale * to_float(x_row[column]); });
  const float row_max = tree_all_reduce<Tree, MaxOp>(slots, part_max);

  const auto power = [=](int column) { return expf(scale * to_float(x_row[column]) - row_max); };
  const float part_sum = fold_columns<SumOp, BLOCK, LOADS>(columns, power);
  const float row_sum = tree_all_reduce<Tree, SumOp>(slots, part_sum);

  for (int column = threadIdx.x; column < columns; column += BLOCK)
    y_row[column] = from_float<T>(power(column) / row_sum);
}

extern "C" __global__ void softmax_tree_f32(const float* x, float* y, int columns, float scale) {
  softmax_tree(x, y, columns, scale);
}

extern "C" __global__ void softmax_tree_f16(const __half* x, __half* y, int columns, float scale) {
  softmax_tree(x, y, columns, scale);
}

extern "C" __global__ void softmax_tree_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, int columns, float scale) {
  softmax_tree(x, y, columns, scale);
}
