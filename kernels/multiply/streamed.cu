// The product of two arrays, one tile per block.
//   x, y    T [elements], of T's own alignment; each element read once
//   z       T [elements]; must not overlap x or y; written once
//   T       float, __half, __nv_bfloat16, in packs of 16 bytes; the latter two are multiplied two at a time
//   needs   elements >= 1
//   BLOCK   threads of a block; PACKS: packs per thread in flight; HINT: see common/streamed.cuh
//   launch  grid ceil(elements / (BLOCK * PACKS * elements of a pack)), block BLOCK; no shared memory
//   moves   2 D in, D out
//   Arrays that do not all begin at a multiple of 16 bytes are multiplied element by element.   Origin: written here.
#include "product.cuh"
#include "common/streamed.cuh"

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void multiply_streamed_f32(const float* x, const float* y, float* z, long long elements) {
  map_streamed<4>(Product<float>(), elements, z, Elements{x}, Elements{y});
}

extern "C" __global__ BOUNDS void multiply_streamed_f16(const __half* x, const __half* y, __half* z,
                                                        long long elements) {
  map_streamed<8>(PairedProduct<__half, __half2>(), elements, z, Elements{x}, Elements{y});
}

extern "C" __global__ BOUNDS void multiply_streamed_bf16(const __nv_bfloat16* x, const __nv_bfloat16* y,
                                                         __nv_bfloat16* z, long long elements) {
  map_streamed<8>(PairedProduct<__nv_bfloat16, __nv_bfloat162>(), elements, z, Elements{x}, Elements{y});
}
