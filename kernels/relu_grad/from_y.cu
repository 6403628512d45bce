// The gradient of relu from its output: dx = dy where y > 0, else 0, by packs of 16 bytes.
//   dy, y   T [elements], of T's own alignment; each element read once
//   dx      T [elements]; must not overlap dy or y; written once
//   T       float, __half, __nv_bfloat16
//   packs   whole packs of 16 / sizeof(T) elements, counted by the host
//   needs   elements >= 1
//   BLOCK   threads of a block
//   launch  grid at most 32 waves of resident blocks, block BLOCK; no shared memory
//   moves   2 D in, D out
//   Arrays that do not all begin at a multiple of 16 bytes are processed element by element.
//   A NaN in y gives 0.   Origin: OneFlow's relu_grad; written here.
#include "common/elementwise.cuh"

template <typename T>
struct ReluGrad {
  static constexpr bool PAIRS = false;
  __device__ __forceinline__ T operator()(T dy, T y) const { return to_float(y) > 0.0f ? dy : from_float<T>(0.0f); }
};

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void relu_grad_from_y_f32(const float* dy, const float* y, float* dx, long long packs,
                                                       long long elements) {
  map_packed<4>(ReluGrad<float>(), packs, elements, dx, dy, y);
}

extern "C" __global__ BOUNDS void relu_grad_from_y_f16(const __half* dy, const __half* y, __half* dx, long long packs,
                                                       long long elements) {
  map_packed<8>(ReluGrad<__half>(), packs, elements, dx, dy, y);
}

extern "C" __global__ BOUNDS void relu_grad_from_y_bf16(const __nv_bfloat16* dy, const __nv_bfloat16* y,
                                                        __nv_bfloat16* dx, long long packs, long long elements) {
  map_packed<8>(ReluGrad<__nv_bfloat16>(), packs, elements, dx, dy, y);
}
