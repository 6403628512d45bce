// Layer norm of long rows by co-resident groups: the blocks of a group hold a chunk each of the same rows, and exchange moments
// through global memory; see softmax_family/tickets.cuh.
//   x, y     T [rows, columns], row-major; must not overlap
//   parts    Moments [rows, chunks], written and read once
//   Packs    packs of 16 bytes per thread and row, in registers
//   Rows     rows that a group takes at once; unless Masked, they share each read of gamma and beta
//   Masked   rows begin anywhere; else at multiples of 16 bytes
//   chunk    elements per block and row, whole packs: at most Block * Packs of them, less one if Masked
//   launch   block Block, grid chunks * ceil(rows / Rows), at most MOST_GROUPS * chunks; Rows * chunks Moments of dynamic shared
//            memory; `loading`: blocks that load at once
//   moves    each element is read once and written once, gamma and beta once per group
#pragma once
#include "layer_norm/rows.cuh"
#include "softmax_family/tickets.cuh"

struct LongRows {
  static constexpr int Units = MOST_GROUPS;
};

template <int Block, int Packs, int Rows, int Hint, bool Masked, typename T>
__device__ __forceinline__ void layer_norm_long_rows(const T* __restrict__ x, const Weights<T>& weights, T* __restrict__ y,
                                                     Moments* parts, long long rows, int columns, int chunk, int loading) {
  constexpr int N = PER_PACK<T>, Warps = Block / WARP_SIZE;
  static_assert(Rows <= Warps, "a warp joins the moments of a row");
  if (!Masked && !in_packs(x, y, weights)) return layer_norm_by_elements(x, weights, y, rows, columns);

  __shared__ Moments warp_parts[Rows][Warps];
  extern __shared__ float2 row_parts[];  // [Rows][chunks]
  const int thread = threadIdx.x, warp = thread / WARP_SIZE, lane = thread % WARP_SIZE;
  const unsigned chunks = (columns + chunk - 1) / chunk, ticket = take_ticket<LongRows>(gridDim.x);
  if (thread == 0) await_loads<LongRows>(ticket, loading);
  __syncthreads();  // the chunk may be loaded
  const unsigned group = ticket / chunks, part = ticket % chunks;
  const int start = part * chunk, elements = min(chunk, columns - start);
  const long long first_row = static_cast<long long>(group) * Rows;
  const int count = static_cast<int>(min(static_cast<long long>(Rows), rows - first_row));
  const T* x_chunk = x + first_row * columns + start;
  const auto shift_of_row = [&](int r) { return Masked ? shift_of(x_chunk + static_cast<long long>(r) * columns) : 0; };

  // load
  uint4 held[Rows][Packs];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
    if (r < count)
      load_chunk<Block, Packs, Hint>(held[r], x_chunk + static_cast<long long>(r) * columns, elements,
                                     Matrix<T>{x, x + rows * columns});

  // reduce: moments of the chunk, then of all chunks
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (r >= count) continue;
    const int shift = shift_of_row(r);
    const Moments own = warp_moments(elements_of<Warps, N>(warp, elements, shift), [&](auto use) {
#pragma unroll
      for (int k = 0; k < Packs; ++k)
        each_in_row<Masked, T>(again<T>(held[r][k]), (k * Block + thread) * N - shift, elements, use);
    });
    if (lane == 0) warp_parts[r][warp] = own;
  }
  __syncthreads();  // every warp's part is there
  if (warp < count) {
    const int shift = shift_of_row(warp);
    const auto elements_of_warp = [=](int i) { return elements_of<Warps, N>(i, elements, shift); };
    const Moments own = warp_all_join<LANES_FOR<Warps>>(warp_parts[warp], Warps, elements, elements_of_warp);
    if (lane == 0)
      __stcg(reinterpret_cast<float2*>(parts) + (first_row + warp) * chunks + part, make_float2(own.mean, own.squares));
  }
  if (thread == 0) count_load<LongRows>(gridDim.x);
  count_tile<LongRows>(group);
  if (thread == 0) await_state<LongRows>(group, chunks);
  __syncthreads();  // all blocks of the group have written
  for (int i = thread; i < count * static_cast<int>(chunks); i += Block)
    row_parts[i] = __ldcg(reinterpret_cast<const float2*>(parts) + first_row * chunks + i);
  __syncthreads();  // the parts are in shared memory
  if (thread == 0) release_unit<LongRows>(group, 2 * chunks - 1);
  const auto elements_of_chunk = [=](int i) { return min(chunk, columns - i * chunk); };
  RowNorm norms[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (r >= count) continue;
    const Moments* of_row = reinterpret_cast<const Moments*>(row_parts) + r * chunks;
    const Moments all = warp_all_join(of_row, chunks, columns, elements_of_chunk);
    norms[r] = norm_of<T>(all.mean, all.squares, columns, weights.eps);
  }

  // compute and store
  T* y_chunk = y + first_row * columns + start;
  const bool packed = !Masked || shift_of(x) == shift_of(y);
#pragma unroll
  for (int k = 0; k < Packs; ++k) {
    uint4 gamma, beta;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const int at = (k * Block + thread) * N - shift_of_row(r);
      if (r >= count || at >= elements) continue;
      if (Masked || r == 0) {
        gamma = weights_at<Masked>(weights.gamma, start + at, columns);
        beta = weights_at<Masked>(weights.beta, start + at, columns);
      }
      const uint4& pack = again<T>(held[r][k]);
      float results[N];
#pragma unroll
      for (int i = 0; i < N; ++i)
        results[i] = fmaf(norms[r].template normal<T>(element_of<T>(pack, i)), element_of<T>(gamma, i), element_of<T>(beta, i));
      store_pack<Hint, Masked>(y_chunk + static_cast<long long>(r) * columns, at, elements, packed, results);
    }
  }
}
