// A copy by CUB's DeviceTransform; host code that launches by itself.
//   x        T [elements]; read once
//   y        T [elements]; must not overlap x; written once
//   T        float, __half, __nv_bfloat16
//   needs    nothing: any number of elements >= 1
//   launch   as CUB chooses for the GPU: one kernel, from sm_90 on with bulk copies into shared memory
//   moves    D in, D out.
//   Origin: NVIDIA/cccl, cub::DeviceTransform::Transform, called as it is.
#include <cub/device/device_transform.cuh>

#include "common/convert.cuh"

struct Same {
  template <typename T>
  __device__ T operator()(T x) const { return x; }
};

template <typename T>
static int copy(const T* x, T* y, long long elements, cudaStream_t stream) {
  return cub::DeviceTransform::Transform(x, y, elements, Same(), stream);
}

extern "C" int copy_cub_transform_f32(const float* x, float* y, long long elements, cudaStream_t stream) {
  return copy(x, y, elements, stream);
}

extern "C" int copy_cub_transform_f16(const __half* x, __half* y, long long elements, cudaStream_t stream) {
  return copy(x, y, elements, stream);
}

extern "C" int copy_cub_transform_bf16(
    const __nv_bfloat16* x, __nv_bfloat16* y, long long elements, cudaStream_t stream) {
  return copy(x, y, elements, stream);
}
