// Log-softmax along any axis as a tensor library without fusion runs it: five launches, their results in memory.
//   x            T [outer, dim, inner], row-major; read twice
//   y            T [outer, dim, inner]; must not overlap x; written once
//   T            float, __half, __nv_bfloat16; arithmetic and everything between the launches in float
//   column_max   float [outer, inner], log_sum float [outer, inner]: written once, read by each element of a column
//   shifted      float [outer, dim, inner]: x - max, written once, read twice
//   exps         float [outer, dim, inner]: its exp, written once, read once
//   needs        dim <= 2^30, inner <= 2^30
//   BLOCK        threads of a block
//   launch       reductions: one thread per column, grid ceil(outer * inner / BLOCK). Element by element: outer * dim rows
//                of inner elements, by each_element of softmax/rows.cuh
//   moves        float: reads 5 D, writes 3 D, besides the columns' own values
//   A column of -inf gives NaN.   Origin: PaddlePaddle/Paddle, paddle/fluid/operators/log_softmax_op.h, by Eigen.
#include "softmax/rows.cuh"
#include "common/convert.cuh"

// Joins the values of this thread's column by Op, one after the other.
template <typename Op, typename Value, typename Finish>
__device__ __forceinline__ void reduce_columns(float* result, long long columns, int dim, int inner, Value value,
                                               Finish finish) {
  const long long column = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;  // ranges [0, outer * inner)
  if (column >= columns) return;
  const long long start = column / inner * dim * inner + column % inner;
  float joined = Op::identity();
  for (int d = 0; d < dim; ++d) joined = Op::apply(joined, value(start + static_cast<long long>(d) * inner));
  result[column] = finish(joined);
}

// Calls body(column, index) for every element. `rows` is outer * dim; columns are numbered over [outer, inner].
template <typename Body>
__device__ __forceinline__ void each_of_columns(long long rows, int dim, int inner, Body body) {
  each_element(rows, inner, [=](long long row, long long index) {
    body(row / dim * inner + (index - row * inner), index);
  });
}

template <typename T>
__device__ void reduce_max(const T* __restrict__ x, float* __restrict__ column_max, long long columns, int dim,
                           int inner) {
  reduce_columns<MaxOp>(
      column_max, columns, dim, inner, [=](long long index) { return to_float(x[index]); },
      [](float joined) { return joined; });
}

template <typename T>
__device__ void shift(const T* __restrict__ x, const float* __restrict__ column_max, float* __restrict__ shifted,
                      long long rows, int dim, int inner) {
  each_of_columns(rows, dim, inner, [=](long long column, long long index) {
    shifted[index] = to_float(x[index]) - column_max[column];
  });
}

template <typename T>
__device__ void subtract(const float* __restrict__ shifted, const float* __restrict__ log_sum, T* __restrict__ y,
                         long long rows, int dim, int inner) {
  each_of_columns(rows, dim, inner, [=](long long column, long long index) {
    y[index] = from_float<T>(shifted[index] - log_sum[column]);
  });
}

// ---- 1. The maximum of each column ----

extern "C" __global__ void log_softmax_generic_reduce_max_f32(const float* x, float* column_max, long long columns,
                                                              int dim, int inner) {
  reduce_max(x, column_max, columns, dim, inner);
}

extern "C" __global__ void log_softmax_generic_reduce_max_f16(const __half* x, float* column_max, long long columns,
                                                              int dim, int inner) {
  reduce_max(x, column_max, columns, dim, inner);
}

extern "C" __global__ void log_softmax_generic_reduce_max_bf16(const __nv_bfloat16* x, float* column_max,
                                                               long long columns, int dim, int inner) {
  reduce_max(x, column_max, columns, dim, inner);
}

// ---- 2. The maximum subtracted ----

extern "C" __global__ void log_softmax_generic_shift_f32(const float* x, const float* column_max, float* shifted,
                                                         long long rows, int dim, int inner) {
  shift(x, column_max, shifted, rows, dim, inner);
}

extern "C" __global__ void log_softmax_generic_shift_f16(const __half* x, const float* column_max, float* shifted,
                                                         long long rows, int dim, int inner) {
  shift(x, column_max, shifted, rows, dim, inner);
}

extern "C" __global__ void log_softmax_generic_shift_bf16(const __nv_bfloat16* x, const float* column_max,
                                                          float* shifted, long long rows, int dim, int inner) {
  shift(x, column_max, shifted, rows, dim, inner);
}

// ---- 3. Its exponential ----

extern "C" __global__ void log_softmax_generic_exp_f32(const float* __restrict__ shifted, float* __restrict__ exps,
                                                       long long rows, int inner) {
  each_element(rows, inner, [=](long long, long long index) { exps[index] = expf(shifted[index]); });
}

// ---- 4. The logarithm of each column's sum ----

extern "C" __global__ void log_softmax_generic_log_sum_f32(const float* __restrict__ exps,
                                                           float* __restrict__ log_sum, long long columns, int dim,
                                                           int inner) {
  reduce_columns<SumOp>(
      log_sum, columns, dim, inner, [=](long long index) { return exps[index]; },
      [](float joined) { return logf(joined); });
}

// ---- 5. That subtracted ----

extern "C" __global__ void log_softmax_generic_subtract_f32(const float* shifted, const float* log_sum, float* y,
                                                            long long rows, int dim, int inner) {
  subtract(shifted, log_sum, y, rows, dim, inner);
}

extern "C" __global__ void log_softmax_generic_subtract_f16(const float* shifted, const float* log_sum, __half* y,
                                                            long long rows, int dim, int inner) {
  subtract(shifted, log_sum, y, rows, dim, inner);
}

extern "C" __global__ void log_softmax_generic_subtract_bf16(const float* shifted, const float* log_sum,
                                                             __nv_bfloat16* y, long long rows, int dim, int inner) {
  subtract(shifted, log_sum, y, rows, dim, inner);
}
