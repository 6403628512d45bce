// A copy at the speed of plain loads and stores: the yardstick of every operation that reads and writes as much.
//   x, y    T [elements], of T's own alignment; must not overlap; each element read once and written once
//   Block   threads of a block; Packs: packs of 16 bytes per thread in flight
//   launch  grid ceil(packs / (Block * Packs)), at least 1; block Block. Each block moves one tile and ends, so that a
//           multiprocessor takes the next tile as soon as it is free
// Arrays that both begin at a multiple of 16 bytes are moved in packs, and the rest of a pack element by element; other
// arrays are moved element by element.
#pragma once
#include "common/convert.cuh"

template <int Block, int Packs, typename T>
__device__ __forceinline__ void copy_packs(const T* __restrict__ x, T* __restrict__ y, long long elements) {
  constexpr int PerPack = sizeof(uint4) / sizeof(T);  // elements of a pack
  static_assert(PerPack <= Block, "one thread each copies what is left over of a pack");
  if ((reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y)) % sizeof(uint4) != 0) {
    const long long step = static_cast<long long>(gridDim.x) * Block;
    for (long long i = static_cast<long long>(blockIdx.x) * Block + threadIdx.x; i < elements; i += step) y[i] = x[i];
    return;
  }
  const uint4* x_packs = reinterpret_cast<const uint4*>(x);
  uint4* y_packs = reinterpret_cast<uint4*>(y);
  const long long packs = elements / PerPack;
  const long long first = static_cast<long long>(blockIdx.x) * Block * Packs + threadIdx.x;  // of this thread

  if (first + (Packs - 1) * Block < packs) {
    uint4 held[Packs];  // all loads are under way before the first store waits for one
#pragma unroll
    for (int i = 0; i < Packs; ++i) held[i] = x_packs[first + i * Block];
#pragma unroll
    for (int i = 0; i < Packs; ++i) y_packs[first + i * Block] = held[i];
  } else {
    for (long long pack = first; pack < packs; pack += Block) y_packs[pack] = x_packs[pack];
  }

  const long long single = packs * PerPack + threadIdx.x;
  if (blockIdx.x == 0 && single < elements) y[single] = x[single];
}
