// The sum of all elements: each block adds up a span of its own, and the last block to finish adds up their sums.
//   x        T [elements], of T's own alignment; read once
//   sums     float [blocks]: one sum per block; not used where there is one block
//   y        float [1]
//   T        float, __half, __nv_bfloat16; added up in float
//   span     packs of 16 bytes per block
//   needs    elements >= 1; blocks * span packs cover x; one launch at a time, see `finished`
//   BLOCK    threads of a block; PACKS: packs per thread in flight; HINT: see common/streamed.cuh
//   FINISH   1: as above. 0: the sums stay, for a second launch of one block
//   launch   grid any, block BLOCK; no dynamic shared memory
//   moves    D in
//   The result has the same bits on every run: the last block adds the sums in the same order, whichever block it is.
//   Origin: written here.
#include "common/reduce.cuh"
#include "common/streamed.cuh"

// Blocks of this launch that have written their sum. It is 0 before and after each launch: atomicInc wraps to 0 once all have
// counted, so no launch is needed to clear it. Two launches at the same time would count together.
__device__ unsigned finished;

constexpr int CHAINS = 4;  // independent sums of a thread

struct Partial {
  float sums[CHAINS] = {};

  __device__ __forceinline__ float total() const { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }
};

// Adds packs [first, end) of 16 bytes, by the threads of one block.
template <typename T>
__device__ __forceinline__ void add_packs(Partial& partial, const Pack<T, 16 / sizeof(T)>* packs, long long first,
                                          long long end) {
  constexpr int Size = 16 / sizeof(T);
  using Packed = Pack<T, Size>;
  auto add = [&](const Packed& pack) {
#pragma unroll
    for (int j = 0; j < Size; ++j) partial.sums[j % CHAINS] += to_float(pack.elements[j]);
  };
  long long i = first + threadIdx.x;
  for (; i + (PACKS - 1) * BLOCK < end; i += PACKS * BLOCK) {
    Packed held[PACKS];  // all loads are under way before the first sum waits for one
#pragma unroll
    for (int k = 0; k < PACKS; ++k) held[k] = load_once<HINT>(packs + i + k * BLOCK);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) add(held[k]);
  }
  Packed held[PACKS];  // the remaining packs, also loaded at once
#pragma unroll
  for (int k = 0; k < PACKS; ++k)
    if (i + k * BLOCK < end) held[k] = load_once<HINT>(packs + i + k * BLOCK);
#pragma unroll
  for (int k = 0; k < PACKS; ++k)
    if (i + k * BLOCK < end) add(held[k]);
}

// True in all threads of the block that is last to call it.
__device__ __forceinline__ bool is_last() {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();  // other blocks see this block's sum before its count
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();  // this block sees the sums that were counted
  }
  __syncthreads();
  return last;
}

// Adds up the sums of all blocks, in the order of blocks within each thread's share.
__device__ __forceinline__ float add_sums(const float* sums, int blocks) {
  constexpr int Together = 8;
  float own[Together] = {};
  for (int i = threadIdx.x; i < blocks; i += Together * BLOCK) {
#pragma unroll
    for (int k = 0; k < Together; ++k)
      if (i + k * BLOCK < blocks) own[k] += __ldcg(sums + i + k * BLOCK);  // from the L2, where other blocks wrote
  }
  return ((own[0] + own[1]) + (own[2] + own[3])) + ((own[4] + own[5]) + (own[6] + own[7]));
}

template <typename T>
__device__ __forceinline__ void reduce_sum_last_block(const T* __restrict__ x, float* sums, float* __restrict__ y,
                                                      long long elements, long long span) {
  constexpr int Size = 16 / sizeof(T);  // elements of a pack
  const int beyond = static_cast<int>(reinterpret_cast<unsigned long long>(x) % 16 / sizeof(T));  // ranges [0, Size)
  const long long head = min(static_cast<long long>((Size - beyond) % Size), elements);  // elements before the first pack
  const long long packs = (elements - head) / Size;
  const long long tail = head + packs * Size;  // first element of the tail; head and tail together are less than two packs

  Partial partial;
  const long long first = blockIdx.x * span;
  add_packs<T>(partial, reinterpret_cast<const Pack<T, Size>*>(x + head), first, min(first + span, packs));
  if (blockIdx.x == 0) {
    if (threadIdx.x < head) partial.sums[0] += to_float(x[threadIdx.x]);
    if (tail + threadIdx.x < elements) partial.sums[1] += to_float(x[tail + threadIdx.x]);
  }

  float* own = FINISH && gridDim.x == 1 ? y : sums + blockIdx.x;
  const float sum = block_all_reduce<SumOp, BLOCK>(partial.total());
  if (threadIdx.x == 0) *own = sum;
  if (!FINISH || gridDim.x == 1) return;
  if (!is_last()) return;
  const float total = block_all_reduce<SumOp, BLOCK>(add_sums(sums, gridDim.x));
  if (threadIdx.x == 0) *y = total;
}

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void reduce_sum_last_block_f32(const float* x, float* sums, float* y, long long elements,
                                                            long long span) {
  reduce_sum_last_block(x, sums, y, elements, span);
}

extern "C" __global__ BOUNDS void reduce_sum_last_block_f16(const __half* x, float* sums, float* y, long long elements,
                                                            long long span) {
  reduce_sum_last_block(x, sums, y, elements, span);
}

extern "C" __global__ BOUNDS void reduce_sum_last_block_bf16(const __nv_bfloat16* x, float* sums, float* y,
                                                             long long elements, long long span) {
  reduce_sum_last_block(x, sums, y, elements, span);
}

// The second of two launches, of one block: y is the sum of the sums of all blocks.
extern "C" __global__ BOUNDS void reduce_sum_last_block_finish(const float* sums, float* y, int blocks) {
  const float total = block_all_reduce<SumOp, BLOCK>(add_sums(sums, blocks));
  if (threadIdx.x == 0) *y = total;
}
