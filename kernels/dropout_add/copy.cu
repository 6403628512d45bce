// A copy of as many bytes as dropout and addition in one launch move: the yardstick, which computes nothing.
//   x, addend  T [elements]; x and the first `more` elements of addend are read once
//   y          T [elements]: x; must not overlap x or addend; written once
//   rest       T [more]: the beginning of addend; written once
//   T          float, __half, __nv_bfloat16, moved in packs of 16 bytes
//   needs      elements >= 1, more <= elements
//   BLOCK      threads of a block; PACKS: packs per thread in flight; STREAMED: of common/copy.cuh
//   launch     grid ceil(packs / (BLOCK * PACKS)), at least 1; block BLOCK; no shared memory
//   moves      with the mask's bytes halved: for float 1.625 D in and out, for the others 1.75 D
//   Origin: written here.
#include "common/copy.cuh"

template <typename T>
__device__ __forceinline__ void dropout_add_copy(const T* x, const T* addend, T* y, T* rest, long long elements,
                                                 long long more) {
  copy_packs<BLOCK, PACKS>(x, y, elements);
  copy_packs<BLOCK, PACKS>(addend, rest, more);
}

extern "C" __global__ void dropout_add_copy_f32(const float* x, const float* addend, float* y, float* rest,
                                                long long elements, long long more) {
  dropout_add_copy(x, addend, y, rest, elements, more);
}

extern "C" __global__ void dropout_add_copy_f16(const __half* x, const __half* addend, __half* y, __half* rest,
                                                long long elements, long long more) {
  dropout_add_copy(x, addend, y, rest, elements, more);
}

extern "C" __global__ void dropout_add_copy_bf16(const __nv_bfloat16* x, const __nv_bfloat16* addend,
                                                 __nv_bfloat16* y, __nv_bfloat16* rest, long long elements,
                                                 long long more) {
  dropout_add_copy(x, addend, y, rest, elements, more);
}
