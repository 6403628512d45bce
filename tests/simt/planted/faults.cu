// One mistake a kernel. `// here` marks the line at which it shows; of a race it may be either of two.
#include <cassert>

extern "C" __global__ void reads_past_the_end(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = 0;
  if (i <= n) value = x[i];  // here: one too many
  if (i < n) y[i] = value;
}

extern "C" __global__ void reads_before_the_start(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i - 1];  // here
}

extern "C" __global__ void writes_past_the_end(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i + 1] = x[i];  // here
}

extern "C" __global__ void reads_far_away(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[static_cast<long long>(i) * 1000003 * 4096 + (1ll << 40)];  // here
}

extern "C" __global__ void adds_past_the_end(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&y[x[i]], 1);  // here
}

extern "C" __global__ void misaligned_load(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  const float2 pair = *reinterpret_cast<const float2*>(x + i);  // here: odd lanes
  y[i] = pair.x + pair.y;
}

extern "C" __global__ void misaligned_store(const float* x, float* y, int n) {
  *reinterpret_cast<float4*>(y + 1 + 4 * threadIdx.x) = make_float4(x[0], 1, 2, 3);  // here
}

extern "C" __global__ void shared_past_the_end(const float* x, float* y, int n) {
  __shared__ float slots[64];
  slots[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = slots[threadIdx.x + n];  // here
}

// ---- never written -------------------------------------------------------------------------------

extern "C" __global__ void adds_to_nothing(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];  // here: y is not set by anyone
}

extern "C" __global__ void tail_of_the_tile(const float* x, float* y, int n) {
  __shared__ float slots[64];
  const int i = threadIdx.x;
  if (i < n) slots[i] = x[i];
  __syncthreads();
  y[i] = slots[63 - i];  // here: slots from n on
}

extern "C" __global__ void local_never_written(const float* x, float* y, int n) {
  float own[8];
  for (int k = 0; k < 4; ++k) own[k] = x[threadIdx.x * 4 + k];
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) sum += own[k];  // here
  y[threadIdx.x] = sum;
}

// ---- hazards -------------------------------------------------------------------------------------

extern "C" __global__ void reads_what_another_writes(const float* x, float* y, int n) {
  __shared__ float slots[64];
  const int i = threadIdx.x;
  slots[i] = x[i];
  __syncthreads();
  if (i < 32)
    slots[i] = 1.0f;  // here
  else
    y[i] = slots[i - 32];  // or here
}

extern "C" __global__ void writes_what_another_reads(const float* x, float* y, int n) {
  __shared__ float slots[64];
  const int i = threadIdx.x;
  slots[i] = x[i];
  __syncthreads();
  if (i < 32)
    y[i] = slots[i + 32];  // here
  else
    slots[i] = 1.0f;  // or here
}

extern "C" __global__ void both_write(const float* x, float* y, int n) {
  __shared__ float slots[32];
  const int i = threadIdx.x;
  slots[i % 32] = x[i];  // here
  __syncthreads();
  y[i] = slots[i % 32];
}

extern "C" __global__ void tree_without_a_barrier(const float* x, float* y, int n) {
  __shared__ float slots[128];
  const int i = threadIdx.x;
  slots[i] = x[i];
  __syncthreads();
  for (int s = 64; s > 0; s /= 2) {
    if (i < s) slots[i] += slots[i + s];  // here: the barrier after it is missing
  }
  if (i == 0) y[0] = slots[0];
}

extern "C" __global__ void lanes_without_a_meeting(const float* x, float* y, int n) {
  __shared__ float slots[32];
  slots[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = slots[31 - threadIdx.x];  // here: no __syncwarp before it
}

extern "C" __global__ void lanes_after_a_barrier(const float* x, float* y, int n) {
  __shared__ float slots[64];
  slots[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  slots[threadIdx.x] += 1;
  y[threadIdx.x] = slots[threadIdx.x ^ 1];  // here: a barrier of the block is no meeting after it
}

// ---- synchronisation -----------------------------------------------------------------------------

extern "C" __global__ void barrier_in_a_branch(const float* x, float* y, int n) {
  if (threadIdx.x < n) {
    y[threadIdx.x] = x[threadIdx.x];
    __syncthreads();  // here
    y[threadIdx.x] += 1;
  }
  y[threadIdx.x + 64] = x[threadIdx.x];
}

extern "C" __global__ void shuffle_in_a_branch(const float* x, float* y, int n) {
  float value = x[threadIdx.x];
  if (threadIdx.x < n) value += __shfl_down_sync(0xffffffffu, value, 16);  // here
  y[threadIdx.x] = value;
}

extern "C" __global__ void waits_for_nobody(const float* x, float* y, int n) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;" ::: "memory");  // here: the second warp never comes
  y[threadIdx.x] = x[threadIdx.x];
}

extern "C" __global__ void never_ends(const float* x, float* y, int n) {
  volatile float* flag = y;
  flag[0] = x[0];
  while (flag[0] != -1.0f) {  // here
  }
}

extern "C" __global__ void asserts(const float* x, float* y, int n) {
  const float value = x[threadIdx.x];
  assert(value >= 0.0f);  // here
  y[threadIdx.x] = value;
}

extern "C" __global__ void traps(const float* x, float* y, int n) {
  if (x[threadIdx.x] < 0.0f) __trap();  // here
  y[threadIdx.x] = 1.0f;
}
