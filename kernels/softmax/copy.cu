// A copy of x to y, as fast as plain loads and stores go: what a softmax that moves each byte once could reach.
//   x       T [elements], 16-byte aligned; read once
//   y       T [elements], 16-byte aligned; must not overlap x; written once
//   T       float, __half, __nv_bfloat16, moved in packs of 16 bytes; the last elements % (16 / sizeof(T)) singly
//   needs   nothing: any number of elements >= 1
//   BLOCK   threads of a block; PACKS: packs a thread has in flight
//   launch  grid ceil(packs / (BLOCK * PACKS)), at least 1; block BLOCK; no shared memory. Each block moves one
//           tile and ends, so that no multiprocessor waits for a fixed share of the others' work
//   moves   D in, D out
//   Origin: written here.
#include "common/convert.cuh"

template <typename T>
__device__ void copy_packs(const T* __restrict__ x, T* __restrict__ y, long long elements) {
  constexpr int PACK = sizeof(uint4) / sizeof(T);  // elements of a pack
  static_assert(PACK <= BLOCK, "one thread each copies what is left over of a pack");
  const uint4* x_packs = reinterpret_cast<const uint4*>(x);
  uint4* y_packs = reinterpret_cast<uint4*>(y);
  const long long packs = elements / PACK;
  const long long first = static_cast<long long>(blockIdx.x) * BLOCK * PACKS + threadIdx.x;  // of this thread

  if (first + (PACKS - 1) * BLOCK < packs) {
    uint4 held[PACKS];  // all loads are under way before the first store waits for one
#pragma unroll
    for (int i = 0; i < PACKS; ++i) held[i] = x_packs[first + i * BLOCK];
#pragma unroll
    for (int i = 0; i < PACKS; ++i) y_packs[first + i * BLOCK] = held[i];
  } else {
    for (long long pack = first; pack < packs; pack += BLOCK) y_packs[pack] = x_packs[pack];
  }

  const long long single = packs * PACK + threadIdx.x;
  if (blockIdx.x == 0 && single < elements) y[single] = x[single];
}

extern "C" __global__ void softmax_copy_f32(const float* x, float* y, long long elements) {
  copy_packs(x, y, elements);
}

extern "C" __global__ void softmax_copy_f16(const __half* x, __half* y, long long elements) {
  copy_packs(x, y, elements);
}

extern "C" __global__ void softmax_copy_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long elements) {
  copy_packs(x, y, elements);
}
