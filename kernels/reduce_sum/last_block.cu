// The sum of all elements: each block adds up a span of its own, and one block adds up their sums.
//   x        T [elements], of T's own alignment; read once
//   sums     float [blocks]: one sum per block; used by LATER, not where there is one block
//   y        float [1]
//   T        float, __half, __nv_bfloat16; added up in float
//   span     packs of 16 bytes per block
//   needs    elements >= 1; blocks * span packs cover x; one launch at a time, see `slots`; AWAITED: room for two blocks
//   BLOCK    threads of a block; PACKS: packs per thread in flight; HINT: see common/streamed.cuh
//   JOIN     LATER: a second launch, of one block, adds up the sums. AWAITED: the grid's last block waits for the others'.
//            CLUSTERED (sm_90): the grid is one cluster, and its first block adds up
//   CLUSTER  blocks of the grid where CLUSTERED, else 1
//   launch   AWAITED: grid at most 4096; block BLOCK; no dynamic shared memory
//   moves    D in
//   The result has the same bits on every run: sums are added in the same order, whenever they arrive.
//   Origin: written here.
#include "common/reduce.cuh"
#include "common/streamed.cuh"
#include "softmax_family/cluster_exchange.cuh"

#define LATER 0
#define AWAITED 1
#define CLUSTERED 2

constexpr int WARPS = BLOCK / WARP_SIZE;
constexpr int CHAINS = 4;    // independent sums of a thread
constexpr int TOGETHER = 4;  // sums of blocks that a thread loads at once
constexpr int MOST_SLOTS = 4096;

static_assert(BLOCK % WARP_SIZE == 0 && BLOCK <= 1024 && (WARPS & (WARPS - 1)) == 0, "BLOCK must be 2^k warps, k to 5");
static_assert(PACKS >= 1 && JOIN >= LATER && JOIN <= CLUSTERED, "PACKS from 1 on, JOIN one of three");
static_assert(CLUSTER == 1 || (JOIN == CLUSTERED && CLUSTER <= 16 && (CLUSTER & (CLUSTER - 1)) == 0), "2^k, to 16");

// A block's sum below READY, in one word: whoever reads it sees both or neither, so that no fence is needed. All are 0 before
// and after each launch: the block that waits for a sum clears it. An aborted launch may leave some set, but it ends its
// context, and loading the module again clears them. Two launches at the same time would mix their sums.
constexpr unsigned long long READY = 1ull << 32;
__device__ unsigned long long slots[MOST_SLOTS];

struct Partial {
  float sums[CHAINS] = {};

  __device__ __forceinline__ float total() const { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }
};

// Adds the packs from `packs` on, of which this thread's first begins `left` bytes before their end, by the threads of one
// block.
template <typename T>
__device__ __forceinline__ void add_packs(Partial& partial, const Pack<T, 16 / sizeof(T)>* packs, int left) {
  constexpr int Size = 16 / sizeof(T);
  using Packed = Pack<T, Size>;
  constexpr int Stride = BLOCK * sizeof(Packed);  // bytes
  auto add = [&](const Packed& pack) {
#pragma unroll
    for (int j = 0; j < Size; ++j) partial.sums[j % CHAINS] += to_float(pack.elements[j]);
  };
  Packed held[PACKS];  // all loads of a batch are under way before the first sum waits for one
#pragma unroll 1     // unrolled, a span of one batch would wait for more instructions
  for (; left > (PACKS - 1) * Stride; left -= PACKS * Stride, packs += PACKS * BLOCK) {
#pragma unroll
    for (int k = 0; k < PACKS; ++k) held[k] = load_once<HINT>(packs + k * BLOCK);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) add(held[k]);
  }
  if (PACKS == 1 || left <= 0) return;
#pragma unroll
  for (int k = 0; k < PACKS - 1; ++k)
    if (k == 0 || k * Stride < left) held[k] = load_once<HINT>(packs + k * BLOCK);
#pragma unroll
  for (int k = 0; k < PACKS - 1; ++k)
    if (k == 0 || k * Stride < left) add(held[k]);
}

// Sum of 2^k values, added pairwise.
template <int Count>
__device__ __forceinline__ float add_pairwise(const float* values) {
  if constexpr (Count == 1) return values[0];
  if constexpr (Count > 1) return add_pairwise<Count / 2>(values) + add_pairwise<Count / 2>(values + Count / 2);
}

// Sum over the block, in all threads of its first warp: fewer steps than block_all_reduce, which the other warps would need.
// May be called again after a barrier.
__device__ __forceinline__ float block_sum(float value) {
  __shared__ alignas(16) float warp_sums[WARPS];
  value = warp_all_reduce<SumOp>(value);
  if constexpr (WARPS == 1) return value;
  if (threadIdx.x % WARP_SIZE == 0) warp_sums[threadIdx.x / WARP_SIZE] = value;
  __syncthreads();  // every warp's sum is there
  return threadIdx.x < WARP_SIZE ? add_pairwise<WARPS>(warp_sums) : 0.0f;
}

// The cluster's sum, in the first thread of its first block, from `sum` in the first thread of each.
__device__ __forceinline__ float cluster_sum(float sum, float2* sums, Mailbox* box) {
  cluster_wait();  // the first block runs, so that its shared memory may be written
  if (threadIdx.x == 0) send(sums + cluster_rank(), 0, make_float2(sum, 0.0f), box);
  if (threadIdx.x != 0 || cluster_rank() != 0) return sum;
  expect(box, CLUSTER * sizeof(float2));
  await(box, 0);
  float each[CLUSTER];
#pragma unroll
  for (int i = 0; i < CLUSTER; ++i) each[i] = sums[i].x;
  return add_pairwise<CLUSTER>(each);
}

// This thread's share of the sums of all blocks, in their order.
__device__ __forceinline__ float add_sums(const float* sums, int blocks) {
  float own[TOGETHER] = {};
  for (int i = threadIdx.x; i < blocks; i += TOGETHER * BLOCK) {
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k)
      if (i + k * BLOCK < blocks) own[k] += sums[i + k * BLOCK];
  }
  return (own[0] + own[1]) + (own[2] + own[3]);
}

__device__ __forceinline__ unsigned long long peek(const unsigned long long* slot) {
  unsigned long long word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(slot) : "memory");
  return word;
}

__device__ __forceinline__ void put(unsigned long long* slot, unsigned long long word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(slot), "l"(word) : "memory");
}

// The same of the sums in the first `count` slots, as soon as they are there. The blocks that put them wait for nobody, so
// they end whenever they start: this one takes room from them, but not all of it.
__device__ __forceinline__ float await_sums(int count) {
  float own[TOGETHER] = {};
#pragma unroll 1
  for (int i = threadIdx.x; i < count; i += TOGETHER * BLOCK) {
    unsigned long long words[TOGETHER], all;
    do {
      all = READY;
#pragma unroll
      for (int k = 0; k < TOGETHER; ++k) words[k] = i + k * BLOCK < count ? peek(slots + i + k * BLOCK) : READY;
#pragma unroll
      for (int k = 0; k < TOGETHER; ++k) all &= words[k];
    } while ((all & READY) == 0);
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k) {
      own[k] += __uint_as_float(static_cast<unsigned>(words[k]));
      if (i + k * BLOCK < count) put(slots + i + k * BLOCK, 0);
    }
  }
  return (own[0] + own[1]) + (own[2] + own[3]);
}

template <typename T>
__device__ __forceinline__ void reduce_sum_last_block(const T* __restrict__ x, float* sums, float* __restrict__ y,
                                                      long long elements, int span) {
  using Packed = Pack<T, 16 / sizeof(T)>;
  __shared__ float2 cluster_sums[CLUSTER];
  __shared__ Mailbox box;
  unsigned long long* slot = slots + blockIdx.x;
  if constexpr (JOIN == CLUSTERED) open_mailbox(&box);
  // Into the L2 while x is under way, so that the sum's store finds it there.
  if (JOIN == AWAITED && threadIdx.x == 0 && gridDim.x > 1) asm volatile("prefetch.global.L2 [%0];" ::"l"(slot));

  // Few instructions until the first load is under way: all warps wait for them. Whole packs are [first, end), if any.
  const char* first = reinterpret_cast<const char*>(x) + (-reinterpret_cast<unsigned long long>(x) & 15);
  const char* end = reinterpret_cast<const char*>(x + elements);
  end -= reinterpret_cast<unsigned long long>(end) & 15;

  Partial partial;
  if (blockIdx.x == 0) {  // head and tail; before the packs, so that these loads are under way with theirs
    const T* head = x + threadIdx.x;
    const T* tail = reinterpret_cast<const T*>(first < end ? end : first) + threadIdx.x;
    if (head < reinterpret_cast<const T*>(first) && head < x + elements) partial.sums[0] = to_float(*head);
    if (tail < x + elements) partial.sums[1] = to_float(*tail);
  }
  const unsigned bytes = span * sizeof(Packed);
  first += static_cast<unsigned long long>(blockIdx.x) * bytes;
  end = first + bytes < end ? first + bytes : end;
  first += threadIdx.x * sizeof(Packed);
  add_packs<T>(partial, reinterpret_cast<const Packed*>(first), static_cast<int>(end - first));
  const float sum = block_sum(partial.total());

  if constexpr (JOIN == CLUSTERED) {
    const float total = cluster_sum(sum, cluster_sums, &box);
    if (threadIdx.x == 0 && cluster_rank() == 0) *y = total;
  } else if (gridDim.x == 1) {
    if (threadIdx.x == 0) *y = sum;
  } else if (JOIN == LATER) {
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  } else if (blockIdx.x < gridDim.x - 1) {
    if (threadIdx.x == 0) put(slot, READY | __float_as_uint(sum));
  } else {
    __syncthreads();  // the first warp has read what the next sum over the block overwrites
    const float others = block_sum(await_sums(gridDim.x - 1));
    if (threadIdx.x == 0) *y = others + sum;
  }
}

// 1024 threads per multiprocessor: for more, ptxas may spare registers by issuing the last load after the first sum.
#if JOIN == CLUSTERED
#define BOUNDS __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(BLOCK, 1024 / BLOCK)
#else
#define BOUNDS __launch_bounds__(BLOCK, 1024 / BLOCK)
#endif

extern "C" __global__ BOUNDS void reduce_sum_last_block_f32(const float* x, float* sums, float* y, long long elements,
                                                            int span) {
  reduce_sum_last_block(x, sums, y, elements, span);
}

extern "C" __global__ BOUNDS void reduce_sum_last_block_f16(const __half* x, float* sums, float* y, long long elements,
                                                            int span) {
  reduce_sum_last_block(x, sums, y, elements, span);
}

extern "C" __global__ BOUNDS void reduce_sum_last_block_bf16(const __nv_bfloat16* x, float* sums, float* y,
                                                             long long elements, int span) {
  reduce_sum_last_block(x, sums, y, elements, span);
}

#if JOIN == LATER
// The second of two launches, of one block: y is the sum of the sums of all blocks.
extern "C" __global__ BOUNDS void reduce_sum_last_block_finish(const float* sums, float* y, int blocks) {
  const float total = block_sum(add_sums(sums, blocks));
  if (threadIdx.x == 0) *y = total;
}
#endif
