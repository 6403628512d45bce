// The entries of softmax's and log-softmax's one_read_axis.cu: a tile by packs, cut packs or elements, small slabs, and
// the joining of parts.
//   FORM    Softmax or LogSoftmax;  ENTRY(name)  names an entry
#pragma once
#include "common/small_slabs.cuh"

#define DEFINE_TILE(name, T, V, ragged)                                                                              \
  extern "C" __global__ void ONE_READ_AXIS_CLUSTER __launch_bounds__(THREADS, BLOCKS)                                \
      ENTRY(name)(const T* x, T* y, float2* partials, long long outer, int dim, long long inner, int width,          \
                  int strips, int rows, int parts, int step) {                                                       \
    one_read_axis<FORM, T, V, ragged>(x, y, partials, {outer, dim, inner, width, strips, rows, parts, step});        \
  }
#define DEFINE_SMALL(name, T)                                                                                        \
  extern "C" __global__ void __launch_bounds__(SMALL_THREADS, SMALL_BLOCKS)                                          \
      ENTRY(name)(const T* x, T* y, long long outer, int dim, int inner, int slabs, int pad, int lanes) {            \
    small_slabs<FORM>(x, y, {outer, dim, inner, slabs, pad, lanes});                                                 \
  }
#define DEFINE(dtype, T)                                                                                             \
  DEFINE_TILE(whole_##dtype, T, 16 / sizeof(T), false)                                                               \
  DEFINE_TILE(ragged_##dtype, T, 16 / sizeof(T), true)                                                               \
  DEFINE_TILE(single_##dtype, T, 1, false)                                                                           \
  DEFINE_SMALL(small_##dtype, T)

DEFINE(f32, float)
DEFINE(f16, __half)
DEFINE(bf16, __nv_bfloat16)

extern "C" __global__ void ENTRY(join)(const float2* partials, float2* joined, long long inner, int parts) {
  join_parts(partials, joined, inner, parts);
}
