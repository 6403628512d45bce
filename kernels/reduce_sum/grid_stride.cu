// The sum of an array by as many blocks as are resident. Each thread adds up many elements before the block joins them: one
// launch leaves one sum per block, and a second launch of one block adds these up.
//   x       T [elements], of T's own alignment; read once
//   sums    float [gridDim.x]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   needs   elements >= 1
//   TREE    UnrolledAll, Shuffle: a tree in common/reduction_trees.cuh
//   BLOCK   threads of a block; LOADS: loads per thread in flight
//   PACK    bytes of a load: 16, or 0 for single elements. Elements before the first and after the last multiple of 16
//           bytes are loaded one by one
//   RESIDENT   resident blocks per multiprocessor, as its threads allow
//   launch  grid at most as many blocks as the GPU holds; block BLOCK; shared BLOCK floats
//   moves   D in; one float per block out and in again
//   Origin: M. Harris's kernel of many elements per thread, with shuffles by J. Luitjens (NVIDIA); written here.
#include "common/convert.cuh"
#include "common/reduction_trees.cuh"

using Tree = trees::TREE;
static_assert(BLOCK % WARP_SIZE == 0 && (BLOCK & (BLOCK - 1)) == 0, "trees halve the block down to one thread");
static_assert(LOADS >= 1 && LOADS <= 16, "what is in flight is held in registers");
static_assert(PACK == 0 || PACK == 16, "a load is of one element or of 16 bytes");

// The sum of value(i) over this thread's share of i in [0, count); LOADS values are loaded before the first is added.
template <typename Load, typename Sum>
__device__ __forceinline__ float fold_strided(long long count, Load load, Sum sum) {
  const long long step = static_cast<long long>(gridDim.x) * BLOCK;
  long long i = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;  // ranges [0, count)
  float part = SumOp::identity();
#pragma unroll 1  // LOADS is the unrolling; more would need more registers
  for (; i + (LOADS - 1) * step < count; i += LOADS * step) {
    decltype(load(i)) held[LOADS];
#pragma unroll
    for (int n = 0; n < LOADS; ++n) held[n] = load(i + n * step);
#pragma unroll
    for (int n = 0; n < LOADS; ++n) part = SumOp::apply(part, sum(held[n]));
  }
#pragma unroll 1
  for (; i < count; i += step) part = SumOp::apply(part, sum(load(i)));
  return part;
}

template <typename T>
__device__ __forceinline__ float fold_singly(const T* __restrict__ x, long long elements) {
  return fold_strided(
      elements, [=](long long i) { return x[i]; }, [](T value) { return to_float(value); });
}

// Packs of 16 bytes; the few elements before and after them go to the first threads of the first block.
template <typename T>
__device__ __forceinline__ float fold_packed(const T* __restrict__ x, long long elements) {
  constexpr int PerPack = sizeof(uint4) / sizeof(T);
  static_assert(2 * PerPack <= BLOCK, "a thread each takes what lies before and after the packs");
  const int beyond = reinterpret_cast<unsigned long long>(x) % sizeof(uint4) / sizeof(T);  // a multiple of 16 bytes
  const long long before = beyond == 0 ? 0 : min(static_cast<long long>(PerPack - beyond), elements);
  const long long packs = (elements - before) / PerPack;
  const uint4* x_packs = reinterpret_cast<const uint4*>(x + before);

  float part = fold_strided(
      packs, [=](long long i) { return x_packs[i]; },
      [](const uint4& pack) {
        const T* values = reinterpret_cast<const T*>(&pack);
        float sum = to_float(values[0]);
#pragma unroll
        for (int n = 1; n < PerPack; ++n) sum += to_float(values[n]);
        return sum;
      });

  const long long single = threadIdx.x < PerPack ? threadIdx.x : before + packs * PerPack + threadIdx.x - PerPack;
  const long long end = threadIdx.x < PerPack ? before : elements;
  if (blockIdx.x == 0 && single < end) part = SumOp::apply(part, to_float(x[single]));
  return part;
}

template <typename T>
__device__ void reduce_sum_grid_stride(const T* __restrict__ x, float* __restrict__ sums, long long elements) {
  __shared__ float slots[BLOCK];
  const float part = PACK ? fold_packed(x, elements) : fold_singly(x, elements);
  Tree::reduce<SumOp>(slots, part);
  if (threadIdx.x == 0) sums[blockIdx.x] = slots[0];
}

// Limits registers so that all blocks of the launch plan are resident at once.
#define BOUNDS __launch_bounds__(BLOCK, RESIDENT)

extern "C" __global__ BOUNDS void reduce_sum_grid_stride_f32(const float* x, float* sums, long long elements) {
  reduce_sum_grid_stride(x, sums, elements);
}

extern "C" __global__ BOUNDS void reduce_sum_grid_stride_f16(const __half* x, float* sums, long long elements) {
  reduce_sum_grid_stride(x, sums, elements);
}

extern "C" __global__ BOUNDS void reduce_sum_grid_stride_bf16(const __nv_bfloat16* x, float* sums, long long elements) {
  reduce_sum_grid_stride(x, sums, elements);
}
