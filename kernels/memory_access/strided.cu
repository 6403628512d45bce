// A copy, one element per thread, of which each side may begin at an offset and go by a stride.
//   x       T [x_offset + (elements - 1) * x_stride + 1]; elements of them read once
//   y       T [y_offset + (elements - 1) * y_stride + 1]; must not overlap x; elements of them written once
//   T       float, __half, __nv_bfloat16
//   needs   elements >= 1; offsets >= 0, strides >= 1, both in elements
//   launch  one thread per element: any block of one dimension; no shared memory
//   moves   D in, D out, and with them whatever shares a sector of 32 bytes
//   Origin: the access patterns of OneFlow's article on 100 days, after NVIDIA's best practices; written here.
#include "common/elementwise.cuh"

// Strides are known at run time only: one instruction sequence serves every point of a curve.
template <typename T>
__device__ __forceinline__ void copy_strided(const T* x, T* y, long long elements, long long x_offset,
                                             long long x_stride, long long y_offset, long long y_stride) {
  const long long i = global_thread();  // ranges [0, elements)
  if (i < elements) y[y_offset + i * y_stride] = x[x_offset + i * x_stride];
}

extern "C" __global__ void memory_access_strided_f32(const float* x, float* y, long long elements, long long x_offset,
                                                     long long x_stride, long long y_offset, long long y_stride) {
  copy_strided(x, y, elements, x_offset, x_stride, y_offset, y_stride);
}

extern "C" __global__ void memory_access_strided_f16(const __half* x, __half* y, long long elements,
                                                     long long x_offset, long long x_stride, long long y_offset,
                                                     long long y_stride) {
  copy_strided(x, y, elements, x_offset, x_stride, y_offset, y_stride);
}

extern "C" __global__ void memory_access_strided_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long elements,
                                                      long long x_offset, long long x_stride, long long y_offset,
                                                      long long y_stride) {
  copy_strided(x, y, elements, x_offset, x_stride, y_offset, y_stride);
}
