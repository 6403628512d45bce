// The gradient of relu from a mask of one bit per element: dx = dy where the bit is set, else 0, by packs of 16 bytes.
//   dy      T [elements], of T's own alignment; read once
//   mask    bytes [ceil(elements / 8)], in the order of bits.cuh; read once, for float by two threads at once
//   dx      T [elements]; must not overlap dy or mask; written once
//   T       float, __half, __nv_bfloat16
//   packs   whole packs of 16 / sizeof(T) elements, counted by the host
//   needs   elements >= 1
//   BLOCK   threads of a block
//   launch  grid at most 32 waves of resident blocks, block BLOCK; no shared memory
//   moves   D and one bit per element in, D out: for float 2 D + D / 32
//   Where dy or dx does not begin at a multiple of 16 bytes, all elements are processed one by one.
//   Origin: OneFlow's relu_grad, of its fused batch norm; written here.
#include "bits.cuh"
#include "common/elementwise.cuh"

template <typename T>
__device__ __forceinline__ void relu_grad_from_bits(const T* __restrict__ dy, const unsigned char* __restrict__ mask,
                                                    T* __restrict__ dx, long long packs, long long elements) {
  constexpr int PerPack = 16 / sizeof(T);  // 4 or 8: a pack's bits lie in one byte
  using Packed = Pack<T, PerPack>;
  const T zero = from_float<T>(0.0f);

  const bool aligned = are_aligned<sizeof(Packed)>(dy, dx);
  if (aligned) {
    for (long long i = global_thread(); i < packs; i += global_threads()) {
      const Packed held = reinterpret_cast<const Packed*>(dy)[i];
      const int bits = mask[i * PerPack / 8] >> (i * PerPack % 8);
      Packed result;
#pragma unroll
      for (int j = 0; j < PerPack; ++j) result.elements[j] = bits >> j & 1 ? held.elements[j] : zero;
      reinterpret_cast<Packed*>(dx)[i] = result;
    }
  }
  const long long singly = aligned ? packs * PerPack : 0;
  for (long long i = singly + global_thread(); i < elements; i += global_threads())
    dx[i] = bit_of(mask, i) ? dy[i] : zero;
}

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void relu_grad_from_bits_f32(const float* dy, const unsigned char* mask, float* dx,
                                                          long long packs, long long elements) {
  relu_grad_from_bits(dy, mask, dx, packs, elements);
}

extern "C" __global__ BOUNDS void relu_grad_from_bits_f16(const __half* dy, const unsigned char* mask, __half* dx,
                                                          long long packs, long long elements) {
  relu_grad_from_bits(dy, mask, dx, packs, elements);
}

extern "C" __global__ BOUNDS void relu_grad_from_bits_bf16(const __nv_bfloat16* dy, const unsigned char* mask,
                                                           __nv_bfloat16* dx, long long packs, long long elements) {
  relu_grad_from_bits(dy, mask, dx, packs, elements);
}
