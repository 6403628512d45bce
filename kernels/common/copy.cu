// A copy of x to y, for every operation that reads one array and writes another: it computes nothing.
//   x       T [elements or more]; its first elements read once
//   y       T [elements or more]; must not overlap x; its first elements written once
//   T       float, __half, __nv_bfloat16, moved in packs of 16 bytes
//   needs   elements >= 1
//   BLOCK   threads of a block; PACKS: packs per thread in flight; STREAMED: of copy.cuh
//   launch  grid ceil(packs / (BLOCK * PACKS)), at least 1; block BLOCK; no shared memory
//   moves   D in, D out
//   Origin: written here.
#include "common/copy.cuh"

extern "C" __global__ void copy_f32(const float* x, float* y, long long elements) {
  copy_packs<BLOCK, PACKS>(x, y, elements);
}

extern "C" __global__ void copy_f16(const __half* x, __half* y, long long elements) {
  copy_packs<BLOCK, PACKS>(x, y, elements);
}

extern "C" __global__ void copy_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long elements) {
  copy_packs<BLOCK, PACKS>(x, y, elements);
}
