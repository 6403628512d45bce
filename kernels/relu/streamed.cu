// ReLU, one tile per block.
//   x       T [elements], of T's own alignment; read once
//   y       T [elements]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16, in packs of 16 bytes
//   needs   elements >= 1
//   BLOCK   threads of a block; PACKS: packs per thread in flight; HINT: see common/streamed.cuh
//   launch  grid ceil(elements / (BLOCK * PACKS * elements of a pack)), block BLOCK; no shared memory
//   moves   D in, D out.   A NaN stays one.
//   Arrays that do not both begin at a multiple of 16 bytes are processed element by element.
//   Origin: written here.
#include "positive_part.cuh"
#include "common/streamed.cuh"

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void relu_streamed_f32(const float* x, float* y, long long elements) {
  map_streamed<4>(PositivePart<float>(), elements, y, Elements{x});
}

extern "C" __global__ BOUNDS void relu_streamed_f16(const __half* x, __half* y, long long elements) {
  map_streamed<8>(PositivePart<__half>(), elements, y, Elements{x});
}

extern "C" __global__ BOUNDS void relu_streamed_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long elements) {
  map_streamed<8>(PositivePart<__nv_bfloat16>(), elements, y, Elements{x});
}
