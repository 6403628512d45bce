// A copy, and words of zeros: the yardstick, which computes nothing.
//   x       T [elements]; read once
//   y       T [elements]: x; must not overlap x; written once
//   mask    words [words]: 0; written once
//   T       float, __half, __nv_bfloat16, moved in packs of 16 bytes
//   needs   elements >= 1
//   BLOCK   threads of a block; PACKS: packs per thread in flight; STREAMED: of common/copy.cuh
//   launch  grid ceil(packs / (BLOCK * PACKS)), at least 1; block BLOCK; no shared memory
//   moves   D in, D and one bit per element out
//   Origin: written here.
#include "common/copy.cuh"
#include "common/elementwise.cuh"

template <typename T>
__device__ __forceinline__ void relu_bitset_copy(const T* x, T* y, unsigned* mask, long long elements,
                                                 long long words) {
  copy_packs<BLOCK, PACKS>(x, y, elements);
  for (long long i = global_thread(); i < words; i += global_threads()) mask[i] = 0;
}

extern "C" __global__ void relu_bitset_copy_f32(const float* x, float* y, unsigned* mask, long long elements,
                                                long long words) {
  relu_bitset_copy(x, y, mask, elements, words);
}

extern "C" __global__ void relu_bitset_copy_f16(const __half* x, __half* y, unsigned* mask, long long elements,
                                                long long words) {
  relu_bitset_copy(x, y, mask, elements, words);
}

extern "C" __global__ void relu_bitset_copy_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, unsigned* mask,
                                                 long long elements, long long words) {
  relu_bitset_copy(x, y, mask, elements, words);
}
