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
#define FORM LogSoftmax
#define ENTRY(name) log_softmax_one_read_axis_##name
#include "common/one_read_axis_entries.cuh"
