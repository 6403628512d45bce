// The sum of an array, by a reduction tree per block: one launch leaves one sum per block.
//   x       T [elements]; read once
//   sums    float [blocks]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   needs   elements >= 1
//   TREE    Modulo, Strided, Sequential, Unrolled, UnrolledAll: a tree in common/reduction_trees.cuh
//   BLOCK   threads of a block; LOADS: elements that a thread adds up before the tree
//   launch  grid ceil(elements / (BLOCK * LOADS)), block BLOCK, shared BLOCK floats; once more on the sums, with T
//           float, until one is left
//   moves   D in; the sums, at most D / (BLOCK * LOADS) of float, out and in again, and theirs
//   Origin: the trees of M. Harris (NVIDIA); written here.
#include "common/convert.cuh"
#include "common/reduction_trees.cuh"

using Tree = trees::TREE;
static_assert(BLOCK % WARP_SIZE == 0 && (BLOCK & (BLOCK - 1)) == 0, "trees halve the block down to one thread");
static_assert(LOADS == 1 || LOADS == 2, "a thread loads one element, or one of each half");

template <typename T>
__device__ void reduce_sum_tree(const T* __restrict__ x, float* __restrict__ sums, long long elements) {
  __shared__ float slots[BLOCK];
  const long long first = static_cast<long long>(blockIdx.x) * (BLOCK * LOADS) + threadIdx.x;  // ranges [0, elements)

  float part = SumOp::identity();
#pragma unroll
  for (int load = 0; load < LOADS; ++load) {
    const long long i = first + load * BLOCK;
    if (i < elements) part = SumOp::apply(part, to_float(x[i]));
  }

  Tree::reduce<SumOp>(slots, part);
  if (threadIdx.x == 0) sums[blockIdx.x] = slots[0];
}

extern "C" __global__ void reduce_sum_tree_f32(const float* x, float* sums, long long elements) {
  reduce_sum_tree(x, sums, elements);
}

extern "C" __global__ void reduce_sum_tree_f16(const __half* x, float* sums, long long elements) {
  reduce_sum_tree(x, sums, elements);
}

extern "C" __global__ void reduce_sum_tree_bf16(const __nv_bfloat16* x, float* sums, long long elements) {
  reduce_sum_tree(x, sums, elements);
}
