// The product of two arrays by CUB's DeviceTransform; host code that launches by itself.
//   x, y     T [elements]; each element read once
//   z        T [elements]; must not overlap x or y; written once
//   T        float, __half, __nv_bfloat16
//   needs    nothing: any number of elements >= 1
//   launch   as CUB chooses for the GPU: one kernel, from sm_90 on with bulk copies into shared memory
//   moves    2 D in, D out
//   Origin: NVIDIA/cccl, cub::DeviceTransform::Transform, called as it is.
#include <cub/device/device_transform.cuh>

#include "product.cuh"

template <typename T>
static int multiply(const T* x, const T* y, T* z, long long elements, cudaStream_t stream) {
  return cub::DeviceTransform::Transform(::cuda::std::tuple{x, y}, z, elements, Product<T>(), stream);
}

extern "C" int multiply_cub_transform_f32(
    const float* x, const float* y, float* z, long long elements, cudaStream_t stream) {
  return multiply(x, y, z, elements, stream);
}

extern "C" int multiply_cub_transform_f16(
    const __half* x, const __half* y, __half* z, long long elements, cudaStream_t stream) {
  return multiply(x, y, z, elements, stream);
}

extern "C" int multiply_cub_transform_bf16(
    const __nv_bfloat16* x, const __nv_bfloat16* y, __nv_bfloat16* z, long long elements, cudaStream_t stream) {
  return multiply(x, y, z, elements, stream);
}
