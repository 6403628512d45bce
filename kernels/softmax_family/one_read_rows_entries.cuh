// The entries of softmax's and log-softmax's one_read_rows.cu: one technique of five for each data type.
//   FORM       Softmax or LogSoftmax; ENTRY(name) names an entry
//   HINT       of loads and stores, see row_packs.cuh;  FAST  1: the hardware's power of two for float32 too
//   BLOCK      threads of a block;  RESIDENT  blocks that registers must leave room for on a multiprocessor
#pragma once

#define HELD 1
#define STAGED 2
#define SPLIT 3
#define IN_WARP 4
#define STAGED_LANES 5

static_assert(BLOCK % 32 == 0 && BLOCK >= 32 && BLOCK <= 1024, "BLOCK must be whole warps, at most 32");
static_assert(HINT >= 0 && HINT <= 2, "HINT: 0 none, 1 evict first, 2 past the L1 cache");

#if TECHNIQUE == HELD && BLOCKS > 1
#define CLUSTER __cluster_dims__(BLOCKS, 1, 1)
#else
#define CLUSTER
#endif

#if TECHNIQUE == HELD
#include "softmax_family/held_rows.cuh"

static_assert(BLOCK == 32 * WARPS, "a row of several warps has a block of its own");
#define DEFINE(dtype, T)                                                                                             \
  extern "C" __global__ void CLUSTER __launch_bounds__(BLOCK, RESIDENT)                                              \
      ENTRY(dtype)(const T* x, T* y, long long rows, int columns) {                                                  \
    held_rows<FORM, WARPS, BLOCKS, PACKS, SHARED_PACKS, HINT, FAST, RECOMPUTE, MASKED>(x, y, rows, columns);         \
  }

#elif TECHNIQUE == IN_WARP
#include "softmax_family/warp_rows.cuh"

#define DEFINE(dtype, T)                                                                                             \
  extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)                                                      \
      ENTRY(dtype)(const T* x, T* y, long long rows, int columns) {                                                  \
    warp_rows<FORM, LANES, PACKS, ROWS, BLOCK, HINT, FAST, MASKED>(x, y, rows, columns);                             \
  }

#elif TECHNIQUE == STAGED
#include "softmax_family/staged_rows.cuh"

#define DEFINE(dtype, T)                                                                                             \
  extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) ENTRY(dtype)(const T* x, T* y, long long rows) {     \
    staged_rows<FORM, COLUMNS, GROUP, BLOCK, HINT, FAST>(x, y, rows);                                                \
  }

#elif TECHNIQUE == STAGED_LANES
#include "softmax_family/staged_lanes.cuh"

#define DEFINE(dtype, T)                                                                                             \
  extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)                                                      \
      ENTRY(dtype)(const T* x, T* y, long long rows, int columns) {                                                  \
    staged_lanes<FORM, LANES, WORDS, GROUP, ROWS, BLOCK, HINT, FAST>(x, y, rows, columns);                           \
  }

#elif TECHNIQUE == SPLIT
#include "softmax_family/split_rows.cuh"

#define DEFINE(dtype, T)                                                                                             \
  extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)                                                      \
      ENTRY(parts_##dtype)(const T* x, float2* parts, long long rows, long long columns, int chunk) {                \
    split_rows_parts<BLOCK, PACKS, FAST>(x, parts, rows, columns, chunk);                                            \
  }                                                                                                                  \
  extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)                                                      \
      ENTRY(finish_##dtype)(const T* x, T* y, const float2* parts, long long rows, long long columns, int chunk) {   \
    split_rows_finish<FORM, BLOCK, PACKS, HINT, FAST>(x, y, parts, rows, columns, chunk);                            \
  }
#else
#error "TECHNIQUE must be HELD, STAGED, SPLIT, IN_WARP or STAGED_LANES"
#endif

#if TECHNIQUE == STAGED_LANES || (TECHNIQUE == STAGED && ITEM_BYTES == 2)  // GROUP is right for one size
DEFINE(f16, __half)
DEFINE(bf16, __nv_bfloat16)
#elif TECHNIQUE == STAGED
DEFINE(f32, float)
#else
DEFINE(f32, float)
DEFINE(f16, __half)
DEFINE(bf16, __nv_bfloat16)
#endif
