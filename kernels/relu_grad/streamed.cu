// The gradient of relu from a mask of one bit per element, one tile per block: dx = dy where the bit is set, else 0.
//   dy      T [elements], of T's own alignment; read once
//   mask    bytes [ceil(elements / 8)], in the order of bits.cuh; read once, for float by two threads at once
//   dx      T [elements]; must not overlap dy or mask; written once
//   T       float, __half, __nv_bfloat16, in packs of 16 bytes
//   needs   elements >= 1
//   BLOCK   threads of a block; PACKS: packs per thread in flight; HINT: see common/streamed.cuh
//   launch  grid ceil(elements / (BLOCK * PACKS * elements of a pack)), block BLOCK; no shared memory
//   moves   D and one bit per element in, D out: for float 2 D + D / 32
//   Where dy or dx does not begin at a multiple of 16 bytes, all elements are processed one by one.
//   Origin: written here.
#include "bits.cuh"
#include "common/streamed.cuh"

// The source of one bit per element.
struct Bits {
  const unsigned char* mask;

  template <int Size>
  __device__ __forceinline__ bool aligned() const { return true; }  // a pack's bits lie in one byte
  template <int Size>
  __device__ __forceinline__ Pack<bool, Size> pack(long long i) const {
    static_assert(8 % Size == 0, "a pack's bits lie in one byte");
    const int bits = __ldg(mask + i * Size / 8) >> (i * Size % 8);
    Pack<bool, Size> each;
#pragma unroll
    for (int j = 0; j < Size; ++j) each.elements[j] = bits >> j & 1;
    return each;
  }
  __device__ __forceinline__ bool single(long long i) const { return bit_of(mask, i); }
};

template <typename T>
struct Kept {
  static constexpr bool PAIRS = false;
  __device__ __forceinline__ T operator()(T dy, bool keep) const { return keep ? dy : from_float<T>(0.0f); }
};

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void relu_grad_streamed_f32(const float* dy, const unsigned char* mask, float* dx,
                                                         long long elements) {
  map_streamed<4>(Kept<float>(), elements, dx, Elements{dy}, Bits{mask});
}

extern "C" __global__ BOUNDS void relu_grad_streamed_f16(const __half* dy, const unsigned char* mask, __half* dx,
                                                         long long elements) {
  map_streamed<8>(Kept<__half>(), elements, dx, Elements{dy}, Bits{mask});
}

extern "C" __global__ BOUNDS void relu_grad_streamed_bf16(const __nv_bfloat16* dy, const unsigned char* mask,
                                                          __nv_bfloat16* dx, long long elements) {
  map_streamed<8>(Kept<__nv_bfloat16>(), elements, dx, Elements{dy}, Bits{mask});
}
