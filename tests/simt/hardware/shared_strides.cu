// One access a lane to shared memory, `stride` elements from lane to lane, each warp in a region of its own.
// All elements are written before they are read, without conflicts. Block at most 256 threads.
#include <cuda_fp16.h>

constexpr int BYTES = 48 * 1024;

#define SHARED_KERNELS(T, NAME)                                                                          \
  extern "C" __global__ void load_##NAME(const T* x, T* y, int stride) {                                 \
    __shared__ T slots[BYTES / sizeof(T)];                                                               \
    const int region = blockDim.x == 32 ? BYTES / sizeof(T) : BYTES / sizeof(T) / (blockDim.x / 32);     \
    for (int i = threadIdx.x; i < BYTES / sizeof(T); i += blockDim.x) slots[i] = x[i];                   \
    __syncthreads();                                                                                     \
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;                                          \
    y[blockIdx.x * blockDim.x + threadIdx.x] = slots[warp * region + lane * stride];                     \
  }                                                                                                      \
  extern "C" __global__ void store_##NAME(const T* x, T* y, int stride) {                                \
    __shared__ T slots[BYTES / sizeof(T)];                                                               \
    const int region = blockDim.x == 32 ? BYTES / sizeof(T) : BYTES / sizeof(T) / (blockDim.x / 32);     \
    for (int i = threadIdx.x; i < BYTES / sizeof(T); i += blockDim.x) slots[i] = x[i];                   \
    __syncthreads();                                                                                     \
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;                                          \
    slots[warp * region + lane * stride] = x[threadIdx.x];                                               \
    __syncthreads();                                                                                     \
    y[blockIdx.x * blockDim.x + threadIdx.x] = slots[threadIdx.x];                                       \
  }

SHARED_KERNELS(unsigned char, u8)
SHARED_KERNELS(__half, f16)
SHARED_KERNELS(float, f32)
SHARED_KERNELS(float2, f32x2)
SHARED_KERNELS(float4, f32x4)

// Lanes read what `share` neighbours of theirs read as well, those whose bit of `lanes` is set: 8 and 16 bytes wide,
// where halves and quarters of a warp may be served together.
template <typename T>
__device__ void shared_by_neighbours(const T* x, T* y, int share, unsigned lanes) {
  __shared__ T slots[256];
  slots[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (lanes >> (threadIdx.x % 32) & 1) y[threadIdx.x] = slots[threadIdx.x / share];
}

extern "C" __global__ void neighbours_f32x2(const float2* x, float2* y, int share, unsigned lanes) {
  shared_by_neighbours(x, y, share, lanes);
}

extern "C" __global__ void neighbours_f32x4(const float4* x, float4* y, int share, unsigned lanes) {
  shared_by_neighbours(x, y, share, lanes);
}
