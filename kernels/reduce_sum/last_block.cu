// The sum of all elements: each block adds up a span of its own, and one block adds up their sums.
//   x        T [elements], of T's own alignment; read once
//   sums     float [blocks]: one sum per block; used by LATER and COUNTED, not where there is one block
//   y        float [1]
//   T        float, __half, __nv_bfloat16; added up in float
//   span     packs of 16 bytes per block
//   needs    elements >= 1; blocks * span packs cover x; one launch at a time, see `finished` and `slots`;
//            AWAITED: room for two blocks, or clusters, at once
//   BLOCK    threads of a block; PACKS: packs per thread in flight; HINT: see common/streamed.cuh, and 4 below
//   JOIN     LATER: the sums stay, for a second launch of one block. COUNTED: the block that finishes last adds them up.
//            AWAITED: the grid's last block waits for them
//   CLUSTER  blocks of a cluster (sm_90), whose sums its first block adds up; with 1 no clusters
//   EARLY    1: each block fetches what it will write for the others into the L2 before it loads x
//   launch   grid whole clusters, AWAITED at most 4096 of them; block BLOCK; no dynamic shared memory
//   moves    D in
//   The result has the same bits on every run: sums are added in the same order, whichever block does it.
//   Origin: written here.
#include "common/reduce.cuh"
#include "common/streamed.cuh"
#include "softmax_family/cluster_exchange.cuh"

#define LATER 0
#define COUNTED 1
#define AWAITED 2

constexpr int WARPS = BLOCK / WARP_SIZE;
constexpr int WIDE_FETCH = 4;  // a HINT: past the L1, and the L2 fetches 256 bytes at once
constexpr int CHAINS = 4;      // independent sums of a thread
constexpr int TOGETHER = 4;    // sums of blocks that a thread loads at once
constexpr int MOST_SLOTS = 4096;

static_assert(BLOCK % WARP_SIZE == 0 && BLOCK <= 1024 && (WARPS & (WARPS - 1)) == 0, "BLOCK must be 2^k warps, k to 5");
static_assert(PACKS >= 1 && JOIN >= LATER && JOIN <= AWAITED, "PACKS from 1 on, JOIN one of three");
static_assert(CLUSTER >= 1 && CLUSTER <= 16 && (CLUSTER == 1 || JOIN != LATER), "clusters to 16, and for one launch");

// Blocks of this launch that have written their sum. It is 0 before and after each launch: atomicInc wraps to 0 once all have
// counted, so no launch is needed to clear it. Two launches at the same time would count together.
__device__ unsigned finished;

// A block's sum below READY, in one word: whoever reads it sees both or neither, so that no fence is needed. All are 0 before
// and after each launch: the block that waits for a sum clears it.
constexpr unsigned long long READY = 1ull << 32;
__device__ unsigned long long slots[MOST_SLOTS];

struct Partial {
  float sums[CHAINS] = {};

  __device__ __forceinline__ float total() const { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }
};

template <typename Packed>
__device__ __forceinline__ Packed load_pack(const Packed* place) {
  if constexpr (HINT != WIDE_FETCH) return load_once<HINT>(place);
  uint4 word;
  asm("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
      : "l"(place));
  return *reinterpret_cast<const Packed*>(&word);
}

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
    for (int k = 0; k < PACKS; ++k) held[k] = load_pack(packs + k * BLOCK);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) add(held[k]);
  }
  if (PACKS == 1 || left <= 0) return;
#pragma unroll
  for (int k = 0; k < PACKS - 1; ++k)
    if (k == 0 || k * Stride < left) held[k] = load_pack(packs + k * BLOCK);
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
  if constexpr (CLUSTER == 1) return sum;
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

// True in all threads of the block that is last to call it.
__device__ __forceinline__ bool is_last(unsigned clusters) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();  // other blocks see this block's sum before its count
    last = atomicInc(&finished, clusters - 1) == clusters - 1;
    __threadfence();  // this block sees the sums that were counted
  }
  __syncthreads();
  return last;
}

// Adds up the sums of all blocks, in the order of blocks within each thread's share.
__device__ __forceinline__ float add_sums(const float* sums, int blocks) {
  float own[TOGETHER] = {};
  for (int i = threadIdx.x; i < blocks; i += TOGETHER * BLOCK) {
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k)
      if (i + k * BLOCK < blocks) own[k] += __ldcg(sums + i + k * BLOCK);  // from the L2, where other blocks wrote
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

// The same of the sums in the first `count` slots, as soon as they are there.
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

__device__ __forceinline__ void fetch(const void* place) { asm volatile("prefetch.global.L2 [%0];" ::"l"(place)); }

template <typename T>
__device__ __forceinline__ void reduce_sum_last_block(const T* __restrict__ x, float* sums, float* __restrict__ y,
                                                      long long elements, int span) {
  __shared__ float2 cluster_sums[CLUSTER];
  __shared__ Mailbox box;
  using Packed = Pack<T, 16 / sizeof(T)>;
  const unsigned clusters = gridDim.x / CLUSTER;
  const unsigned cluster = blockIdx.x / CLUSTER;  // ranges [0, clusters)
  if constexpr (CLUSTER > 1) open_mailbox(&box);
  if (EARLY && JOIN != LATER && threadIdx.x == 0 && clusters > 1)
    fetch(JOIN == COUNTED ? static_cast<void*>(&finished) : slots + cluster);

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
  const float sum = cluster_sum(block_sum(partial.total()), cluster_sums, &box);

  if (CLUSTER > 1 && cluster_rank() != 0) return;
  if (JOIN == LATER || clusters == 1) {
    if (threadIdx.x == 0) *(clusters == 1 ? y : sums + cluster) = sum;
    return;
  }
  if constexpr (JOIN == COUNTED) {
    if (threadIdx.x == 0) sums[cluster] = sum;
    if (!is_last(clusters)) return;
    const float total = block_sum(add_sums(sums, clusters));
    if (threadIdx.x == 0) *y = total;
  } else {
    if (cluster < clusters - 1) {
      if (threadIdx.x == 0) put(slots + cluster, READY | __float_as_uint(sum));
      return;
    }
    __syncthreads();  // the first warp has read what the next sum over the block overwrites
    const float others = block_sum(await_sums(clusters - 1));
    if (threadIdx.x == 0) *y = others + sum;
  }
}

// 1024 threads per multiprocessor: for more, ptxas may spare registers by issuing the last load after the first sum.
#if CLUSTER > 1
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
