// A copy as fast as plain loads and stores go: the yardstick of every operation that reads and writes as much.
//   x, y    T [elements], of T's own alignment; must not overlap; each element read once and written once
//   Block   threads of a block; Packs: packs of 16 bytes per thread in flight
//   Streamed  whether packs are marked as used once, so that they leave the caches first; STREAMED by default, else no
//   launch  grid ceil(packs / (Block * Packs)), at least 1; block Block. Each block moves one tile and ends, so
//           that no multiprocessor waits for a fixed share of the others' work
// Arrays that both begin at a multiple of 16 bytes are moved in packs, and the rest of a pack element by element;
// other arrays are moved element by element.
#pragma once
#include "common/convert.cuh"

#ifndef STREAMED
#define STREAMED 0
#endif

template <int Block, int Packs, bool Streamed = (STREAMED != 0), typename T>
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
    for (int i = 0; i < Packs; ++i) held[i] = Streamed ? __ldcs(x_packs + first + i * Block) : x_packs[first + i * Block];
#pragma unroll
    for (int i = 0; i < Packs; ++i) {
      if (Streamed) __stcs(y_packs + first + i * Block, held[i]);
      else y_packs[first + i * Block] = held[i];
    }
  } else {
    for (long long pack = first; pack < packs; pack += Block) y_packs[pack] = x_packs[pack];
  }

  const long long single = packs * PerPack + threadIdx.x;
  if (blockIdx.x == 0 && single < elements) y[single] = x[single];
}
