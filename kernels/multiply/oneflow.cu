// The product of two arrays by OneFlow's element-wise template: packs of 16 bytes, then the tail.
//   x, y    T [elements], of T's own alignment; each element read once
//   z       T [elements]; must not overlap x or y; written once
//   T       float, __half, __nv_bfloat16; the latter two are multiplied two at a time
//   packs   whole packs of 16 / sizeof(T) elements, counted by the host
//   needs   elements >= 1
//   BLOCK   threads of a block
//   launch  grid at most 32 waves of resident blocks, block BLOCK; no shared memory
//   moves   2 D in, D out
//   Arrays that do not all begin at a multiple of 16 bytes are multiplied element by element.
//   Origin: OneFlow's elementwise.cuh; written here.
#include "product.cuh"

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void multiply_oneflow_f32(const float* x, const float* y, float* z, long long packs,
                                                       long long elements) {
  map_packed<4>(Product<float>(), packs, elements, z, x, y);
}

extern "C" __global__ BOUNDS void multiply_oneflow_f16(const __half* x, const __half* y, __half* z, long long packs,
                                                       long long elements) {
  map_packed<8>(PairedProduct<__half, __half2>(), packs, elements, z, x, y);
}

extern "C" __global__ BOUNDS void multiply_oneflow_bf16(const __nv_bfloat16* x, const __nv_bfloat16* y,
                                                        __nv_bfloat16* z, long long packs, long long elements) {
  map_packed<8>(PairedProduct<__nv_bfloat16, __nv_bfloat162>(), packs, elements, z, x, y);
}
