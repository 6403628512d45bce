// Softmax over rows of floats, for the speed benchmark: a warp a row and a block a row.

// Rows of 128: a lane holds four columns, loaded at once. Block (32, rows of a block).
extern "C" __global__ void warp_a_row(const float4* x, float4* y, int rows) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float4 v = x[row * 32 + threadIdx.x];
  float most = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
  for (int s = 16; s > 0; s /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, s));
  v = make_float4(__expf(v.x - most), __expf(v.y - most), __expf(v.z - most), __expf(v.w - most));
  float sum = v.x + v.y + v.z + v.w;
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, s);
  const float scale = 1.0f / sum;
  y[row * 32 + threadIdx.x] = make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
}

__device__ float across_the_block(float value, float (&of_warp)[33], float start, float (*join)(float, float)) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int s = 16; s > 0; s /= 2) value = join(value, __shfl_xor_sync(0xffffffffu, value, s));
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < warps ? of_warp[lane] : start;
    for (int s = 16; s > 0; s /= 2) value = join(value, __shfl_xor_sync(0xffffffffu, value, s));
    if (lane == 0) of_warp[32] = value;
  }
  __syncthreads();
  return of_warp[32];
}

// The row lies in dynamic shared memory between its passes.
extern "C" __global__ void block_a_row(const float* x, float* y, int columns) {
  extern __shared__ float row[];
  __shared__ float of_warp[33];
  const float* from = x + static_cast<size_t>(blockIdx.x) * columns;
  float* to = y + static_cast<size_t>(blockIdx.x) * columns;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    row[i] = from[i];
    most = fmaxf(most, row[i]);
  }
  most = across_the_block(most, of_warp, -INFINITY, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    row[i] = expf(row[i] - most);
    sum += row[i];
  }
  sum = across_the_block(sum, of_warp, 0.0f, [](float a, float b) { return a + b; });
  for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = row[i] / sum;
}
