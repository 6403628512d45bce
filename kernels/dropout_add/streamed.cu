// Dropout with a given mask and an addition, one tile per block: y = x * mask * scale + addend.
//   x, addend  T [elements], of T's own alignment; each element read once
//   mask       int8 [elements], 0 or 1; read once
//   y          T [elements]; must not overlap any input; written once
//   T          float, __half, __nv_bfloat16, in packs of 16 bytes; arithmetic in float
//   needs      elements >= 1
//   BLOCK      threads of a block; PACKS: packs per thread in flight; HINT: see common/streamed.cuh
//   launch     grid ceil(elements / (BLOCK * PACKS * elements of a pack)), block BLOCK; no shared memory
//   moves      2.25 D in, D out, for float; 2.5 D in, D out, for the others
//   Arrays that do not all begin at a multiple of a pack are processed element by element.
//   An infinite or NaN x gives NaN where it is dropped.   Origin: written here.
#include "dropout.cuh"
#include "common/streamed.cuh"

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void dropout_add_streamed_f32(const float* x, const signed char* mask, const float* addend,
                                                           float* y, long long elements, float scale) {
  map_streamed<4>(DropoutAdd<float>{scale}, elements, y, Elements{x}, Elements{mask}, Elements{addend});
}

extern "C" __global__ BOUNDS void dropout_add_streamed_f16(const __half* x, const signed char* mask,
                                                           const __half* addend, __half* y, long long elements,
                                                           float scale) {
  map_streamed<8>(DropoutAdd<__half>{scale}, elements, y, Elements{x}, Elements{mask}, Elements{addend});
}

extern "C" __global__ BOUNDS void dropout_add_streamed_bf16(const __nv_bfloat16* x, const signed char* mask,
                                                            const __nv_bfloat16* addend, __nv_bfloat16* y,
                                                            long long elements, float scale) {
  map_streamed<8>(DropoutAdd<__nv_bfloat16>{scale}, elements, y, Elements{x}, Elements{mask}, Elements{addend});
}
