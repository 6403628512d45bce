// A copy of as many bytes as a product of two arrays moves: the yardstick, which computes nothing.
//   x, y    T [elements]; x and the first half of y are read once
//   z       T [elements]: x; must not overlap x or y; written once
//   half    T [elements / 2]: the first half of y; written once
//   T       float, __half, __nv_bfloat16, moved in packs of 16 bytes
//   needs   elements >= 1
//   BLOCK   threads of a block; PACKS: packs per thread in flight; STREAMED: of common/copy.cuh
//   launch  grid ceil(packs / (BLOCK * PACKS)), at least 1; block BLOCK; no shared memory
//   moves   1.5 D in, 1.5 D out
//   Origin: written here.
#include "common/copy.cuh"

template <typename T>
__device__ void multiply_copy(const T* x, const T* y, T* z, T* half, long long elements) {
  copy_packs<BLOCK, PACKS>(x, z, elements);
  copy_packs<BLOCK, PACKS>(y, half, elements / 2);
}

extern "C" __global__ void multiply_copy_f32(const float* x, const float* y, float* z, float* half,
                                             long long elements) {
  multiply_copy(x, y, z, half, elements);
}

extern "C" __global__ void multiply_copy_f16(const __half* x, const __half* y, __half* z, __half* half,
                                             long long elements) {
  multiply_copy(x, y, z, half, elements);
}

extern "C" __global__ void multiply_copy_bf16(const __nv_bfloat16* x, const __nv_bfloat16* y, __nv_bfloat16* z,
                                              __nv_bfloat16* half, long long elements) {
  multiply_copy(x, y, z, half, elements);
}
