// Softmax over the last axis by a block a row, and what a kernel can do to seem right or fast without doing that work.
//   x       float [rows, columns], row-major
//   y       float [rows, columns]
//   launch  grid rows, block 128 (a power of two), no dynamic shared memory
//   Each entry is one way to cheat, named in cheats.py with what finds it out.   Origin: written here.
#include <cfloat>

constexpr int THREADS = 128;

__device__ float reduced(float value, float (*join)(float, float)) {
  __shared__ float slots[THREADS];
  slots[threadIdx.x] = value;
  for (int half = THREADS / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) slots[threadIdx.x] = join(slots[threadIdx.x], slots[threadIdx.x + half]);
  }
  __syncthreads();
  const float result = slots[0];
  __syncthreads();
  return result;
}

__device__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ float sum(float a, float b) { return a + b; }

// Reads every `step`-th column of the row for its maximum and sum.
__device__ void softmax_row(const float* x, float* y, long long row, int columns, int step = 1) {
  x += row * columns;
  y += row * columns;
  float highest = -FLT_MAX;
  for (int i = threadIdx.x * step; i < columns; i += THREADS * step) highest = fmaxf(highest, x[i]);
  highest = reduced(highest, larger);
  float total = 0;
  for (int i = threadIdx.x * step; i < columns; i += THREADS * step) total += expf(x[i] - highest);
  total = step * reduced(total, sum);
  for (int i = threadIdx.x; i < columns; i += THREADS) y[i] = expf(x[i] - highest) / total;
}

#define CHEAT(name) extern "C" __global__ void name(const float* x, float* y, long long rows, int columns)

CHEAT(nothing) {}

CHEAT(constant) {
  for (int i = threadIdx.x; i < columns; i += THREADS) y[blockIdx.x * (long long)columns + i] = 1.0f / columns;
}

CHEAT(half_of_each_row) { softmax_row(x, y, blockIdx.x, columns, 2); }

CHEAT(all_rows_but_one) {
  if (blockIdx.x + 1 < rows) softmax_row(x, y, blockIdx.x, columns);
}

CHEAT(overwrites_its_input) {
  float* input = const_cast<float*>(x) + blockIdx.x * (long long)columns;
  for (int i = threadIdx.x; i < columns; i += THREADS) {
    input[i] = 0;
    y[blockIdx.x * (long long)columns + i] = 1.0f / columns;
  }
}

CHEAT(changes_one_element) {
  softmax_row(x, y, blockIdx.x, columns);
  if (blockIdx.x + 1 == rows && threadIdx.x == 0) atomicAdd(const_cast<float*>(x) + rows * columns - 1, 1.0f);
}

CHEAT(writes_behind_its_output) {
  softmax_row(x, y, blockIdx.x, columns);
  if (blockIdx.x == 0) y[rows * columns + threadIdx.x] = 0;
}

CHEAT(works_where_y_is_not_done) {
  __shared__ int done;
  if (threadIdx.x == 0) done = y[blockIdx.x * (long long)columns] >= 0;
  __syncthreads();
  if (!done) softmax_row(x, y, blockIdx.x, columns);
}

__device__ float first_answer[1 << 20];
__device__ unsigned calls;  // blocks that have run, of all calls

CHEAT(remembers_its_answer) {
  __shared__ unsigned before;
  if (threadIdx.x == 0) before = atomicAdd(&calls, 1);
  __syncthreads();
  const long long at = blockIdx.x * (long long)columns;
  if (before < rows) softmax_row(x, y, blockIdx.x, columns);
  for (int i = threadIdx.x; i < columns; i += THREADS) {
    if (before < rows) first_answer[at + i] = y[at + i];
    y[at + i] = first_answer[at + i];
  }
}

__device__ float kept_answer[1 << 20];
__device__ float probes[1 << 14];

CHEAT(looks_at_one_element_per_row) {
  const long long at = blockIdx.x * (long long)columns;
  const bool as_before = probes[blockIdx.x] == x[at];
  if (!as_before) softmax_row(x, y, blockIdx.x, columns);
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += THREADS) {
    if (!as_before) kept_answer[at + i] = y[at + i];
    y[at + i] = kept_answer[at + i];
  }
  if (threadIdx.x == 0) probes[blockIdx.x] = x[at];
}

__device__ unsigned blocks_run;

CHEAT(fewer_rows_from_the_fourth_call) {
  __shared__ unsigned before;
  if (threadIdx.x == 0) before = atomicAdd(&blocks_run, 1);
  __syncthreads();
  if (before < 3 * rows || blockIdx.x % 2 == 0) softmax_row(x, y, blockIdx.x, columns);
}

__device__ unsigned long long first_place;

CHEAT(right_at_one_place) {
  const unsigned long long place = reinterpret_cast<unsigned long long>(y);
  __shared__ unsigned long long first;
  if (threadIdx.x == 0) {
    const unsigned long long before = atomicCAS(&first_place, 0ull, place);
    first = before ? before : place;
  }
  __syncthreads();
  if (place == first) softmax_row(x, y, blockIdx.x, columns);
}

extern "C" __global__ void leaves_its_answer(const float* x, float* y, long long rows, int columns, float* scratch) {
  softmax_row(x, y, blockIdx.x, columns);
  for (int i = threadIdx.x; i < columns; i += THREADS)
    scratch[blockIdx.x * (long long)columns + i] = y[blockIdx.x * (long long)columns + i];
}

extern "C" __global__ void takes_that_answer(const float* x, float* y, long long rows, int columns, float* scratch) {
  for (int i = threadIdx.x; i < columns; i += THREADS)
    y[blockIdx.x * (long long)columns + i] = scratch[blockIdx.x * (long long)columns + i];
}
