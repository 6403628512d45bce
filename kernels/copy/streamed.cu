// A copy of x to y, one tile per block, as the other element-wise kernels move their arrays.
//   x       T [elements], of T's own alignment; read once
//   y       T [elements]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16, in packs of 16 bytes
//   needs   elements >= 1
//   BLOCK   threads of a block; PACKS: packs per thread in flight; HINT: see common/streamed.cuh
//   launch  grid ceil(elements / (BLOCK * PACKS * elements of a pack)), block BLOCK; no shared memory
//   moves   D in, D out
//   Arrays that do not both begin at a multiple of 16 bytes are copied element by element.   Origin: written here.
#include "common/streamed.cuh"

template <typename T>
struct Same {
  static constexpr bool PAIRS = false;
  __device__ __forceinline__ T operator()(T x) const { return x; }
};

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void copy_streamed_f32(const float* x, float* y, long long elements) {
  map_streamed<4>(Same<float>(), elements, y, Elements{x});
}

extern "C" __global__ BOUNDS void copy_streamed_f16(const __half* x, __half* y, long long elements) {
  map_streamed<8>(Same<__half>(), elements, y, Elements{x});
}

extern "C" __global__ BOUNDS void copy_streamed_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long elements) {
  map_streamed<8>(Same<__nv_bfloat16>(), elements, y, Elements{x});
}
