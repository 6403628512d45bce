// Layer norm of long rows by co-resident groups: the blocks of a group hold a chunk each of one row, and exchange moments
// through global memory; see softmax_family/tickets.cuh.
//   x, y     T [rows, columns], row-major; must not overlap
//   parts    Moments [rows, chunks], written and read once
//   Packs    packs of 16 bytes per thread, in registers
//   Masked   rows begin anywhere; else at multiples of 16 bytes
//   chunk    elements per block, whole packs: at most Block * Packs of them, less one if Masked
//   launch   block Block, grid chunks * rows, rows at most MOST_GROUPS; chunks Moments of dynamic shared memory; `loading`:
//            blocks that load at once
//   moves    each element is read once and written once, gamma and beta once per row
#pragma once
#include "layer_norm/rows.cuh"
#include "softmax_family/tickets.cuh"

struct LongRows {
  static constexpr int Units = MOST_GROUPS;
};

template <int Block, int Packs, int Hint, bool Masked, typename T>
__device__ __forceinline__ void layer_norm_long_rows(const T* __restrict__ x, const Weights<T>& weights, T* __restrict__ y,
                                                     Moments* parts, long long rows, int columns, int chunk, int loading) {
  constexpr int N = PER_PACK<T>, Warps = Block / WARP_SIZE;
  if (!in_packs<Masked>(x, y, weights, columns)) return layer_norm_by_elements(x, weights, y, rows, columns);

  __shared__ Moments warp_parts[Warps];
  extern __shared__ float2 row_parts[];  // [chunks]
  const int thread = threadIdx.x, warp = thread / WARP_SIZE, lane = thread % WARP_SIZE;
  const unsigned chunks = (columns + chunk - 1) / chunk, ticket = take_ticket<LongRows>(gridDim.x);
  if (thread == 0) await_loads<LongRows>(ticket, loading);
  __syncthreads();  // the chunk may be loaded
  const unsigned row = ticket / chunks, part = ticket % chunks;
  const int start = part * chunk, elements = min(chunk, columns - start);
  const long long offset = static_cast<long long>(row) * columns + start;
  const int shift = Masked ? shift_of(x + offset) : 0;

  // load
  uint4 held[Packs];
  load_chunk<Block, Packs, Hint>(held, x + offset, elements, Matrix<T>{x, x + rows * columns});

  // reduce: moments of the chunk, then of all chunks
  const Moments of_warp = warp_moments(elements_of<Warps, N>(warp, elements, shift), [&](auto use) {
#pragma unroll
    for (int k = 0; k < Packs; ++k)
      each_in_row<Masked, T>(again<T>(held[k]), (k * Block + thread) * N - shift, elements, use);
  });
  if (lane == 0) warp_parts[warp] = of_warp;
  __syncthreads();  // every warp's part is there
  float2* of_row = reinterpret_cast<float2*>(parts) + static_cast<long long>(row) * chunks;
  if (warp == 0) {
    const auto elements_of_warp = [=](int i) { return elements_of<Warps, N>(i, elements, shift); };
    const Moments own = warp_all_join<LANES_FOR<Warps>>(warp_parts, Warps, elements, elements_of_warp);
    if (lane == 0) __stcg(of_row + part, make_float2(own.mean, own.squares));
  }
  if (thread == 0) count_load<LongRows>(gridDim.x);
  count_tile<LongRows>(row);
  if (thread == 0) await_state<LongRows>(row, chunks);
  __syncthreads();  // all blocks of the group have written
  for (int i = thread; i < static_cast<int>(chunks); i += Block) row_parts[i] = __ldcg(of_row + i);
  __syncthreads();  // the parts are in shared memory
  if (thread == 0) release_unit<LongRows>(row, 2 * chunks - 1);
  const auto elements_of_chunk = [=](int i) { return min(chunk, columns - i * chunk); };
  const Moments all = warp_all_join(reinterpret_cast<const Moments*>(row_parts), chunks, columns, elements_of_chunk);
  const RowNorm norm = norm_of<T>(all.mean, all.squares, columns, weights.eps);

  // compute and store
  const bool packed = !Masked || shift_of(x) == shift_of(y);
#pragma unroll
  for (int k = 0; k < Packs; ++k) {
    const int at = (k * Block + thread) * N - shift;
    if (at >= elements) continue;
    float results[N];
    results_of<Masked>(again<T>(held[k]), start + at, columns, norm, weights, results);
    store_pack<Hint, Masked>(y + offset, at, elements, packed, results);
  }
}
