// Softmax over the last axis of attention scores, one thread per element of the row, as FasterTransformer 1.0 does it.
//   x       T [batch, heads, seq, seq], row-major; read once
//   mask    T [batch, seq, seq] of 0 and 1, shared by all heads; 0 lowers the score by 10000; read once per head
//   y       T [batch, heads, seq, seq]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   needs   columns = seq <= block: a column from there on would neither be read nor written
//   launch  v1: grid batch * heads, the rows of a head one after the other; v2: grid batch * heads * seq, one block per row
//           block: the next of 32, 64, .., 1024 that holds a row; 264 bytes of static shared memory
//   moves   8 bytes per element of float: 1 read, 1 write, 4-byte accesses; at seq = 16 half of each warp idles
//   The denominator is the sum plus 1e-6. A row of -inf gives zeros, since idle lanes bring -1e20 to the maximum;
//   at 1024 columns none is idle, and it gives NaN.
//   Origin: NVIDIA/FasterTransformer, release/v1.0_tag, fastertransformer/cuda/open_attention.cu, lines 189 to 268.
#include "common/convert.cuh"
#include "softmax/ft_reduce.cuh"

constexpr float HIDDEN_SCORE = -10000.0f;  // added to a masked element

// One row by the whole block. `x`, `mask` and `y` point to the row.
template <bool MASKED, typename T>
__device__ __forceinline__ void softmax_row(const T* x, const T* mask, T* y, int columns, float scale) {
  __shared__ float row_max;
  __shared__ float row_sum;
  const bool active = threadIdx.x < columns;

  float score = IDLE_SCORE;
  if (active) {
    score = to_float(x[threadIdx.x]) * scale;
    if constexpr (MASKED) score += (1.0f - to_float(mask[threadIdx.x])) * HIDDEN_SCORE;
  }

  const float block_max = first_warp_reduce<MaxOp>(score, IDLE_SCORE);
  if (threadIdx.x == 0) row_max = block_max;
  __syncthreads();  // thread 0 alone is sure to hold the maximum; all others wait for it

  const float power = active ? __expf(score - row_max) : 0.0f;
  const float block_sum = first_warp_reduce<SumOp>(power, 0.0f);
  if (threadIdx.x == 0) row_sum = block_sum + SUM_GUARD;
  __syncthreads();  // the same for the sum; a next row overwrites nothing that is still read before this

  if (active) y[threadIdx.x] = from_float<T>(power / row_sum);
}

// One block per (batch, head): its rows in turn.
template <bool MASKED, typename T>
__device__ __forceinline__ void softmax_ft_v1(const T* x, const T* mask, T* y, int heads, int columns, float scale) {
  const long long square = static_cast<long long>(columns) * columns;
  x += blockIdx.x * square;
  y += blockIdx.x * square;
  if constexpr (MASKED) mask += blockIdx.x / heads * square;
  for (int row = 0; row < columns; ++row) {
    softmax_row<MASKED>(x, mask, y, columns, scale);
    x += columns;
    y += columns;
    if constexpr (MASKED) mask += columns;
  }
}

// One block per row.
template <bool MASKED, typename T>
__device__ __forceinline__ void softmax_ft_v2(const T* x, const T* mask, T* y, int heads, int columns, float scale) {
  const long long offset = static_cast<long long>(blockIdx.x) * columns;
  if constexpr (MASKED) {
    const unsigned batch = blockIdx.x / columns / heads;
    const unsigned row = blockIdx.x % columns;
    mask += (static_cast<long long>(batch) * columns + row) * columns;
  }
  softmax_row<MASKED>(x + offset, mask, y + offset, columns, scale);
}

extern "C" __global__ void softmax_ft_v1_f32(const float* x, float* y, int columns, float scale) {
  softmax_ft_v1<false>(x, static_cast<const float*>(nullptr), y, 1, columns, scale);
}

extern "C" __global__ void softmax_ft_v1_f16(const __half* x, __half* y, int columns, float scale) {
  softmax_ft_v1<false>(x, static_cast<const __half*>(nullptr), y, 1, columns, scale);
}

extern "C" __global__ void softmax_ft_v1_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, int columns, float scale) {
  softmax_ft_v1<false>(x, static_cast<const __nv_bfloat16*>(nullptr), y, 1, columns, scale);
}

extern "C" __global__ void softmax_ft_v2_f32(const float* x, float* y, int columns, float scale) {
  softmax_ft_v2<false>(x, static_cast<const float*>(nullptr), y, 1, columns, scale);
}

extern "C" __global__ void softmax_ft_v2_f16(const __half* x, __half* y, int columns, float scale) {
  softmax_ft_v2<false>(x, static_cast<const __half*>(nullptr), y, 1, columns, scale);
}

extern "C" __global__ void softmax_ft_v2_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, int columns, float scale) {
  softmax_ft_v2<false>(x, static_cast<const __nv_bfloat16*>(nullptr), y, 1, columns, scale);
}

extern "C" __global__ void softmax_ft_v1_masked_f32(const float* x, const float* mask, float* y, int heads, int columns,
                                                    float scale) {
  softmax_ft_v1<true>(x, mask, y, heads, columns, scale);
}

extern "C" __global__ void softmax_ft_v1_masked_f16(const __half* x, const __half* mask, __half* y, int heads,
                                                    int columns, float scale) {
  softmax_ft_v1<true>(x, mask, y, heads, columns, scale);
}

extern "C" __global__ void softmax_ft_v1_masked_bf16(const __nv_bfloat16* x, const __nv_bfloat16* mask,
                                                     __nv_bfloat16* y, int heads, int columns, float scale) {
  softmax_ft_v1<true>(x, mask, y, heads, columns, scale);
}

extern "C" __global__ void softmax_ft_v2_masked_f32(const float* x, const float* mask, float* y, int heads, int columns,
                                                    float scale) {
  softmax_ft_v2<true>(x, mask, y, heads, columns, scale);
}

extern "C" __global__ void softmax_ft_v2_masked_f16(const __half* x, const __half* mask, __half* y, int heads,
                                                    int columns, float scale) {
  softmax_ft_v2<true>(x, mask, y, heads, columns, scale);
}

extern "C" __global__ void softmax_ft_v2_masked_bf16(const __nv_bfloat16* x, const __nv_bfloat16* mask,
                                                     __nv_bfloat16* y, int heads, int columns, float scale) {
  softmax_ft_v2<true>(x, mask, y, heads, columns, scale);
}
