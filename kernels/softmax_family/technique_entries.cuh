// What launch plans of rows define, for the entries of every operation: the techniques, and a kernel's bounds.
//   TECHNIQUE  HELD, IN_WARP, STAGED, STAGED_LANES or SPLIT; of layer norm LONG_ROWS, and HELD with IN_TURN; see its header
//   HINT       for loads and stores, see row_packs.cuh
//   BLOCK      threads per block;  RESIDENT  blocks per multiprocessor for which registers must suffice
//   ITEM_BYTES   of an element: 2 or 4
#pragma once

#define HELD 1
#define STAGED 2
#define SPLIT 3
#define IN_WARP 4
#define STAGED_LANES 5
#define LONG_ROWS 6

static_assert(BLOCK % 32 == 0 && BLOCK >= 32 && BLOCK <= 1024, "BLOCK must be whole warps, at most 32");
static_assert(HINT >= 0 && HINT <= 2, "HINT: 0 none, 1 evict first, 2 past the L1 cache");
#if TECHNIQUE == HELD
static_assert(BLOCK == 32 * WARPS, "a row of several warps has a block of its own");
#endif

#if TECHNIQUE == HELD && BLOCKS > 1
#define CLUSTER __cluster_dims__(BLOCKS, 1, 1)
#else
#define CLUSTER
#endif
#define KERNEL extern "C" __global__ void CLUSTER __launch_bounds__(BLOCK, RESIDENT)

// A binary has entries of one size of element, for the compiler takes a quarter less for them than for all.
#define HALVES (ITEM_BYTES == 2)
#define FLOATS (ITEM_BYTES == 4)
