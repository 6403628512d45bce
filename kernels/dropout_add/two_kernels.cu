// Dropout, then addition, one launch each: dropped = x * mask * scale goes through memory, y = dropped + addend.
//   x, addend  T [elements], of T's own alignment; each element read once
//   mask       int8 [elements], 0 or 1; read once
//   dropped    T [elements]; written by the first launch, read by the second
//   y          T [elements]; must not overlap any other; written once
//   T          float, __half, __nv_bfloat16; arithmetic in float, dropped rounded to T
//   packs      whole packs of 16 / sizeof(T) elements, counted by the host
//   needs      elements >= 1
//   BLOCK      threads of a block
//   launch     each: grid at most 32 waves of resident blocks, block BLOCK; no shared memory
//   moves      3.25 D in, 2 D out, for float; 3.5 D in, 2 D out, for the others
//   Arrays that do not all begin at a multiple of a pack are processed element by element.
//   An infinite or NaN x gives NaN where it is dropped.   Origin: what OneFlow's fusion replaced; written here.
#include "dropout.cuh"

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void dropout_add_two_kernels_dropout_f32(const float* x, const signed char* mask,
                                                                      float* dropped, long long packs,
                                                                      long long elements, float scale) {
  map_packed<4>(Dropout<float>{scale}, packs, elements, dropped, x, mask);
}

extern "C" __global__ BOUNDS void dropout_add_two_kernels_dropout_f16(const __half* x, const signed char* mask,
                                                                      __half* dropped, long long packs,
                                                                      long long elements, float scale) {
  map_packed<8>(Dropout<__half>{scale}, packs, elements, dropped, x, mask);
}

extern "C" __global__ BOUNDS void dropout_add_two_kernels_dropout_bf16(const __nv_bfloat16* x, const signed char* mask,
                                                                       __nv_bfloat16* dropped, long long packs,
                                                                       long long elements, float scale) {
  map_packed<8>(Dropout<__nv_bfloat16>{scale}, packs, elements, dropped, x, mask);
}

extern "C" __global__ BOUNDS void dropout_add_two_kernels_add_f32(const float* dropped, const float* addend, float* y,
                                                                  long long packs, long long elements) {
  map_packed<4>(Add<float>(), packs, elements, y, dropped, addend);
}

extern "C" __global__ BOUNDS void dropout_add_two_kernels_add_f16(const __half* dropped, const __half* addend,
                                                                  __half* y, long long packs, long long elements) {
  map_packed<8>(Add<__half>(), packs, elements, y, dropped, addend);
}

extern "C" __global__ BOUNDS void dropout_add_two_kernels_add_bf16(const __nv_bfloat16* dropped,
                                                                   const __nv_bfloat16* addend, __nv_bfloat16* y,
                                                                   long long packs, long long elements) {
  map_packed<8>(Add<__nv_bfloat16>(), packs, elements, y, dropped, addend);
}
