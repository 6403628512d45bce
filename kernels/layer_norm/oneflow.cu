// Layer norm over the last axis by OneFlow's three techniques; ONEFLOW_TECHNIQUE says which one this binary holds.
//   x            T [rows, columns], row-major; read once, by `uncached` twice
//   gamma, beta  T [columns]; read once per row, from the caches after the first time
//   y            T [rows, columns]; must not overlap x; written once
//   T            float, __half, __nv_bfloat16; arithmetic in float, Welford's update with one division per element
//   needs        warp: columns <= 1024; shared: columns * 4 bytes + 396 fit 48 KB; uncached: nothing
//                PACK 4 or 2 only where it divides columns: all arrays begin at a multiple of so many elements
//   launch       at most 32 waves of blocks, each block going on to further rows:
//                warp      grid ceil(rows / groups), block (GROUP, groups = 128 / GROUP)
//                shared    grid rows, block BLOCK, columns * 4 bytes of dynamic shared memory
//                uncached  grid rows, block 1024
//   moves        1 read, 1 write; uncached 2 reads. Accesses of 2 to 16 bytes
//   A row with a NaN gives NaN, one with an infinity infinities beside NaN.   Origin: Oneflow-Inc/oneflow, oneflow/core/cuda/layer_norm.cuh.
#include "layer_norm/oneflow_rows.cuh"

#define ONEFLOW_WARP 1
#define ONEFLOW_SHARED 2
#define ONEFLOW_UNCACHED 3

#if ONEFLOW_TECHNIQUE == ONEFLOW_WARP
#define BOUNDS
#define ROWS layer_norm_oneflow_warp<ONEFLOW_PACK, ONEFLOW_GROUP, ONEFLOW_COLUMNS_PER_THREAD, ONEFLOW_ROWS_PER_ACCESS, ONEFLOW_PADDED>
#elif ONEFLOW_TECHNIQUE == ONEFLOW_SHARED
// Leaves registers for as many threads as a multiprocessor holds, so that only threads and shared memory limit how many blocks
// are resident: the launch plan chooses the block size before anything is compiled.
#define BOUNDS __launch_bounds__(ONEFLOW_BLOCK, ONEFLOW_RESIDENT_THREADS / ONEFLOW_BLOCK)
#define ROWS layer_norm_oneflow_block<ONEFLOW_PACK, ONEFLOW_BLOCK, true>
#elif ONEFLOW_TECHNIQUE == ONEFLOW_UNCACHED
#define BOUNDS __launch_bounds__(ONEFLOW_BLOCK)
#define ROWS layer_norm_oneflow_block<ONEFLOW_PACK, ONEFLOW_BLOCK, false>
#else
#error "ONEFLOW_TECHNIQUE must be ONEFLOW_WARP, ONEFLOW_SHARED or ONEFLOW_UNCACHED"
#endif

extern "C" __global__ BOUNDS void layer_norm_oneflow_f32(const float* x, const float* gamma, const float* beta, float* y,
                                                         long long rows, int columns, float eps) {
  ROWS(x, gamma, beta, y, rows, columns, eps);
}

extern "C" __global__ BOUNDS void layer_norm_oneflow_f16(const __half* x, const __half* gamma, const __half* beta, __half* y,
                                                         long long rows, int columns, float eps) {
  ROWS(x, gamma, beta, y, rows, columns, eps);
}

extern "C" __global__ BOUNDS void layer_norm_oneflow_bf16(const __nv_bfloat16* x, const __nv_bfloat16* gamma,
                                                          const __nv_bfloat16* beta, __nv_bfloat16* y, long long rows,
                                                          int columns, float eps) {
  ROWS(x, gamma, beta, y, rows, columns, eps);
}
