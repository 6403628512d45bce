// Layer norm along the last axis, each row held between load and store, or, beyond what a cluster holds, read twice.
//   x            T [rows, columns], row-major, beginning anywhere; read once (split: twice)
//   gamma, beta  T [columns]; read once per row, or once for several, from the caches after the first time. They may begin
//                anywhere, but unless both begin at multiples of 16 bytes x is read three times (split:
//                twice; staged_lanes: once)
//   y            T [rows, columns]; must not overlap x; written once
//   T            float, __half, __nv_bfloat16; arithmetic in float
//   TECHNIQUE    staged: short rows whole in a thread, through shared memory; staged_lanes: longer ones that end within a
//                pack, by lanes, likewise; in_warp: in registers of a warp's lanes; held: of warps, a block or a cluster,
//                which with IN_TURN take several rows in turn; long_rows: of groups of blocks that wait for each other;
//                split: two launches. Their constants, needs and launches: softmax_family/staged_rows.cuh, staged_lanes.cuh,
//                warp_rows.cuh, held_rows.cuh, split_rows.cuh; rows_in_turn.cuh, long_rows.cuh
//                Some rows that are no whole packs are held in words, by _words.cu
//   moves        D in, D out; split 2 D in
//   A row with an infinity or a NaN gives NaN.   Origin: written here.
#include "layer_norm/rows.cuh"
#include "softmax_family/technique_entries.cuh"

#define ENTRY(name) layer_norm_one_read_rows_##name

#if TECHNIQUE == HELD && IN_TURN
#include "layer_norm/rows_in_turn.cuh"

#define DEFINE(dtype, T)                                                                                            \
  KERNEL ENTRY(dtype)(const T* x, const T* gamma, const T* beta, T* y, long long rows, int columns, float eps) {    \
    layer_norm_in_turn<WARPS, BLOCKS, PACKS, HINT, T>(x, {gamma, beta, eps}, y, rows, columns);                     \
  }
#elif TECHNIQUE == HELD
#define DEFINE(dtype, T)                                                                                            \
  KERNEL ENTRY(dtype)(const T* x, const T* gamma, const T* beta, T* y, long long rows, int columns, float eps) {    \
    layer_norm_held<WARPS, BLOCKS, PACKS, SHARED_PACKS, HINT, MASKED, WEIGHTS_FIRST, T>(x, {gamma, beta, eps}, y,   \
                                                                                        rows, columns);             \
  }
#elif TECHNIQUE == LONG_ROWS
#include "layer_norm/long_rows.cuh"

#define DEFINE(dtype, T)                                                                                               \
  KERNEL ENTRY(dtype)(const T* x, const T* gamma, const T* beta, T* y, long long rows, int columns, float eps) {       \
    layer_norm_long_rows<WARPS, BLOCKS, PACKS, SLOTS, AHEAD, HINT, MASKED, KEPT, T>(x, {gamma, beta, eps}, y, rows,    \
                                                                                    columns);                          \
  }
#elif TECHNIQUE == IN_WARP
#define DEFINE(dtype, T)                                                                                            \
  KERNEL ENTRY(dtype)(const T* x, const T* gamma, const T* beta, T* y, long long rows, int columns, float eps) {    \
    layer_norm_by_lanes<LANES, PACKS, ROWS, BLOCK, HINT, MASKED, T>(x, {gamma, beta, eps}, y, rows, columns);       \
  }
#elif TECHNIQUE == STAGED
#define DEFINE(dtype, T)                                                                                            \
  KERNEL ENTRY(dtype)(const T* x, const T* gamma, const T* beta, T* y, long long rows, float eps) {                 \
    layer_norm_staged<COLUMNS, GROUP, BLOCK, HINT, T>(x, {gamma, beta, eps}, y, rows);                              \
  }
#elif TECHNIQUE == STAGED_LANES
#define DEFINE(dtype, T)                                                                                            \
  KERNEL ENTRY(dtype)(const T* x, const T* gamma, const T* beta, T* y, long long rows, int columns, float eps) {    \
    layer_norm_staged_lanes<LANES, WORDS, GROUP, BLOCK, HINT, T>(x, {gamma, beta, eps}, y, rows, columns);          \
  }
#elif TECHNIQUE == SPLIT
#define DEFINE(dtype, T)                                                                                            \
  KERNEL ENTRY(parts_##dtype)(const T* x, Moments* parts, long long rows, long long columns, int chunk) {           \
    layer_norm_split_parts<BLOCK, PACKS>(x, parts, rows, columns, chunk);                                           \
  }                                                                                                                 \
  KERNEL ENTRY(finish_##dtype)(const T* x, const T* gamma, const T* beta, T* y, const Moments* parts,               \
                               long long rows, long long columns, int chunk, float eps) {                           \
    layer_norm_split_finish<BLOCK, PACKS, HINT, T>(x, {gamma, beta, eps}, y, parts, rows, columns, chunk);          \
  }
#else
#error "TECHNIQUE must be HELD, IN_WARP, LONG_ROWS, STAGED, STAGED_LANES or SPLIT"
#endif

#if FLOATS || TECHNIQUE == STAGED_LANES  // WORDS are elements, of any size
DEFINE(f32, float)
#endif
#if HALVES
DEFINE(f16, __half)
DEFINE(bf16, __nv_bfloat16)
#endif
