// The entries of softmax's and log-softmax's one_read_axis.cu: one form of tile, or small slabs, for each type.
//   FORM    Softmax or LogSoftmax;  ENTRY(name)  names an entry
//   LAYOUT  of softmax_family/axis_tiles.cuh, or 3: small slabs; 4: of SIZE elements, INNER columns, SLABS of a thread
//   ITEM_BYTES  of the types that are compiled
//   THREADS, BLOCKS  of a multiprocessor, from which the compiler takes its registers
#pragma once
#if LAYOUT == 4
#include "softmax_family/staged_rows.cuh"
#else
#include "softmax_family/small_slabs.cuh"
#include "softmax_family/ticketed_axis.cuh"
#endif

#define BOUNDED __launch_bounds__(THREADS, BLOCKS)
#define VIEW_PARAMETERS long long outer, int dim, long long inner, int width, int strips, int rows, int parts
#define VIEW {outer, dim, inner, width, strips, rows, parts}
#if TICKETS
#define DEFINE_TILE(name, T)                                                                                         \
  extern "C" __global__ void BOUNDED                                                                                 \
      ENTRY(name)(const T* x, T* y, float2* partials, VIEW_PARAMETERS, int lead, int join) {                         \
    ticketed_axis<FORM, LAYOUT>(x, y, partials, VIEW, lead, join);                                                   \
  }
#elif GANG
#define DEFINE_TILE(name, T)                                                                                         \
  extern "C" __global__ void BOUNDED                                                                                 \
      ENTRY(name)(const T* x, T* y, float2* partials, VIEW_PARAMETERS, int loading) {                                \
    one_read_axis<FORM, LAYOUT>(x, y, partials, VIEW, {loading, 0.0f});                                              \
  }
#else
#define DEFINE_TILE(name, T)                                                                                         \
  extern "C" __global__ void ONE_READ_AXIS_CLUSTER BOUNDED                                                           \
      ENTRY(name)(const T* x, T* y, VIEW_PARAMETERS, int first, float cycles) {                                      \
    one_read_axis<FORM, LAYOUT>(x, y, nullptr, VIEW, {first, cycles});                                               \
  }
#endif
#define DEFINE_SMALL(name, T)                                                                                        \
  extern "C" __global__ void BOUNDED ENTRY(name)(const T* x, T* y, long long outer, int dim, int inner, int slabs,   \
                                                 int pad, int lanes) {                                               \
    small_slabs<FORM>(x, y, {outer, dim, inner, slabs, pad, lanes});                                                 \
  }
#define DEFINE_STAGED(name, T)                                                                                       \
  extern "C" __global__ void BOUNDED ENTRY(name)(const T* x, T* y, long long slabs) {                                \
    staged_rows<FORM, SIZE, SLABS, THREADS, STORES, false, INNER>(x, y, slabs);                                      \
  }

#if LAYOUT == 4  // SLABS is right for one size
#define DEFINE(name, T) DEFINE_STAGED(staged_##name, T)
#elif LAYOUT == 3
#define DEFINE(name, T) DEFINE_SMALL(small_##name, T)
#else
#define DEFINE(name, T) DEFINE_TILE(name, T)
#endif

#if ITEM_BYTES == 2
DEFINE(f16, __half)
DEFINE(bf16, __nv_bfloat16)
#else
DEFINE(f32, float)
#endif
