// Accesses to shared memory that ptxas joins into wider ones. The code is straight: each instruction runs once per warp.
constexpr int N = 2048;

__device__ void fill(float* s, const float* x) {
#pragma unroll
  for (int k = 0; k < N; k += 256) s[k + threadIdx.x] = x[k + threadIdx.x];
  __syncthreads();
}

// Each thread 8 neighbours: two loads of 16 bytes, with conflicts.
extern "C" __global__ void neighbours(const float* x, float* y) {
  __shared__ float s[N];
  fill(s, x);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum = sum * 0.5f + s[8 * threadIdx.x + k];
  y[threadIdx.x] = sum;
}

// All threads the same 15 numbers, from the second on: the first load of 16 bytes also reads the first.
extern "C" __global__ void window(const float* x, float* y) {
  __shared__ float s[N];
  fill(s, x);
  float sum = 0;
#pragma unroll
  for (int k = 1; k < 16; ++k) sum = sum * 0.5f + s[k];
  y[threadIdx.x] = sum;
}

// A stencil: the places of neighbours are not multiples of 8 bytes, so nothing can be joined.
extern "C" __global__ void stencil(const float* x, float* y) {
  __shared__ float s[N];
  fill(s, x);
  const int i = threadIdx.x + 1;
  y[threadIdx.x] = s[i - 1] + 2 * s[i] + s[i + 1];
}

// Stores side by side.
extern "C" __global__ void stored(const float* x, float* y) {
  __shared__ float s[N];
  const float a = x[threadIdx.x];
#pragma unroll
  for (int k = 0; k < 4; ++k) s[4 * threadIdx.x + k] = a * k;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x * 5 % 1024];
}

// Rows of a tile, with columns of another: one row is read in wide loads, the column is not.
extern "C" __global__ void row_by_column(const float* x, float* y) {
  __shared__ float s[N];
  fill(s, x);
  const int row = threadIdx.x / 16, column = threadIdx.x % 16;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += s[16 * row + k] * s[16 * k + column];
  y[threadIdx.x] = sum;
}

// Rows of a transposed tile: 4 rows of 4 per thread, each in one load.
extern "C" __global__ void rows_of_four(const float* x, float* y) {
  __shared__ float s[N];
  fill(s, x);
#pragma unroll
  for (int row = 0; row < 2; ++row) {
#pragma unroll
    for (int k = 0; k < 4; ++k) y[256 * k + threadIdx.x] += s[1024 * row + 4 * threadIdx.x + k];
  }
}

// Small types: 8 of 2 bytes.
extern "C" __global__ void shorts(const short* x, int* y) {
  __shared__ short s[N];
#pragma unroll
  for (int k = 0; k < N; k += 256) s[k + threadIdx.x] = x[k + threadIdx.x];
  __syncthreads();
  int sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) sum = sum * 3 + s[8 * threadIdx.x + k];
  y[threadIdx.x] = sum;
}

// Dynamic shared memory, every load under a condition of its own.
extern "C" __global__ void conditions(const float* x, float* y, int n) {
  extern __shared__ float d[];
  fill(d, x);
  float sum = d[4 * threadIdx.x];
  if (n > 1) sum = sum * 0.5f + d[4 * threadIdx.x + 1];
  if (n > 2) sum = sum * 0.5f + d[4 * threadIdx.x + 2];
  y[threadIdx.x] = sum;
}

// nvcc unrolls this loop in part, ptxas the rest: one load of 16 bytes serves two iterations of the PTX.
extern "C" __global__ void eight_rows(const float* x, float* y) {
  __shared__ float s[N];
  fill(s, x);
  const int row = threadIdx.x / 32, column = threadIdx.x % 32;
  float sums[8] = {};
  for (int k = 0; k < 8; ++k) {
    const float right = s[1024 + 32 * k + column];
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[i] += s[(8 * row + i) * 8 + k] * right;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) y[256 * i + threadIdx.x] = sums[i];
}
