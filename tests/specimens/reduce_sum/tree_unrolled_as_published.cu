// Specimen: the sum of one block's elements by the tree whose last warp relies on a volatile pointer.
//   x       T [elements]; read once
//   y       float [1]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   needs   1 <= elements <= 2 * BLOCK
//   BLOCK   threads of the block
//   launch  grid 1, block BLOCK, shared BLOCK floats
//   moves   D in
//   Wrong: since Volta the lanes of a warp may drift apart, so a lane may add what another has not written yet, or has
//   already changed.   Origin: M. Harris (NVIDIA), as repeated in many articles.
#include "common/convert.cuh"

static_assert(BLOCK >= 64 && (BLOCK & (BLOCK - 1)) == 0, "the tree halves the block down to one warp");

template <typename T>
__device__ void reduce_sum_volatile(const T* x, float* y, long long elements) {
  __shared__ float slots[BLOCK];
  const int thread = threadIdx.x;  // ranges [0, BLOCK)
  float part = thread < elements ? to_float(x[thread]) : 0.0f;
  if (thread + BLOCK < elements) part += to_float(x[thread + BLOCK]);
  slots[thread] = part;
  __syncthreads();  // all values are there
  for (int s = BLOCK / 2; s > 32; s /= 2) {
    if (thread < s) slots[thread] += slots[thread + s];
    __syncthreads();  // the next step reads what this one wrote
  }
  if (thread < 32) {
    volatile float* in_step = slots;  // keeps every load and store, but not the lanes in step
#pragma unroll
    for (int s = 32; s > 0; s /= 2) in_step[thread] = in_step[thread] + in_step[thread + s];
  }
  if (thread == 0) y[0] = slots[0];
}

extern "C" __global__ void reduce_sum_tree_unrolled_as_published_f32(const float* x, float* y, long long elements) {
  reduce_sum_volatile(x, y, elements);
}

extern "C" __global__ void reduce_sum_tree_unrolled_as_published_f16(const __half* x, float* y, long long elements) {
  reduce_sum_volatile(x, y, elements);
}

extern "C" __global__ void reduce_sum_tree_unrolled_as_published_bf16(const __nv_bfloat16* x, float* y,
                                                                      long long elements) {
  reduce_sum_volatile(x, y, elements);
}
