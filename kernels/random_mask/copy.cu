// Writes bytes of 1, 16 per store: the yardstick, which computes nothing. There is no input to copy.
//   mask    int8 [elements]: 1; written once
//   packs   whole packs of 16 bytes, counted by the host
//   needs   elements >= 1
//   BLOCK   threads of a block
//   launch  grid at most 32 waves of resident blocks, block BLOCK; no shared memory
//   moves   nothing in, one byte per element out
//   A mask that does not begin at a multiple of 16 bytes is written byte by byte.
//   Origin: written here.
#include "common/elementwise.cuh"

struct One {
  static constexpr bool PAIRS = false;
  __device__ __forceinline__ signed char operator()() const { return 1; }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    random_mask_copy_i8(signed char* mask, long long packs, long long elements) {
  map_packed<16>(One(), packs, elements, mask);
}
