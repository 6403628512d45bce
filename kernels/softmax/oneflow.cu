// Softmax over the last axis by OneFlow's three techniques; ONEFLOW_TECHNIQUE says which one this binary holds.
//   x       T [rows, columns], row-major; read once, by `uncached` three times
//   y       T [rows, columns]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float, expf and / accurate
//   needs   warp: columns <= 1024; shared: columns * 4 bytes + reduction fit 48 KB; uncached: nothing
//           PACK 2 only where columns is even: both x and y are moved by whole packs, and begin at one
//   launch  at most 32 waves of blocks, each block going on to further rows:
//           warp      grid ceil(rows / ROWS_PER_ACCESS / groups), block (GROUP, groups = 128 / GROUP)
//           shared    grid rows, block BLOCK, columns * 4 bytes of dynamic shared memory
//           uncached  grid rows, block BLOCK, 1024 as published
//   moves   1 read, 1 write; uncached 3 reads. Accesses of 2 to 8 bytes
//   A row of -inf gives NaN.   Origin: Oneflow-Inc/oneflow, oneflow/core/cuda/softmax.cuh.
// Values of ONEFLOW_TECHNIQUE. The other ONEFLOW_ defines are the constants of one launch plan.
#define ONEFLOW_WARP 1
#define ONEFLOW_SHARED 2
#define ONEFLOW_UNCACHED 3

#if ONEFLOW_TECHNIQUE == ONEFLOW_WARP
#include "softmax/oneflow_warp.cuh"

extern "C" __global__ void softmax_oneflow_warp_f32(const float* x, float* y, long long rows, int columns,
                                                    float scale) {
  softmax_oneflow_warp<ONEFLOW_PACK, ONEFLOW_GROUP, ONEFLOW_COLUMNS_PER_THREAD, ONEFLOW_ROWS_PER_ACCESS,
                       ONEFLOW_PADDED>(x, y, rows, columns, scale);
}

extern "C" __global__ void softmax_oneflow_warp_f16(const __half* x, __half* y, long long rows, int columns,
                                                    float scale) {
  softmax_oneflow_warp<ONEFLOW_PACK, ONEFLOW_GROUP, ONEFLOW_COLUMNS_PER_THREAD, ONEFLOW_ROWS_PER_ACCESS,
                       ONEFLOW_PADDED>(x, y, rows, columns, scale);
}

extern "C" __global__ void softmax_oneflow_warp_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long rows,
                                                     int columns, float scale) {
  softmax_oneflow_warp<ONEFLOW_PACK, ONEFLOW_GROUP, ONEFLOW_COLUMNS_PER_THREAD, ONEFLOW_ROWS_PER_ACCESS,
                       ONEFLOW_PADDED>(x, y, rows, columns, scale);
}

#elif ONEFLOW_TECHNIQUE == ONEFLOW_SHARED
#include "softmax/oneflow_block.cuh"
// Leaves registers for as many threads as a multiprocessor holds, so that only threads and shared memory
// limit how many blocks are resident: the launch plan chooses the block size before anything is compiled.
#define ONEFLOW_BOUNDS __launch_bounds__(ONEFLOW_BLOCK, ONEFLOW_RESIDENT_THREADS / ONEFLOW_BLOCK)

extern "C" __global__ ONEFLOW_BOUNDS void softmax_oneflow_shared_f32(const float* x, float* y, long long rows,
                                                                     int columns, float scale) {
  softmax_oneflow_shared<ONEFLOW_PACK, ONEFLOW_BLOCK, ONEFLOW_TRANSPOSED>(x, y, rows, columns, scale);
}

extern "C" __global__ ONEFLOW_BOUNDS void softmax_oneflow_shared_f16(const __half* x, __half* y, long long rows,
                                                                     int columns, float scale) {
  softmax_oneflow_shared<ONEFLOW_PACK, ONEFLOW_BLOCK, ONEFLOW_TRANSPOSED>(x, y, rows, columns, scale);
}

extern "C" __global__ ONEFLOW_BOUNDS void softmax_oneflow_shared_bf16(const __nv_bfloat16* x, __nv_bfloat16* y,
                                                                      long long rows, int columns, float scale) {
  softmax_oneflow_shared<ONEFLOW_PACK, ONEFLOW_BLOCK, ONEFLOW_TRANSPOSED>(x, y, rows, columns, scale);
}

#elif ONEFLOW_TECHNIQUE == ONEFLOW_UNCACHED
#include "softmax/oneflow_block.cuh"

extern "C" __global__ void softmax_oneflow_uncached_f32(const float* x, float* y, long long rows, int columns,
                                                        float scale) {
  softmax_oneflow_uncached<ONEFLOW_PACK, ONEFLOW_BLOCK>(x, y, rows, columns, scale);
}

extern "C" __global__ void softmax_oneflow_uncached_f16(const __half* x, __half* y, long long rows, int columns,
                                                        float scale) {
  softmax_oneflow_uncached<ONEFLOW_PACK, ONEFLOW_BLOCK>(x, y, rows, columns, scale);
}

extern "C" __global__ void softmax_oneflow_uncached_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long rows,
                                                         int columns, float scale) {
  softmax_oneflow_uncached<ONEFLOW_PACK, ONEFLOW_BLOCK>(x, y, rows, columns, scale);
}

#else
#error "ONEFLOW_TECHNIQUE must be ONEFLOW_WARP, ONEFLOW_SHARED or ONEFLOW_UNCACHED"
#endif
