// Copies of one element a thread, with gaps and offsets on one side: what a warp's accesses cost in sectors.
//   stride, offset   in elements; n elements are copied, and threads from n on do nothing
#include <cuda_fp16.h>

__device__ __forceinline__ int thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

#define COPY_KERNELS(T, NAME)                                                                            \
  extern "C" __global__ void read_##NAME(const T* x, T* y, int stride, int offset, int n) {              \
    const int i = thread_number();                                                                       \
    if (i < n) y[i] = x[static_cast<long long>(i) * stride + offset];                                    \
  }                                                                                                      \
  extern "C" __global__ void write_##NAME(const T* x, T* y, int stride, int offset, int n) {             \
    const int i = thread_number();                                                                       \
    if (i < n) y[static_cast<long long>(i) * stride + offset] = x[i];                                    \
  }

COPY_KERNELS(unsigned char, u8)
COPY_KERNELS(__half, f16)
COPY_KERNELS(float, f32)
COPY_KERNELS(float2, f32x2)
COPY_KERNELS(float4, f32x4)
COPY_KERNELS(double, f64)

struct Point {
  float x, y, z;
};

// An array of structures of 12 bytes: three loads, 12 bytes apart from lane to lane.
extern "C" __global__ void structures(const Point* points, float* norms, int n) {
  const int i = thread_number();
  if (i >= n) return;
  const Point p = points[i];
  norms[i] = p.x * p.x + p.y * p.y + p.z * p.z;
}

// y[i] = x[index[i]]: whatever the indices make of it.
extern "C" __global__ void gather(const float* x, const int* index, float* y, int n) {
  const int i = thread_number();
  if (i < n) y[i] = x[index[i]];
}

extern "C" __global__ void scatter(const float* x, const int* index, float* y, int n) {
  const int i = thread_number();
  if (i < n) y[index[i]] = x[i];
}

// Eight halves of 16 bytes at once, multiplied in pairs.
extern "C" __global__ void multiply_halves(const uint4* a, const uint4* b, uint4* c, int n) {
  const int i = thread_number();
  if (i >= n) return;
  uint4 left = a[i], right = b[i], product;
  const __half2* l = reinterpret_cast<const __half2*>(&left);
  const __half2* r = reinterpret_cast<const __half2*>(&right);
  __half2* p = reinterpret_cast<__half2*>(&product);
#pragma unroll
  for (int k = 0; k < 4; ++k) p[k] = __hmul2(l[k], r[k]);
  c[i] = product;
}
