// Not a softmax: the published port of FasterTransformer 1.0's, which never reads its input.
//   x       T [batch, heads, seq, seq]; named in the code, but no load of it is left after compiling
//   y       T [batch, heads, seq, seq]; every element becomes 1 / (seq + 1e-6); written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   needs   columns = seq <= block
//   launch  as ft.cu: v1 grid batch * heads, v2 grid batch * heads * seq; block 32, 64, .., 1024
//   moves   1 write and no read: half of the bytes that a softmax needs
//   Origin: BBuf/how-to-optim-algorithm-in-cuda, cuda-kernels/softmax/faster_transformer_softmax.cu.
#include "common/convert.cuh"
#include "softmax/ft_reduce.cuh"

template <typename T>
__device__ __forceinline__ void uniform_row(const T* x, T* y, int columns) {
  __shared__ float row_max;
  __shared__ float row_sum;
  const bool active = threadIdx.x < columns;

  // The mistake. The port drops the mask, and with it the line that turned the element into a score; a
  // constant stands in its place. Nothing uses the element any more, so the compiler drops its load too.
  [[maybe_unused]] const float element = active ? to_float(x[threadIdx.x]) : 0.0f;
  const float score = IDLE_SCORE;

  const float block_max = first_warp_reduce<MaxOp>(score, IDLE_SCORE);
  if (threadIdx.x == 0) row_max = block_max;
  __syncthreads();  // thread 0 alone is sure to hold the maximum

  const float power = active ? __expf(score - row_max) : 0.0f;
  const float block_sum = first_warp_reduce<SumOp>(power, 0.0f);
  if (threadIdx.x == 0) row_sum = block_sum + SUM_GUARD;
  __syncthreads();  // the same for the sum

  if (active) y[threadIdx.x] = from_float<T>(power / row_sum);
}

template <typename T>
__device__ __forceinline__ void uniform_v1(const T* x, T* y, int columns) {
  long long offset = static_cast<long long>(blockIdx.x) * columns * columns;
  for (int row = 0; row < columns; ++row, offset += columns) uniform_row(x + offset, y + offset, columns);
}

template <typename T>
__device__ __forceinline__ void uniform_v2(const T* x, T* y, int columns) {
  const long long offset = static_cast<long long>(blockIdx.x) * columns;
  uniform_row(x + offset, y + offset, columns);
}

extern "C" __global__ void softmax_ft_as_published_v1_f32(const float* x, float* y, int columns) {
  uniform_v1(x, y, columns);
}

extern "C" __global__ void softmax_ft_as_published_v1_f16(const __half* x, __half* y, int columns) {
  uniform_v1(x, y, columns);
}

extern "C" __global__ void softmax_ft_as_published_v1_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, int columns) {
  uniform_v1(x, y, columns);
}

extern "C" __global__ void softmax_ft_as_published_v2_f32(const float* x, float* y, int columns) {
  uniform_v2(x, y, columns);
}

extern "C" __global__ void softmax_ft_as_published_v2_f16(const __half* x, __half* y, int columns) {
  uniform_v2(x, y, columns);
}

extern "C" __global__ void softmax_ft_as_published_v2_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, int columns) {
  uniform_v2(x, y, columns);
}
