// One function a kernel over an array: which results are the GPU's to the last bit.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define UNARY(NAME, EXPRESSION)                                            \
  extern "C" __global__ void NAME(const float* x, float* y, int n) {       \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                   \
    if (i < n) {                                                           \
      const float v = x[i];                                                \
      y[i] = EXPRESSION;                                                   \
    }                                                                      \
  }

UNARY(polynomial, fmaf(fmaf(v, 0.25f, -1.5f), v, 3.0f) * v + 7.0f)
UNARY(quotient, 1.0f / (3.0f + v * v))
UNARY(root, sqrtf(fabsf(v)))
UNARY(larger, fmaxf(v, 0.1f) > 0.3f ? v : -v)
UNARY(exponential, expf(v))
UNARY(fast_exponential, __expf(v))
UNARY(logarithm, logf(fabsf(v) + 1.0f))
UNARY(tangent, tanhf(v))
UNARY(inverse_root, rsqrtf(fabsf(v) + 0.5f))
UNARY(through_half, __half2float(__float2half(v * 1.7f)))
UNARY(through_bfloat16, __bfloat162float(__float2bfloat16(v * 1.7f)))

// A product of 16 x 16 tiles; ptxas merges the loads of a row into wider ones.
extern "C" __global__ void tiled_product(const float* a, const float* b, float* c, int n) {
  __shared__ float left[16][16], right[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// Each thread a row of four halves against the array: a sum in float.
extern "C" __global__ void dot_halves(const __half2* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 >= n) return;
  const float2 a = __half22float2(x[2 * i]), b = __half22float2(x[2 * i + 1]);
  y[i] = a.x * b.x + a.y * b.y;
}
