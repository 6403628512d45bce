// Log-softmax along an axis that is not the last, each element read once and held in registers and shared memory.
//   x         T [outer, dim, inner], row-major; read once (by tickets twice, the second time from the L2); any alignment
//   y         T [outer, dim, inner]; must not overlap x; written once
//   partials  MaxSum: of co-resident groups (GANG) [units, parts, width], by tickets (TICKETS) [units, parts + 1, width]
//   T         float, __half, __nv_bfloat16, kept as they are; arithmetic in float
//   needs     inner >= 2; see softmax_family/one_read_axis.cuh
//   launch    block (packs side by side, rows at once, slabs); grid (parts * strips, slabs), or all along x, in clusters of
//             CLUSTER along x; of co-resident groups all tiles along x, by tickets tiles + lead: softmax_family/tickets.cuh;
//             dynamic shared memory for packs and the exchange
//   moves     D in, D out; by tickets 2 D in where the L2 does not hold what is read again
//   entries   a form of tile (LAYOUT). Or small slabs: many slabs per block, in shared memory, block (threads), grid
//             ceil(outer / slabs); smaller ones whole in a thread (staged), as softmax_family/staged_rows.cuh has rows
//   A column of -inf gives NaN.   Origin: written here.
#define FORM LogSoftmax
#define ENTRY(name) log_softmax_one_read_axis_##name
#include "softmax_family/one_read_axis_entries.cuh"
