// y = transposed x, x [height, width]: without shared memory, and through a tile of 32 x 32 with and without a
// column more. Block (32, 8).
constexpr int TILE = 32, STEP = 8;

extern "C" __global__ void plain(const float* x, float* y, int width, int height) {
  const int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += STEP)
    if (column < width && row + i < height) y[column * height + row + i] = x[(row + i) * width + column];
}

template <int PITCH>
__device__ void through_tile(const float* x, float* y, int width, int height) {
  __shared__ float tile[TILE][PITCH];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += STEP)
    if (column < width && row + i < height) tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * width + column];
  __syncthreads();
  column = blockIdx.y * TILE + threadIdx.x;  // of y, whose width is x's height
  row = blockIdx.x * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += STEP)
    if (column < height && row + i < width) y[(row + i) * height + column] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void tiled(const float* x, float* y, int width, int height) {
  through_tile<TILE>(x, y, width, height);
}

extern "C" __global__ void padded(const float* x, float* y, int width, int height) {
  through_tile<TILE + 1>(x, y, width, height);
}
