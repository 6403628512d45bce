// The sum of an array by CUB's DeviceReduce, in float32; host code that launches by itself.
//   x        T [elements]; read once
//   y        float [1]
//   scratch  SCRATCH bytes, 256-byte aligned: what CUB keeps its blocks' sums in
//   T        float, __half, __nv_bfloat16
//   needs    nothing: any number of elements >= 1
//   launch   as CUB chooses for the GPU: one kernel, or two with the second over the blocks' sums
//   moves    D in, 4 bytes out
//   Origin: NVIDIA/cccl, cub::DeviceReduce::TransformReduce, called as it is.
#include <cub/device/device_reduce.cuh>

#include "common/convert.cuh"

struct Widen {
  template <typename T>
  __device__ float operator()(T value) const { return to_float(value); }
};

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};

template <typename T>
static int sum(const T* x, float* y, void* scratch, long long elements, cudaStream_t stream) {
  size_t needed = 0;
  cudaError_t error = cub::DeviceReduce::TransformReduce(nullptr, needed, x, y, elements, Add{}, Widen{}, 0.0f, stream);
  if (error != cudaSuccess) return error;
  if (needed > SCRATCH) return cudaErrorMemoryAllocation;
  return cub::DeviceReduce::TransformReduce(scratch, needed, x, y, elements, Add{}, Widen{}, 0.0f, stream);
}

extern "C" int reduce_sum_cub_f32(const float* x, float* y, void* scratch, long long elements, cudaStream_t stream) {
  return sum(x, y, scratch, elements, stream);
}

extern "C" int reduce_sum_cub_f16(const __half* x, float* y, void* scratch, long long elements, cudaStream_t stream) {
  return sum(x, y, scratch, elements, stream);
}

extern "C" int reduce_sum_cub_bf16(
    const __nv_bfloat16* x, float* y, void* scratch, long long elements, cudaStream_t stream) {
  return sum(x, y, scratch, elements, stream);
}
