// Softmax over the last axis, each row held between load and store, or, beyond what a cluster holds, read twice.
//   x          T [rows, columns], row-major, beginning anywhere; read once (split: twice)
//   y          T [rows, columns]; must not overlap x; written once
//   T          float, __half, __nv_bfloat16; arithmetic in float
//   TECHNIQUE  staged: short rows whole in a thread, through shared memory; staged_lanes: longer ones by lanes, likewise;
//              in_warp: in registers of a warp's lanes; held: of warps, a block or a cluster; split: two launches. Their
//              constants, needs and launches: softmax_family/staged_rows.cuh, staged_lanes.cuh, warp_rows.cuh, held_rows.cuh,
//              split_rows.cuh
//   moves      D in, D out; split 2 D in. A row of -inf, or with +inf or NaN, gives NaN.   Origin: written here.
#define FORM Softmax
#define ENTRY(name) softmax_one_read_rows_##name
#include "softmax_family/one_read_rows_entries.cuh"
