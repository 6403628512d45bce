// ReLU by CUB's DeviceTransform; host code that launches by itself.
//   x        T [elements]; read once
//   y        T [elements]; must not overlap x; written once
//   T        float, __half, __nv_bfloat16
//   needs    nothing: any number of elements >= 1
//   launch   as CUB chooses for the GPU: one kernel, from sm_90 on with bulk copies into shared memory
//   moves    D in, D out.   A NaN stays one.
//   Origin: NVIDIA/cccl, cub::DeviceTransform::Transform, called as it is.
#include <cub/device/device_transform.cuh>

#include "positive_part.cuh"

template <typename T>
static int relu(const T* x, T* y, long long elements, cudaStream_t stream) {
  return cub::DeviceTransform::Transform(x, y, elements, PositivePart<T>(), stream);
}

extern "C" int relu_cub_transform_f32(const float* x, float* y, long long elements, cudaStream_t stream) {
  return relu(x, y, elements, stream);
}

extern "C" int relu_cub_transform_f16(const __half* x, __half* y, long long elements, cudaStream_t stream) {
  return relu(x, y, elements, stream);
}

extern "C" int relu_cub_transform_bf16(
    const __nv_bfloat16* x, __nv_bfloat16* y, long long elements, cudaStream_t stream) {
  return relu(x, y, elements, stream);
}
