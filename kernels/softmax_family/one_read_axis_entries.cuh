// The entries of one_read_axis.cu of softmax and log-softmax: tiles, or small slabs, for each type. Only this file reads the
// defines of a launch plan; they become the constants of a Tile.
//   FORM        Softmax or LogSoftmax;  ENTRY(name)  names an entry
//   LAYOUT      0 to 2: tiles, see axis_packs.cuh; PACK_BYTES, where packs have fewer than 16 bytes. 3: slabs that a
//               block copies, see small_slabs.cuh: DIM, INNER, SLABS, LANES, PADDED, PITCH. 4: slabs
//               of SIZE elements and INNER columns, SLABS per thread
//   ITEM_BYTES  size of the types that are compiled
//   THREADS, BLOCKS  threads per block, and blocks per multiprocessor for which registers must suffice
//   STORES, LOADS    hints of row_packs.cuh
// For tiles only:
//   PACKS, SLOTS     packs per thread in registers, and in shared memory
//   WIDE, HIGH       packs side by side, rows at once
//   GANG, TICKETS    1 where a co-resident group, or blocks that read tiles twice, exchange sums; else 0
//   STRIPS           strips of a slab per block, where there are several
//   EXACT            see axis_tiles.cuh;  MOST_UNITS: tickets.cuh
//   DIM, INNER, COLUMNS, ROWS  of an AxisView, the last two of a tile; without them, a kernel takes its parameters
//   SEGMENT, GROUP, FOLD, CLUSTER, WAYS, JOIN_CHUNK  see axis_columns.cuh
#pragma once

#if LAYOUT <= 2 && CLUSTER > 1
#define IN_CLUSTER __cluster_dims__(CLUSTER, 1, 1)
#else
#define IN_CLUSTER
#endif
#define KERNEL extern "C" __global__ void IN_CLUSTER __launch_bounds__(THREADS, BLOCKS)

#if LAYOUT == 4
#include "softmax_family/staged_rows.cuh"

#define DEFINE(dtype, T)                                                                                              \
  KERNEL ENTRY(staged_##dtype)(const T* x, T* y, long long slabs) {                                                   \
    staged_rows<FORM, SIZE, SLABS, THREADS, STORES, INNER>(x, y, slabs);                                              \
  }

#elif LAYOUT == 3
#include "softmax_family/small_slabs.cuh"

using Shape = SlabShape<DIM, INNER, SLABS, LANES, PADDED, PITCH, THREADS>;

#define DEFINE(dtype, T)                                                                                              \
  KERNEL ENTRY(small_##dtype)(const T* x, T* y, long long outer) { small_slabs<FORM, Shape, STORES>(x, y, outer); }

#else
#include "softmax_family/ticketed_axis.cuh"

static_assert(MOST_UNITS >= 1 && JOIN_CHUNK >= 1, "MOST_UNITS and JOIN_CHUNK must be at least 1");
static_assert(GANG + TICKETS + (CLUSTER > 1) <= 1, "blocks exchange sums in one way");

#ifndef PACK_BYTES
#define PACK_BYTES (LAYOUT == 2 ? 4 : 16)
#endif

#ifndef STRIPS
#define STRIPS 1
#endif

#ifdef DIM
#define EXTENTS DIM, INNER, COLUMNS, (INNER + COLUMNS - 1) / COLUMNS, ROWS, (DIM + ROWS - 1) / ROWS
#else
#define EXTENTS dim, inner, width, strips, rows, parts
#endif

struct Tile {
  static constexpr int Layout = LAYOUT, PackBytes = PACK_BYTES, Loads = LOADS, Stores = STORES;
  static constexpr int Packs = PACKS, SharedPacks = SLOTS, Strips = STRIPS, Wide = WIDE, High = HIGH;
  static constexpr int Segment = SEGMENT, Group = GROUP, Fold = FOLD, Cluster = CLUSTER, Ways = WAYS, Chunk = JOIN_CHUNK;
  static constexpr bool Exact = EXACT;
  static constexpr unsigned Units = MOST_UNITS;
  static constexpr Exchange Exchanged = GANG          ? Exchange::CoResident
                                        : TICKETS     ? Exchange::Tickets
                                        : CLUSTER > 1 ? Exchange::Cluster
                                                      : Exchange::None;
};

#define VIEW_PARAMETERS long long outer, int dim, long long inner, int width, int strips, int rows, int parts
#define VIEW {outer, EXTENTS}

#if TICKETS
#define DEFINE(dtype, T)                                                                                              \
  KERNEL ENTRY(dtype)(const T* x, T* y, MaxSum* partials, VIEW_PARAMETERS, int lead, int join) {                      \
    ticketed_axis<FORM, Tile>(x, y, partials, VIEW, lead, join);                                                      \
  }
#elif GANG
#define DEFINE(dtype, T)                                                                                              \
  KERNEL ENTRY(dtype)(const T* x, T* y, MaxSum* partials, VIEW_PARAMETERS, int loading) {                             \
    one_read_axis<FORM, Tile>(x, y, partials, VIEW, {loading, 0.0f});                                                 \
  }
#else
#define DEFINE(dtype, T)                                                                                              \
  KERNEL ENTRY(dtype)(const T* x, T* y, VIEW_PARAMETERS, int first, float cycles) {                                   \
    one_read_axis<FORM, Tile>(x, y, nullptr, VIEW, {first, cycles});                                                  \
  }
#endif
#endif

#if ITEM_BYTES == 2
DEFINE(f16, __half)
DEFINE(bf16, __nv_bfloat16)
#else
DEFINE(f32, float)
#endif
