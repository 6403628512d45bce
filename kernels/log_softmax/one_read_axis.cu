// Log-softmax along an axis that is not the last, each element read once and held in registers.
//   x         T [outer, dim, inner], row-major; read once (twice in two reads); any alignment
//   y         T [outer, dim, inner]; must not overlap x; written once
//   partials  (maximum, sum) [outer, parts, inner] between two reads, [tiles, parts + 1, width] of teams; joined: [outer, inner]
//   T         float, __half, __nv_bfloat16, kept as they are; arithmetic in float
//   needs     inner >= 2; see common/one_read_axis.cuh
//   launch    block (packs side by side, rows at once, slabs); grid parts * strips, slabs, or all along x, in clusters of CLUSTER
//             along x; cooperative where TEAM; dynamic shared memory for the exchange
//   moves     D in, D out; 2 D in, D out and the partials where a GPU cannot hold a strip of dim
//   entries   a form of tile (LAYOUT), or small slabs: many slabs a block, in shared memory, block (threads), grid
//             ceil(outer / slabs); join: of the parts of two reads
//   A column of -inf gives NaN.   Origin: written here.
#define FORM LogSoftmax
#define ENTRY(name) log_softmax_one_read_axis_##name
#include "common/one_read_axis_entries.cuh"
