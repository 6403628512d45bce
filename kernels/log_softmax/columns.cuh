// Log-softmax of columns [dim] of a view [outer, dim, inner], whose elements lie `inner` apart.
#pragma once
#include <cfloat>

#include "common/convert.cuh"
#include "common/reduce.cuh"

// Reduces one value per thread of a column; all of them get the result. All threads of the block must call it, and may call
// it again at once.
//   slots    shared floats: the first slot of this column; its other slots are `stride` apart
//   thread   ranges [0, threads), threads a power of two; 1 needs no slots
struct ColumnTree {
  float* slots;
  int stride;
  int thread;
  int threads;

  template <typename Op>
  __device__ __forceinline__ float all(float value) const {
    if (threads == 1) return value;
    __syncthreads();  // all have read the result of the call before
    slots[thread * stride] = value;
    for (int s = threads / 2; s > 0; s /= 2) {
      __syncthreads();  // what this step reads is written
      if (thread < s) slots[thread * stride] = Op::apply(slots[thread * stride], slots[(thread + s) * stride]);
    }
    __syncthreads();  // the first thread's result is there
    return slots[0];
  }
};

// One column, divided among the threads of `tree`; x is read three times.
//   x, y    the first element of the column in each array
//   dim     elements of the column; 0 for a thread without a column, which the barriers still need
template <typename T, typename Tree>
__device__ __forceinline__ void log_softmax_column(const T* __restrict__ x, T* __restrict__ y, int dim,
                                                   long long inner, Tree tree) {
  float own_max = MaxOp::identity();
  for (int d = tree.thread; d < dim; d += tree.threads) own_max = MaxOp::apply(own_max, to_float(x[d * inner]));
  const float column_max = tree.template all<MaxOp>(own_max);

  float own_sum = SumOp::identity();
  for (int d = tree.thread; d < dim; d += tree.threads) own_sum += expf(to_float(x[d * inner]) - column_max);
  const float log_sum = logf(tree.template all<SumOp>(own_sum));

  for (int d = tree.thread; d < dim; d += tree.threads)
    y[d * inner] = from_float<T>(to_float(x[d * inner]) - column_max - log_sum);
}

// The same by two reads: each thread takes maximum and sum in one pass, and brings its sum to the column's maximum.
template <typename T, typename Tree>
__device__ __forceinline__ void log_softmax_column_two_reads(const T* __restrict__ x, T* __restrict__ y, int dim,
                                                             long long inner, Tree tree) {
  float own_max = -FLT_MAX;  // not -inf, or a thread that meets nothing else would make a NaN of the sum
  float own_sum = SumOp::identity();
  for (int d = tree.thread; d < dim; d += tree.threads) {
    const float value = to_float(x[d * inner]);
    const float lower = expf(-fabsf(value - own_max));  // the lower of the two, relative to the higher
    const bool higher = value > own_max;
    own_sum = higher ? own_sum * lower + 1.0f : own_sum + lower;
    own_max = higher ? value : own_max;
  }
  const float column_max = tree.template all<MaxOp>(own_max);
  // NaN where the maximum is inf, as it must be: inf - inf.
  const float log_sum = logf(tree.template all<SumOp>(own_sum * expf(own_max - column_max)));

  for (int d = tree.thread; d < dim; d += tree.threads)
    y[d * inner] = from_float<T>(to_float(x[d * inner]) - column_max - log_sum);
}
