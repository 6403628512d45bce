// Ways to reduce one value per thread of a block to one value, in the order in which they are usually taught.
//   Tree::reduce<Op>(slots, value)   the result comes to slots[0]: thread 0 may read it at once, the others
//                                    after a barrier. All threads of the block (Block, 1, 1) must call it.
//   slots   shared, Block floats;  Block a power of two from 64 to 1024
//   Op      MaxOp or SumOp of reduce.cuh
// Loop bounds are blockDim.x, not Block, so that the loops stay loops: unrolling them is a step of its own, the
// struct UnrolledAll.
#pragma once
#include "common/reduce.cuh"

namespace trees {

// Step s joins neighbours s apart, in the threads whose number is a multiple of 2 s. The working threads are
// spread over all warps: in the first step every warp runs with half of its lanes, in the fifth with one, and
// the remainder by a number known at run time only costs some 20 instructions.
struct Modulo {
  template <typename Op, int Block>
  static __device__ __forceinline__ void reduce(float (&slots)[Block], float value) {
    const int thread = threadIdx.x;  // ranges [0, Block)
    const int threads = blockDim.x;
    slots[thread] = value;
    __syncthreads();  // all values are there
    for (int s = 1; s < threads; s *= 2) {
      if (thread % (2 * s) == 0) slots[thread] = Op::apply(slots[thread], slots[thread + s]);
      __syncthreads();  // the next step reads what this one wrote
    }
  }
};

// The same pairs as Modulo, but worked on by the first threads, so that whole warps are busy or idle. Lanes
// now lie 2 s slots apart: 2-way bank conflicts in the first step, 4-way in the second, up to Block / 32 ways.
struct Strided {
  template <typename Op, int Block>
  static __device__ __forceinline__ void reduce(float (&slots)[Block], float value) {
    const int thread = threadIdx.x;  // ranges [0, Block)
    const int threads = blockDim.x;
    slots[thread] = value;
    __syncthreads();  // all values are there
    for (int s = 1; s < threads; s *= 2) {
      const int index = 2 * s * thread;
      if (index < threads) slots[index] = Op::apply(slots[index], slots[index + s]);
      __syncthreads();  // the next step reads what this one wrote
    }
  }
};

// The upper half is folded onto the lower half: whole warps, and neighbouring lanes on neighbouring banks.
struct Sequential {
  template <typename Op, int Block>
  static __device__ __forceinline__ void reduce(float (&slots)[Block], float value) {
    const int thread = threadIdx.x;  // ranges [0, Block)
    slots[thread] = value;
    __syncthreads();  // all values are there
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
      if (thread < s) slots[thread] = Op::apply(slots[thread], slots[thread + s]);
      __syncthreads();  // the next step reads what this one wrote
    }
  }
};

// 64 values folded onto slots[0] by the first warp alone, without branch or block barrier; all its lanes must call it.
// The published form trusts a volatile pointer to keep the lanes in step. Since Volta lanes may drift apart,
// so here each lane reads, waits for its warp, writes, and waits again.
template <typename Op, int Block>
__device__ __forceinline__ void fold_last_64(float (&slots)[Block]) {
  static_assert(Block >= 2 * WARP_SIZE, "the last warp folds 64 values");
  const int lane = threadIdx.x;  // ranges [0, 32)
  float folded = slots[lane];
#pragma unroll
  for (int s = WARP_SIZE; s > 0; s /= 2) {
    folded = Op::apply(folded, slots[lane + s]);
    __syncwarp();  // every lane has read before its neighbour's slot changes
    slots[lane] = folded;
    __syncwarp();  // every lane has written before the next step reads
  }
}

// Sequential down to 64 values; the last warp then goes on alone.
struct Unrolled {
  template <typename Op, int Block>
  static __device__ __forceinline__ void reduce(float (&slots)[Block], float value) {
    const int thread = threadIdx.x;  // ranges [0, Block)
    slots[thread] = value;
    __syncthreads();  // all values are there
    for (int s = blockDim.x / 2; s > WARP_SIZE; s /= 2) {
      if (thread < s) slots[thread] = Op::apply(slots[thread], slots[thread + s]);
      __syncthreads();  // the next step reads what this one wrote
    }
    if (thread < WARP_SIZE) fold_last_64<Op>(slots);
  }
};

// The same with its loop unrolled too: the compiler knows the block.
struct UnrolledAll {
  template <typename Op, int Block>
  static __device__ __forceinline__ void reduce(float (&slots)[Block], float value) {
    const int thread = threadIdx.x;  // ranges [0, Block)
    slots[thread] = value;
    __syncthreads();  // all values are there
#pragma unroll
    for (int s = Block / 2; s > WARP_SIZE; s /= 2) {
      if (thread < s) slots[thread] = Op::apply(slots[thread], slots[thread + s]);
      __syncthreads();  // the next step reads what this one wrote
    }
    if (thread < WARP_SIZE) fold_last_64<Op>(slots);
  }
};

// Registers instead of slots within a warp; shared memory only to pass one value per warp to the first warp.
struct Shuffle {
  template <typename Op, int Block>
  static __device__ __forceinline__ void reduce(float (&slots)[Block], float value) {
    constexpr int Warps = Block / WARP_SIZE;
    const int lane = threadIdx.x % WARP_SIZE;  // ranges [0, 32)
    const int warp = threadIdx.x / WARP_SIZE;  // ranges [0, Warps)
    value = warp_all_reduce<Op>(value);
    if (lane == 0) slots[warp] = value;
    __syncthreads();  // every warp's result is there
    if (warp == 0) {
      value = warp_all_reduce<Op, Warps>(lane < Warps ? slots[lane] : Op::identity());
      if (lane == 0) slots[0] = value;
    }
  }
};

}  // namespace trees

// The result of `Tree` for all threads; may be called again at once.
template <typename Tree, typename Op, int Block>
__device__ __forceinline__ float tree_all_reduce(float (&slots)[Block], float value) {
  Tree::template reduce<Op>(slots, value);
  __syncthreads();  // thread 0's result is there
  const float result = slots[0];
  __syncthreads();  // all have read it before a next call writes
  return result;
}
