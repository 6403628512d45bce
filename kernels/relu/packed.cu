// ReLU by packs of 16 bytes, then the tail.
//   x       T [elements], of T's own alignment; read once
//   y       T [elements]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16
//   packs   whole packs of 16 / sizeof(T) elements, counted by the host
//   needs   elements >= 1
//   BLOCK   threads of a block
//   launch  any grid of one dimension, block BLOCK; no shared memory
//   moves   D in, D out.   A NaN stays one.
//   Arrays that do not both begin at a multiple of 16 bytes are processed element by element.
//   Origin: OneFlow's elementwise.cuh; written here.
#include "positive_part.cuh"

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void relu_packed_f32(const float* x, float* y, long long packs, long long elements) {
  map_packed<4>(PositivePart<float>(), packs, elements, y, x);
}

extern "C" __global__ BOUNDS void relu_packed_f16(const __half* x, __half* y, long long packs, long long elements) {
  map_packed<8>(PositivePart<__half>(), packs, elements, y, x);
}

extern "C" __global__ BOUNDS void relu_packed_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long packs,
                                                   long long elements) {
  map_packed<8>(PositivePart<__nv_bfloat16>(), packs, elements, y, x);
}
