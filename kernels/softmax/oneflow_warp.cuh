// Softmax of short rows: a group of lanes per row, or two rows at once, each row held in registers.
//   launch  block (GROUP, 128 / GROUP): threadIdx.y numbers the groups, threadIdx.x the lanes of one
//   needs   columns <= GROUP * COLUMNS_PER_THREAD, equal to it unless PADDED; columns % PACK == 0;
//           rows % ROWS_PER_ACCESS == 0
#pragma once
#include "common/reduce.cuh"
#include "softmax/oneflow_pack.cuh"

template <int PACK, int GROUP, int COLUMNS_PER_THREAD, int ROWS_PER_ACCESS, bool PADDED, typename T>
__device__ __forceinline__ void softmax_oneflow_warp(const T* x, T* y, long long rows, int columns, float scale) {
  static_assert(GROUP >= 1 && GROUP <= WARP_SIZE && (GROUP & (GROUP - 1)) == 0, "GROUP: a power of two to 32");
  static_assert(COLUMNS_PER_THREAD % PACK == 0 && COLUMNS_PER_THREAD <= 32, "COLUMNS_PER_THREAD: whole packs, to 32");
  static_assert(ROWS_PER_ACCESS == 1 || ROWS_PER_ACCESS == 2, "ROWS_PER_ACCESS must be 1 or 2");
  constexpr int PACKS = COLUMNS_PER_THREAD / PACK;
  const int lane = threadIdx.x;  // ranges [0, GROUP)
  const long long group = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.y * ROWS_PER_ACCESS;
  float row_values[ROWS_PER_ACCESS][COLUMNS_PER_THREAD];

  // Groups of a warp may leave this loop at different rows. Those that leave end at once, and a shuffle
  // waits for no ended lane, so the full masks below stay valid.
  for (long long row = group * ROWS_PER_ACCESS; row < rows; row += step) {
    // load
    float row_max[ROWS_PER_ACCESS];
#pragma unroll
    for (int r = 0; r < ROWS_PER_ACCESS; ++r) {
      row_max[r] = MaxOp::identity();
#pragma unroll
      for (int pack = 0; pack < PACKS; ++pack) {
        const int column = (pack * GROUP + lane) * PACK;  // neighbouring lanes read neighbouring packs
        float* values = row_values[r] + pack * PACK;
        if (!PADDED || column < columns) {
          load_scaled<PACK>(x + (row + r) * columns + column, scale, values);
        } else {
#pragma unroll
          for (int i = 0; i < PACK; ++i) values[i] = MaxOp::identity();  // exp of it adds 0 to the sum
        }
#pragma unroll
        for (int i = 0; i < PACK; ++i) row_max[r] = MaxOp::apply(row_max[r], values[i]);
      }
    }

    // reduce and compute, each step for both rows, so that their latencies overlap
#pragma unroll
    for (int r = 0; r < ROWS_PER_ACCESS; ++r) row_max[r] = warp_all_reduce<MaxOp, GROUP>(row_max[r]);
    float row_sum[ROWS_PER_ACCESS];
#pragma unroll
    for (int r = 0; r < ROWS_PER_ACCESS; ++r) {
      row_sum[r] = 0.0f;
#pragma unroll
      for (int i = 0; i < COLUMNS_PER_THREAD; ++i) {
        row_values[r][i] = expf(row_values[r][i] - row_max[r]);
        row_sum[r] += row_values[r][i];
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS_PER_ACCESS; ++r) row_sum[r] = warp_all_reduce<SumOp, GROUP>(row_sum[r]);

    // store
#pragma unroll
    for (int r = 0; r < ROWS_PER_ACCESS; ++r) {
#pragma unroll
      for (int i = 0; i < COLUMNS_PER_THREAD; ++i) row_values[r][i] /= row_sum[r];
#pragma unroll
      for (int pack = 0; pack < PACKS; ++pack) {
        const int column = (pack * GROUP + lane) * PACK;
        if (!PADDED || column < columns)
          store_rounded<PACK>(row_values[r] + pack * PACK, y + (row + r) * columns + column);
      }
    }
  }
}
