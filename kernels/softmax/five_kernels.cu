// Softmax over the last axis as a framework without fusion runs it: five launches, their results in memory.
//   x         T [rows, columns], row-major; read twice
//   y         T [rows, columns]; must not overlap x; written once
//   T         float, __half, __nv_bfloat16; arithmetic in float
//   Kept      what the arrays between the launches hold: float, or __half in the entries named `half`, of T __half
//   row_max   Kept [rows], row_sum Kept [rows]: written once, read once
//   shifted   Kept [rows, columns]: s - max, written once, read once
//   exps      Kept [rows, columns]: its exp, written once, read twice
//   needs     rows <= 2^31 - 1, columns <= 2^30
//   BLOCK     threads of a block: the plan shares them out as (lanes of a row, rows)
//   launch    reductions: lanes = 2^k >= columns to 32 and shuffles, or all BLOCK on one row above 1024
//             columns; grid ceil(rows / rows of a block). Element by element: lanes = 2^k >= columns to
//             BLOCK, grid y so that a thread has about 4 columns
//   moves     float: 8 D + 4 R for D bytes of x and R of one float per row (reads 5 D, writes 3 D). The
//             article counts 7 D + 4. 2-byte T: 26 bytes per element, 13 D; kept as half, 16 bytes, 8 D
//   A row of -inf gives NaN.   Origin: the unfused softmax of OneFlow's article; written here.
#include "common/convert.cuh"
#include "softmax/rows.cuh"

static_assert(BLOCK % WARP_SIZE == 0 && BLOCK <= 1024, "a block must be whole warps");

template <typename T, typename Kept>
__device__ void reduce_max(const T* __restrict__ x, Kept* __restrict__ row_max, long long rows, int columns,
                           float scale) {
  reduce_rows<MaxOp, BLOCK>(row_max, rows, columns, [=](long long i) { return scale * to_float(x[i]); });
}

template <typename T, typename Kept>
__device__ void broadcast_sub(const T* __restrict__ x, const Kept* __restrict__ row_max, Kept* __restrict__ shifted,
                              long long rows, int columns, float scale) {
  each_element(rows, columns, [=](long long row, long long i) {
    shifted[i] = from_float<Kept>(scale * to_float(x[i]) - to_float(row_max[row]));
  });
}

template <typename Kept>
__device__ void exp_each(const Kept* __restrict__ shifted, Kept* __restrict__ exps, long long rows, int columns) {
  each_element(rows, columns,
               [=](long long, long long i) { exps[i] = from_float<Kept>(expf(to_float(shifted[i]))); });
}

template <typename Kept>
__device__ void reduce_sum(const Kept* __restrict__ exps, Kept* __restrict__ row_sum, long long rows, int columns) {
  reduce_rows<SumOp, BLOCK>(row_sum, rows, columns, [=](long long i) { return to_float(exps[i]); });
}

template <typename T, typename Kept>
__device__ void broadcast_div(const Kept* __restrict__ exps, const Kept* __restrict__ row_sum, T* __restrict__ y,
                              long long rows, int columns) {
  each_element(rows, columns, [=](long long row, long long i) {
    y[i] = from_float<T>(to_float(exps[i]) / to_float(row_sum[row]));
  });
}

// ---- 1. ReduceMax ----

extern "C" __global__ void softmax_five_kernels_reduce_max_f32(const float* x, float* row_max, long long rows,
                                                               int columns, float scale) {
  reduce_max(x, row_max, rows, columns, scale);
}

extern "C" __global__ void softmax_five_kernels_reduce_max_f16(const __half* x, float* row_max, long long rows,
                                                               int columns, float scale) {
  reduce_max(x, row_max, rows, columns, scale);
}

extern "C" __global__ void softmax_five_kernels_reduce_max_bf16(const __nv_bfloat16* x, float* row_max, long long rows,
                                                                int columns, float scale) {
  reduce_max(x, row_max, rows, columns, scale);
}

extern "C" __global__ void softmax_five_kernels_reduce_max_half_f16(const __half* x, __half* row_max, long long rows,
                                                                    int columns, float scale) {
  reduce_max(x, row_max, rows, columns, scale);
}

// ---- 2. BroadcastSub ----

extern "C" __global__ void softmax_five_kernels_broadcast_sub_f32(const float* x, const float* row_max, float* shifted,
                                                                  long long rows, int columns, float scale) {
  broadcast_sub(x, row_max, shifted, rows, columns, scale);
}

extern "C" __global__ void softmax_five_kernels_broadcast_sub_f16(const __half* x, const float* row_max, float* shifted,
                                                                  long long rows, int columns, float scale) {
  broadcast_sub(x, row_max, shifted, rows, columns, scale);
}

extern "C" __global__ void softmax_five_kernels_broadcast_sub_bf16(const __nv_bfloat16* x, const float* row_max,
                                                                   float* shifted, long long rows, int columns,
                                                                   float scale) {
  broadcast_sub(x, row_max, shifted, rows, columns, scale);
}

extern "C" __global__ void softmax_five_kernels_broadcast_sub_half_f16(const __half* x, const __half* row_max,
                                                                       __half* shifted, long long rows, int columns,
                                                                       float scale) {
  broadcast_sub(x, row_max, shifted, rows, columns, scale);
}

// ---- 3. Exp ----

extern "C" __global__ void softmax_five_kernels_exp_f32(const float* shifted, float* exps, long long rows,
                                                        int columns) {
  exp_each(shifted, exps, rows, columns);
}

extern "C" __global__ void softmax_five_kernels_exp_half_f16(const __half* shifted, __half* exps, long long rows,
                                                             int columns) {
  exp_each(shifted, exps, rows, columns);
}

// ---- 4. ReduceSum ----

extern "C" __global__ void softmax_five_kernels_reduce_sum_f32(const float* exps, float* row_sum, long long rows,
                                                               int columns) {
  reduce_sum(exps, row_sum, rows, columns);
}

extern "C" __global__ void softmax_five_kernels_reduce_sum_half_f16(const __half* exps, __half* row_sum,
                                                                    long long rows, int columns) {
  reduce_sum(exps, row_sum, rows, columns);
}

// ---- 5. BroadcastDiv ----

extern "C" __global__ void softmax_five_kernels_broadcast_div_f32(const float* exps, const float* row_sum, float* y,
                                                                  long long rows, int columns) {
  broadcast_div(exps, row_sum, y, rows, columns);
}

extern "C" __global__ void softmax_five_kernels_broadcast_div_f16(const float* exps, const float* row_sum, __half* y,
                                                                  long long rows, int columns) {
  broadcast_div(exps, row_sum, y, rows, columns);
}

extern "C" __global__ void softmax_five_kernels_broadcast_div_bf16(const float* exps, const float* row_sum,
                                                                   __nv_bfloat16* y, long long rows, int columns) {
  broadcast_div(exps, row_sum, y, rows, columns);
}

extern "C" __global__ void softmax_five_kernels_broadcast_div_half_f16(const __half* exps, const __half* row_sum,
                                                                       __half* y, long long rows, int columns) {
  broadcast_div(exps, row_sum, y, rows, columns);
}
