// Log-softmax along an axis that is not the last, each element read once and held in registers.
//   x         T [outer, dim, inner], row-major; read once (twice in two reads); any alignment
//   y         T [outer, dim, inner]; must not overlap x; written once
//   partials  (maximum, sum) [outer, parts, inner] between two reads, not used by one; joined: [outer, inner]
//   T         float, __half, __nv_bfloat16, kept as they are; arithmetic in float
//   needs     inner >= 2; a tile of at most PACKS * THREADS packs a block; see common/one_read_axis.cuh
//   launch    block (threads of a slab, slabs); grid parts * strips * ceil(outer / slabs), in clusters of CLUSTER along
//             x; dynamic shared memory for the exchange
//   moves     D in, D out; 2 D in, D out and the partials where no cluster holds a strip of dim
//   entries   whole: packs of 16 bytes; ragged: slabs that end within one; single: elements; small: many slabs a block,
//             in shared memory, block (threads), grid ceil(outer / slabs)
//   A column of -inf gives NaN.   Origin: written here.
#include "common/small_slabs.cuh"

#define ONE_READ_AXIS_ENTRY(name, T, V, ragged)                                                                     \
  extern "C" __global__ void ONE_READ_AXIS_CLUSTER __launch_bounds__(THREADS, BLOCKS)                               \
      log_softmax_one_read_axis_##name(const T* x, T* y, float2* partials, long long outer, int dim,                \
                                       long long inner, int width, int strips, int rows, int parts, int step) {     \
    one_read_axis<LogSoftmax, T, V, ragged>(x, y, partials, {outer, dim, inner, width, strips, rows, parts, step}); \
  }

ONE_READ_AXIS_ENTRY(whole_f32, float, 4, false)
ONE_READ_AXIS_ENTRY(whole_f16, __half, 8, false)
ONE_READ_AXIS_ENTRY(whole_bf16, __nv_bfloat16, 8, false)
ONE_READ_AXIS_ENTRY(ragged_f32, float, 4, true)
ONE_READ_AXIS_ENTRY(ragged_f16, __half, 8, true)
ONE_READ_AXIS_ENTRY(ragged_bf16, __nv_bfloat16, 8, true)
ONE_READ_AXIS_ENTRY(single_f32, float, 1, false)
ONE_READ_AXIS_ENTRY(single_f16, __half, 1, false)
ONE_READ_AXIS_ENTRY(single_bf16, __nv_bfloat16, 1, false)

extern "C" __global__ void __launch_bounds__(SMALL_THREADS, SMALL_BLOCKS) log_softmax_one_read_axis_small_f32(
    const float* x, float* y, long long outer, int dim, int inner, int slabs, int pad, int lanes) {
  small_slabs<LogSoftmax>(x, y, {outer, dim, inner, slabs, pad, lanes});
}

extern "C" __global__ void __launch_bounds__(SMALL_THREADS, SMALL_BLOCKS) log_softmax_one_read_axis_small_f16(
    const __half* x, __half* y, long long outer, int dim, int inner, int slabs, int pad, int lanes) {
  small_slabs<LogSoftmax>(x, y, {outer, dim, inner, slabs, pad, lanes});
}

extern "C" __global__ void __launch_bounds__(SMALL_THREADS, SMALL_BLOCKS) log_softmax_one_read_axis_small_bf16(
    const __nv_bfloat16* x, __nv_bfloat16* y, long long outer, int dim, int inner, int slabs, int pad, int lanes) {
  small_slabs<LogSoftmax>(x, y, {outer, dim, inner, slabs, pad, lanes});
}

extern "C" __global__ void log_softmax_one_read_axis_join(const float2* partials, float2* joined, long long inner,
                                                          int parts) {
  join_parts(partials, joined, inner, parts);
}
