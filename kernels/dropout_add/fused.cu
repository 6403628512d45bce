// Dropout and addition in one launch: y = x * mask * scale + addend, by packs of 16 bytes.
//   x, addend  T [elements], of T's own alignment; each element read once
//   mask       int8 [elements], 0 or 1; read once
//   y          T [elements]; must not overlap any input; written once
//   T          float, __half, __nv_bfloat16; arithmetic in float
//   packs      whole packs of 16 / sizeof(T) elements, counted by the host
//   needs      elements >= 1
//   BLOCK      threads of a block
//   launch     grid at most 32 waves of resident blocks, block BLOCK; no shared memory
//   moves      2.25 D in, D out, for float; 2.5 D in, D out, for the others
//   Arrays that do not all begin at a multiple of a pack are processed element by element.
//   An infinite or NaN x gives NaN where it is dropped.   Origin: OneFlow's fusion; written here.
#include "dropout.cuh"

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void dropout_add_fused_f32(const float* x, const signed char* mask, const float* addend,
                                                        float* y, long long packs, long long elements, float scale) {
  map_packed<4>(DropoutAdd<float>{scale}, packs, elements, y, x, mask, addend);
}

extern "C" __global__ BOUNDS void dropout_add_fused_f16(const __half* x, const signed char* mask, const __half* addend,
                                                        __half* y, long long packs, long long elements, float scale) {
  map_packed<8>(DropoutAdd<__half>{scale}, packs, elements, y, x, mask, addend);
}

extern "C" __global__ BOUNDS void dropout_add_fused_bf16(const __nv_bfloat16* x, const signed char* mask,
                                                         const __nv_bfloat16* addend, __nv_bfloat16* y,
                                                         long long packs, long long elements, float scale) {
  map_packed<8>(DropoutAdd<__nv_bfloat16>{scale}, packs, elements, y, x, mask, addend);
}
