// Softmax over the last axis as a framework without fusion runs it: five launches, their results in memory.
//   x         T [rows, columns], row-major; read twice
//   y         T [rows, columns]; must not overlap x; written once
//   T         float, __half, __nv_bfloat16; arithmetic and everything between the launches in float
//   row_max   float [rows], row_sum float [rows]: written once, read once
//   shifted   float [rows, columns]: s - max, written once, read once
//   powers    float [rows, columns]: its exp, written once, read twice
//   needs     rows <= 2^31 - 1, columns <= 2^30
//   BLOCK     threads of a block: the plan shares them out as (lanes of a row, rows)
//   launch    reductions: lanes = 2^k >= columns to 32 and shuffles, or all BLOCK on one row above 1024
//             columns; grid ceil(rows / rows of a block). Element by element: lanes = 2^k >= columns to
//             BLOCK, grid y so that a thread has about 4 columns
//   moves     float: 8 D + 4 R for D bytes of x and R of one float per row (reads 5 D, writes 3 D). The
//             article counts 7 D + 4. 2-byte T: 26 bytes per element, 13 D
//   A row of -inf gives NaN.   Origin: the unfused softmax of OneFlow's article; written here.
#include "common/convert.cuh"
#include "softmax/rows.cuh"

static_assert(BLOCK % WARP_SIZE == 0 && BLOCK <= 1024, "a block must be whole warps");

template <typename T>
__device__ void reduce_max(const T* __restrict__ x, float* __restrict__ row_max, long long rows, int columns,
                           float scale) {
  reduce_rows<MaxOp, BLOCK>(row_max, rows, columns, [=](long long i) { return scale * to_float(x[i]); });
}

template <typename T>
__device__ void broadcast_sub(const T* __restrict__ x, const float* __restrict__ row_max, float* __restrict__ shifted,
                              long long rows, int columns, float scale) {
  each_element(rows, columns,
               [=](long long row, long long i) { shifted[i] = scale * to_float(x[i]) - row_max[row]; });
}

template <typename T>
__device__ void broadcast_div(const float* __restrict__ powers, const float* __restrict__ row_sum, T* __restrict__ y,
                              long long rows, int columns) {
  each_element(rows, columns, [=](long long row, long long i) { y[i] = from_float<T>(powers[i] / row_sum[row]); });
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

// ---- 3. Exp ----

extern "C" __global__ void softmax_five_kernels_exp_f32(const float* __restrict__ shifted, float* __restrict__ powers,
                                                        long long rows, int columns) {
  each_element(rows, columns, [=](long long, long long i) { powers[i] = expf(shifted[i]); });
}

// ---- 4. ReduceSum ----

extern "C" __global__ void softmax_five_kernels_reduce_sum_f32(const float* __restrict__ powers,
                                                               float* __restrict__ row_sum, long long rows,
                                                               int columns) {
  reduce_rows<SumOp, BLOCK>(row_sum, rows, columns, [=](long long i) { return powers[i]; });
}

// ---- 5. BroadcastDiv ----

extern "C" __global__ void softmax_five_kernels_broadcast_div_f32(const float* powers, const float* row_sum, float* y,
                                                                  long long rows, int columns) {
  broadcast_div(powers, row_sum, y, rows, columns);
}

extern "C" __global__ void softmax_five_kernels_broadcast_div_f16(const float* powers, const float* row_sum, __half* y,
                                                                  long long rows, int columns) {
  broadcast_div(powers, row_sum, y, rows, columns);
}

extern "C" __global__ void softmax_five_kernels_broadcast_div_bf16(const float* powers, const float* row_sum,
                                                                   __nv_bfloat16* y, long long rows, int columns) {
  broadcast_div(powers, row_sum, y, rows, columns);
}
