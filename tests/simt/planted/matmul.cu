// A product of matrices by tiles in shared memory, which all warps read.
//   a, b, c   float [n, n]; n a multiple of 32
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float left[32][32], right[32][32];
  const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
  float sum = 0;
  for (int k = 0; k < n; k += 32) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 32; ++j) sum += left[y][j] * right[j][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
