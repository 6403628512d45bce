// A softmax that is right, launched by plans that are not: one thread computes a row.
//   x, y     float [rows, columns]
//   launch   any number of blocks of 32; those beyond the rows end at once
extern "C" __global__ void plans_f32(const float* x, float* y, long long rows, int columns) {
  long long row = blockIdx.x * 32LL + threadIdx.x;
  if (row >= rows) return;
  const float* from = x + row * columns;
  float largest = from[0];
  for (int i = 1; i < columns; ++i) largest = fmaxf(largest, from[i]);
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i) sum += expf(from[i] - largest);
  for (int i = 0; i < columns; ++i) y[row * columns + i] = expf(from[i] - largest) / sum;
}
