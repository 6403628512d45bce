// Not a softmax: four launches as an article publishes them, where exp takes x / max instead of x - max.
//   x         T [rows, columns], row-major; read twice
//   y         T [rows, columns]; must not overlap x; written once
//   T         float, __half, __nv_bfloat16; arithmetic and everything between the launches in float
//   row_max   float [rows], row_sum float [rows]: written once, read once
//   exps      float [rows, columns]: exp(s / max), written once, read twice
//   needs     rows <= 2^31 - 1, columns <= 2^30
//   BLOCK     threads of a block, a power of two
//   launch    grid rows, block BLOCK; the reductions take BLOCK floats of shared memory
//   moves     as four_kernels does: float 6 D + 4 R for D bytes of x and R of one float a row
//   Origin: the article's four kernels, one block long, taken row by row; written here.
#include "common/convert.cuh"
#include "softmax/rows.cuh"

static_assert(BLOCK % WARP_SIZE == 0 && (BLOCK & (BLOCK - 1)) == 0, "trees halve the block down to one thread");

template <typename T>
__device__ void reduce_max(const T* __restrict__ x, float* __restrict__ row_max, int columns, float scale) {
  reduce_row<trees::Unrolled, MaxOp, BLOCK>(row_max, columns, [=](long long i) { return scale * to_float(x[i]); });
}

// The mistake. With every x alike the quotient is 1 everywhere and the result right, 1 / columns.
template <typename T>
__device__ void divided_exp(const T* __restrict__ x, const float* __restrict__ row_max, float* __restrict__ exps,
                            int columns, float scale) {
  const long long start = static_cast<long long>(blockIdx.x) * columns;  // blockIdx.x ranges [0, rows)
  const float highest = row_max[blockIdx.x];
  for (int column = threadIdx.x; column < columns; column += BLOCK)
    exps[start + column] = __expf(scale * to_float(x[start + column]) / highest);
}

template <typename T>
__device__ void divide(const float* __restrict__ exps, const float* __restrict__ row_sum, T* __restrict__ y,
                       int columns) {
  const long long start = static_cast<long long>(blockIdx.x) * columns;  // blockIdx.x ranges [0, rows)
  const float sum = row_sum[blockIdx.x];
  for (int column = threadIdx.x; column < columns; column += BLOCK)
    y[start + column] = from_float<T>(exps[start + column] / sum);
}

// ---- 1. reduce_max ----

extern "C" __global__ void softmax_four_kernels_as_published_reduce_max_f32(const float* x, float* row_max, int columns,
                                                                            float scale) {
  reduce_max(x, row_max, columns, scale);
}

extern "C" __global__ void softmax_four_kernels_as_published_reduce_max_f16(const __half* x, float* row_max,
                                                                            int columns, float scale) {
  reduce_max(x, row_max, columns, scale);
}

extern "C" __global__ void softmax_four_kernels_as_published_reduce_max_bf16(const __nv_bfloat16* x, float* row_max,
                                                                             int columns, float scale) {
  reduce_max(x, row_max, columns, scale);
}

// ---- 2. exp ----

extern "C" __global__ void softmax_four_kernels_as_published_exp_f32(const float* x, const float* row_max,
                                                                     float* exps, int columns, float scale) {
  divided_exp(x, row_max, exps, columns, scale);
}

extern "C" __global__ void softmax_four_kernels_as_published_exp_f16(const __half* x, const float* row_max,
                                                                     float* exps, int columns, float scale) {
  divided_exp(x, row_max, exps, columns, scale);
}

extern "C" __global__ void softmax_four_kernels_as_published_exp_bf16(const __nv_bfloat16* x, const float* row_max,
                                                                      float* exps, int columns, float scale) {
  divided_exp(x, row_max, exps, columns, scale);
}

// ---- 3. reduce_sum ----

extern "C" __global__ void softmax_four_kernels_as_published_reduce_sum_f32(const float* __restrict__ exps,
                                                                            float* __restrict__ row_sum, int columns) {
  reduce_row<trees::Unrolled, SumOp, BLOCK>(row_sum, columns, [=](long long i) { return exps[i]; });
}

// ---- 4. divide ----

extern "C" __global__ void softmax_four_kernels_as_published_divide_f32(const float* exps, const float* row_sum,
                                                                        float* y, int columns) {
  divide(exps, row_sum, y, columns);
}

extern "C" __global__ void softmax_four_kernels_as_published_divide_f16(const float* exps, const float* row_sum,
                                                                        __half* y, int columns) {
  divide(exps, row_sum, y, columns);
}

extern "C" __global__ void softmax_four_kernels_as_published_divide_bf16(const float* exps, const float* row_sum,
                                                                         __nv_bfloat16* y, int columns) {
  divide(exps, row_sum, y, columns);
}
