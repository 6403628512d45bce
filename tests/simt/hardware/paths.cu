// Lanes that do not go the same way: tails, both sides of a branch, loops of different lengths.
__device__ __forceinline__ int thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void guarded(const float* x, float* y, int n) {
  const int i = thread_number();
  if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}

// Four elements a thread at once, the last few one by one.
extern "C" __global__ void vector_and_tail(const float* x, float* y, int n) {
  const int i = thread_number() * 4;
  if (i + 4 <= n) {
    float4 value = *reinterpret_cast<const float4*>(x + i);
    value.x *= 3.0f, value.y *= 3.0f, value.z *= 3.0f, value.w *= 3.0f;
    *reinterpret_cast<float4*>(y + i) = value;
  } else {
    for (int k = i; k < n; ++k) y[k] = x[k] * 3.0f;
  }
}

// Even and odd lanes read different arrays.
extern "C" __global__ void both_sides(const float* a, const float* b, float* y, int n) {
  const int i = thread_number();
  if (i >= n) return;
  if (i % 2 == 0) {
    float sum = 0;
    for (int k = 0; k < 3; ++k) sum += a[(i + k * 32) % n];
    y[i] = sum;
  } else {
    float product = 1;
    for (int k = 0; k < 5; ++k) product *= b[(i + k * 64) % n];
    y[i] = product;
  }
}

extern "C" __global__ void four_ways(const float* x, float* y, int n) {
  const int i = thread_number();
  if (i >= n) return;
  switch (i % 4) {
    case 0: y[i] = x[i] + x[n - 1 - i]; break;
    case 1: y[i] = x[i] * x[i]; break;
    case 2: y[i] = x[i / 2] - x[i]; break;
    default: y[i] = 0.0f;
  }
}

// A loop as long as each lane's own number says, with a load in it.
extern "C" __global__ void ragged(const int* lengths, const float* x, float* sums, int n) {
  const int i = thread_number();
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < lengths[i]; ++k) sum += x[i + k];
  sums[i] = sum;
}

extern "C" __global__ void collatz(int* steps, int n) {
  const int i = thread_number();
  if (i >= n) return;
  int value = i, count = 0;
  while (value > 1) {
    value = value % 2 ? 3 * value + 1 : value / 2;
    ++count;
  }
  steps[i] = count;
}

// Those above the threshold, packed together in their order within the warp.
extern "C" __global__ void compact(const float* x, float* y, int* counts, float threshold, int n) {
  const int i = thread_number(), lane = threadIdx.x % 32;
  const bool kept = i < n && x[i] > threshold;
  const unsigned ballot = __ballot_sync(0xffffffffu, kept);
  if (kept) y[i - lane + __popc(ballot & ((1u << lane) - 1))] = x[i];
  if (lane == 0) counts[i / 32] = __popc(ballot);
}

// Lanes search a sorted table, each its own path down.
extern "C" __global__ void binary_search(const int* table, const int* wanted, int* found, int size, int n) {
  const int i = thread_number();
  if (i >= n) return;
  int low = 0, high = size;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (table[middle] < wanted[i]) low = middle + 1;
    else high = middle;
  }
  found[i] = low;
}
