// Softmax of longer rows, one block per row: the row kept in shared memory, or read again from global memory.
//   launch  block (BLOCK, 1, 1); shared kernel: columns * 4 bytes of dynamic shared memory
//   needs   columns % PACK == 0; columns + BLOCK * PACK < 2^31
#pragma once
#include "common/reduce.cuh"
#include "softmax/oneflow_pack.cuh"

// Where the elements of a pack lie in shared memory.
//   TRANSPOSED  [PACK][packs]: the lanes of a warp touch 32 neighbouring words, one per bank
//   otherwise   [packs][PACK], the order of the row: with PACK 2 the lanes touch every other word, and two
//               lanes meet in each of 16 banks. Volatile, because the compiler would otherwise join the two
//               accesses of a lane into one of 8 bytes, which has no conflict
template <int PACK, bool TRANSPOSED>
__device__ __forceinline__ void keep_pack(float* row_values, int pack, int packs, const float* values) {
#pragma unroll
  for (int i = 0; i < PACK; ++i) {
    if constexpr (TRANSPOSED) {
      row_values[i * packs + pack] = values[i];
    } else {
      static_cast<volatile float*>(row_values)[pack * PACK + i] = values[i];
    }
  }
}

template <int PACK, bool TRANSPOSED>
__device__ __forceinline__ void recall_pack(const float* row_values, int pack, int packs, float* values) {
#pragma unroll
  for (int i = 0; i < PACK; ++i) {
    if constexpr (TRANSPOSED) {
      values[i] = row_values[i * packs + pack];
    } else {
      values[i] = static_cast<const volatile float*>(row_values)[pack * PACK + i];
    }
  }
}

// The row is read once. Exponentials replace it in shared memory.
template <int PACK, int BLOCK, bool TRANSPOSED, typename T>
__device__ __forceinline__ void softmax_oneflow_shared(const T* x, T* y, long long rows, int columns, float scale) {
  extern __shared__ float row_values[];
  const int packs = columns / PACK;

  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x_row = x + row * columns;
    T* y_row = y + row * columns;

    // load
    float row_max = MaxOp::identity();
    for (int pack = threadIdx.x; pack < packs; pack += BLOCK) {
      float values[PACK];
      load_scaled<PACK>(x_row + pack * PACK, scale, values);
      keep_pack<PACK, TRANSPOSED>(row_values, pack, packs, values);
#pragma unroll
      for (int i = 0; i < PACK; ++i) row_max = MaxOp::apply(row_max, values[i]);
    }

    // reduce and compute. The barriers inside each reduction also stand between one thread's writes to
    // the row and another's reads of it. Threads go by columns here, so the order does not matter.
    row_max = block_all_reduce<MaxOp, BLOCK>(row_max);
    float row_sum = 0.0f;
    for (int column = threadIdx.x; column < columns; column += BLOCK) {
      const float power = expf(row_values[column] - row_max);
      row_values[column] = power;
      row_sum += power;
    }
    row_sum = block_all_reduce<SumOp, BLOCK>(row_sum);

    // store. The next row's load overwrites what the same thread reads here: no barrier is needed.
    for (int pack = threadIdx.x; pack < packs; pack += BLOCK) {
      float values[PACK];
      recall_pack<PACK, TRANSPOSED>(row_values, pack, packs, values);
#pragma unroll
      for (int i = 0; i < PACK; ++i) values[i] /= row_sum;
      store_rounded<PACK>(values, y_row + pack * PACK);
    }
  }
}

// The row is read three times, for the maximum, the sum and the result; the caches may serve the second and third.
template <int PACK, int BLOCK, typename T>
__device__ __forceinline__ void softmax_oneflow_uncached(const T* x, T* y, long long rows, int columns, float scale) {
  const int packs = columns / PACK;

  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x_row = x + row * columns;
    T* y_row = y + row * columns;
    float values[PACK];

    float row_max = MaxOp::identity();
    for (int pack = threadIdx.x; pack < packs; pack += BLOCK) {
      load_scaled<PACK>(x_row + pack * PACK, scale, values);
#pragma unroll
      for (int i = 0; i < PACK; ++i) row_max = MaxOp::apply(row_max, values[i]);
    }
    row_max = block_all_reduce<MaxOp, BLOCK>(row_max);

    float row_sum = 0.0f;
    for (int pack = threadIdx.x; pack < packs; pack += BLOCK) {
      load_scaled<PACK>(x_row + pack * PACK, scale, values);
#pragma unroll
      for (int i = 0; i < PACK; ++i) row_sum += expf(values[i] - row_max);
    }
    row_sum = block_all_reduce<SumOp, BLOCK>(row_sum);

    for (int pack = threadIdx.x; pack < packs; pack += BLOCK) {
      load_scaled<PACK>(x_row + pack * PACK, scale, values);
#pragma unroll
      for (int i = 0; i < PACK; ++i) values[i] = expf(values[i] - row_max) / row_sum;
      store_rounded<PACK>(values, y_row + pack * PACK);
    }
  }
}
