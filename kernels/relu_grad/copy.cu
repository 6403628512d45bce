// A copy: the yardstick, which computes nothing.
//   dy      T [elements]; read once
//   dx      T [elements]: dy; must not overlap dy; written once
//   T       float, __half, __nv_bfloat16, moved in packs of 16 bytes
//   needs   elements >= 1
//   BLOCK   threads of a block; PACKS: packs per thread in flight; STREAMED: of common/copy.cuh
//   launch  grid ceil(packs / (BLOCK * PACKS)), at least 1; block BLOCK; no shared memory
//   moves   D in, D out, without the bits of a mask
//   Origin: written here.
#include "common/copy.cuh"

extern "C" __global__ void relu_grad_copy_f32(const float* dy, float* dx, long long elements) {
  copy_packs<BLOCK, PACKS>(dy, dx, elements);
}

extern "C" __global__ void relu_grad_copy_f16(const __half* dy, __half* dx, long long elements) {
  copy_packs<BLOCK, PACKS>(dy, dx, elements);
}

extern "C" __global__ void relu_grad_copy_bf16(const __nv_bfloat16* dy, __nv_bfloat16* dx, long long elements) {
  copy_packs<BLOCK, PACKS>(dy, dx, elements);
}
