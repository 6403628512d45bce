// The entries of one_read_rows.cu of softmax and log-softmax: one technique of five, for each data type. Only this file reads
// the defines of a launch plan; they become template arguments.
//   FORM       Softmax or LogSoftmax; ENTRY(name) names an entry; the others: technique_entries.cuh
#pragma once
#include "softmax_family/technique_entries.cuh"

#if TECHNIQUE == HELD
#include "softmax_family/held_rows.cuh"

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

#if FLOATS
DEFINE(f32, float)
#endif
#if HALVES
DEFINE(f16, __half)
DEFINE(bf16, __nv_bfloat16)
#endif
