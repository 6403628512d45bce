// Arrays of a thread's own that are indexed by numbers known at run time: local memory.
__device__ __forceinline__ int thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void picked(const int* x, int* y, int n) {
  int own[16];
  for (int k = 0; k < 16; ++k) own[k] = x[k * n + thread_number()];
  int at = 0;
#pragma unroll 1
  for (int k = 0; k < 5; ++k) at = own[at] % 16;
  if (thread_number() < n) y[thread_number()] = at;
}

extern "C" __global__ void sorted(const float* x, float* y) {
  float own[8];
  for (int k = 0; k < 8; ++k) own[k] = x[thread_number() * 8 + k];
#pragma unroll 1
  for (int k = 1; k < 8; ++k) {
    const float value = own[k];
    int at = k;
    while (at > 0 && own[at - 1] > value) {
      own[at] = own[at - 1];
      --at;
    }
    own[at] = value;
  }
#pragma unroll 1
  for (int k = 0; k < 8; ++k) y[thread_number() * 8 + k] = own[k];
}

extern "C" __global__ void counted_bytes(const unsigned char* x, unsigned char* y, int n) {
  unsigned char counts[32];
  for (int k = 0; k < 32; ++k) counts[k] = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) ++counts[x[thread_number() * n + k] % 32];
  unsigned char most = 0;
#pragma unroll 1
  for (int k = 0; k < 32; ++k) most = max(most, counts[k]);
  y[thread_number()] = most;
}
