// The entries of one_read_rows.cu of softmax and log-softmax: one technique of five, for each data type. Only this file reads
// the defines of a launch plan; they become template arguments.
//   FORM       Softmax or LogSoftmax; ENTRY(name) names an entry
//   TECHNIQUE  HELD, IN_WARP, STAGED, STAGED_LANES or SPLIT; see its header for further defines
//   HINT       for loads and stores, see row_packs.cuh
//   BLOCK      threads per block;  RESIDENT  blocks per multiprocessor for which registers must suffice
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
#define KERNEL extern "C" __global__ void CLUSTER __launch_bounds__(BLOCK, RESIDENT)

#if TECHNIQUE == HELD
#include "softmax_family/held_rows.cuh"

static_assert(BLOCK == 32 * WARPS, "a row of several warps has a block of its own");
#define DEFINE(dtype, T)                                                                                \
  KERNEL ENTRY(dtype)(const T* x, T* y, long long rows, int columns) {                                  \
    held_rows<FORM, WARPS, BLOCKS, PACKS, SHARED_PACKS, HINT, RECOMPUTE, MASKED>(x, y, rows, columns);  \
  }

#elif TECHNIQUE == IN_WARP
#include "softmax_family/warp_rows.cuh"

#define DEFINE(dtype, T)                                                                                \
  KERNEL ENTRY(dtype)(const T* x, T* y, long long rows, int columns) {                                  \
    warp_rows<FORM, LANES, PACKS, ROWS, BLOCK, HINT, MASKED>(x, y, rows, columns);                      \
  }

#elif TECHNIQUE == STAGED
#include "softmax_family/staged_rows.cuh"

#define DEFINE(dtype, T)                                                                                \
  KERNEL ENTRY(dtype)(const T* x, T* y, long long rows) {                                               \
    staged_rows<FORM, COLUMNS, GROUP, BLOCK, HINT>(x, y, rows);                                         \
  }

#elif TECHNIQUE == STAGED_LANES
#include "softmax_family/staged_lanes.cuh"

#define DEFINE(dtype, T)                                                                                \
  KERNEL ENTRY(dtype)(const T* x, T* y, long long rows, int columns) {                                  \
    staged_lanes<FORM, LANES, WORDS, GROUP, ROWS, BLOCK, HINT>(x, y, rows, columns);                    \
  }

#elif TECHNIQUE == SPLIT
#include "softmax_family/split_rows.cuh"

#define ROWS_AND_CHUNK long long rows, long long columns, int chunk
#define DEFINE(dtype, T)                                                                                \
  KERNEL ENTRY(parts_##dtype)(const T* x, MaxSum* parts, ROWS_AND_CHUNK) {                              \
    split_rows_parts<BLOCK, PACKS>(x, parts, rows, columns, chunk);                                     \
  }                                                                                                     \
  KERNEL ENTRY(finish_##dtype)(const T* x, T* y, const MaxSum* parts, ROWS_AND_CHUNK) {                 \
    split_rows_finish<FORM, BLOCK, PACKS, HINT>(x, y, parts, rows, columns, chunk);                     \
  }
#else
#error "TECHNIQUE must be HELD, STAGED, SPLIT, IN_WARP or STAGED_LANES"
#endif

#if TECHNIQUE == STAGED_LANES || (TECHNIQUE == STAGED && ITEM_BYTES == 2)  // GROUP is right for one size
#define HALVES 1
#define FLOATS 0
#else
#define HALVES (TECHNIQUE != STAGED)
#define FLOATS 1
#endif

#if FLOATS
DEFINE(f32, float)
#endif
#if HALVES
DEFINE(f16, __half)
DEFINE(bf16, __nv_bfloat16)
#endif
