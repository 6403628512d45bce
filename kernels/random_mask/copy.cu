// Writes bytes of 1, 16 per store: the yardsticks, which compute nothing. There is no input to copy.
//   mask    int8 [elements]: 1; written once
//   needs   elements >= 1
//   BLOCK   threads of a block; PACKS: packs per thread in flight; HINT: of common/streamed.cuh
//   launch  grid ceil(elements / (BLOCK * PACKS * 16)), block BLOCK; no shared memory
//   moves   nothing in, one byte per element out
//   A mask that does not begin at a multiple of 16 bytes is written byte by byte.
//   Origin: written here.
#include "common/streamed.cuh"

struct One {
  static constexpr bool PAIRS = false;
  __device__ __forceinline__ signed char operator()() const { return 1; }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    random_mask_copy_i8(signed char* mask, long long elements) {
  map_streamed<16>(One(), elements, mask);
}
