// Layer norm along the last axis, one block per row, in the three passes of the textbook.
//   x            T [rows, columns], row-major; read three times
//   gamma, beta  T [columns]; read once per row, from the caches after the first time
//   y            T [rows, columns]; must not overlap x; written once
//   T            float, __half, __nv_bfloat16; arithmetic in float
//   needs        nothing: any rows >= 1, any columns >= 1
//   BLOCK        threads of a block, whole warps
//   launch       grid rows, block BLOCK; a float of shared memory for each warp
//   moves        3 D in (the later two from the caches while they hold the row), 1 D out
//   A row with an infinity or a NaN gives NaN.   Origin: written here, the plainest kernel there is.
#include "common/convert.cuh"
#include "common/reduce.cuh"

template <typename T>
__device__ void layer_norm_naive(const T* x, const T* gamma, const T* beta, T* y, int columns, float eps) {
  const long long row = blockIdx.x;  // ranges [0, rows)
  const T* x_row = x + row * columns;
  T* y_row = y + row * columns;

  float own_sum = 0.0f;
  for (int column = threadIdx.x; column < columns; column += BLOCK) own_sum += to_float(x_row[column]);
  const float mean = block_all_reduce<SumOp, BLOCK>(own_sum) / columns;

  float own_squares = 0.0f;
  for (int column = threadIdx.x; column < columns; column += BLOCK) {
    const float centred = to_float(x_row[column]) - mean;
    own_squares += centred * centred;
  }
  const float variance = block_all_reduce<SumOp, BLOCK>(own_squares) / columns;
  const float scale = 1.0f / sqrtf(variance + eps);

  for (int column = threadIdx.x; column < columns; column += BLOCK) {
    const float normal = (to_float(x_row[column]) - mean) * scale;
    y_row[column] = from_float<T>(normal * to_float(gamma[column]) + to_float(beta[column]));
  }
}

extern "C" __global__ void layer_norm_naive_f32(const float* x, const float* gamma, const float* beta, float* y,
                                                int columns, float eps) {
  layer_norm_naive(x, gamma, beta, y, columns, eps);
}

extern "C" __global__ void layer_norm_naive_f16(const __half* x, const __half* gamma, const __half* beta, __half* y,
                                                int columns, float eps) {
  layer_norm_naive(x, gamma, beta, y, columns, eps);
}

extern "C" __global__ void layer_norm_naive_bf16(const __nv_bfloat16* x, const __nv_bfloat16* gamma,
                                                 const __nv_bfloat16* beta, __nv_bfloat16* y, int columns, float eps) {
  layer_norm_naive(x, gamma, beta, y, columns, eps);
}
