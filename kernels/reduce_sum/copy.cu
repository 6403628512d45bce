// A copy of the first half of x: the yardstick, which moves as many bytes as a sum of all of x reads.
//   x       T [elements]; its first half read once
//   half    T [elements / 2]; must not overlap x; written once
//   y       float [1]: x[0], so that there is a result to be checked
//   T       float, __half, __nv_bfloat16, moved in packs of 16 bytes
//   needs   elements >= 1
//   BLOCK   threads of a block; PACKS: packs per thread in flight; STREAMED: of common/copy.cuh
//   launch  grid ceil(packs / (BLOCK * PACKS)), at least 1; block BLOCK; no shared memory
//   moves   D / 2 in, D / 2 out
//   Origin: written here.
#include "common/copy.cuh"

template <typename T>
__device__ void reduce_sum_copy(const T* __restrict__ x, T* __restrict__ half, float* __restrict__ y,
                                long long elements) {
  copy_packs<BLOCK, PACKS>(x, half, elements);
  if (blockIdx.x == 0 && threadIdx.x == 0) y[0] = to_float(x[0]);
}

extern "C" __global__ void reduce_sum_copy_f32(const float* x, float* half, float* y, long long elements) {
  reduce_sum_copy(x, half, y, elements);
}

extern "C" __global__ void reduce_sum_copy_f16(const __half* x, __half* half, float* y, long long elements) {
  reduce_sum_copy(x, half, y, elements);
}

extern "C" __global__ void reduce_sum_copy_bf16(const __nv_bfloat16* x, __nv_bfloat16* half, float* y,
                                                long long elements) {
  reduce_sum_copy(x, half, y, elements);
}
