// Layer norm of rows that a warp, a block or a cluster takes one after another, so that it reads gamma and beta once for all
// of them. While a thread stores its results of a row, it loads the next one.
//   x, y       T [rows, columns], row-major; must not overlap
//   Warps      per row in a block, 1 to 32; Blocks: per row, a cluster (sm_90) where there are several
//   Packs      packs of 16 bytes per thread, of x in registers, of gamma and of beta in shared memory
//   Masked     rows begin anywhere; else at multiples of 16 bytes
//   groups     gridDim.x / Blocks, each of which takes every groups-th row; if Masked a multiple of PER_PACK, so that all
//              rows of a group begin at the same place in a pack
//   needs      32 * Warps * Blocks * Packs packs hold a row wherever it begins, and 32 * Warps * Blocks * (Packs - 1) do not
//   launch     block 32 * Warps; 2 * Packs * 16 bytes per thread of dynamic shared memory
//   moves      each element is read once and written once, gamma and beta once per group
#pragma once
#include "layer_norm/rows.cuh"

// The moments of the warps of a row, turn after turn.
template <int Warps, int Blocks>
struct TurnExchange {
  static constexpr int Parts = Warps * Blocks;
  // By even and odd turns: a warp sends of one turn once all have read the parts of the turn before.
  Moments (*parts)[Parts];
  Mailbox* boxes;

  // All threads of a cluster call this once, and cluster_wait() before the first turn.
  __device__ __forceinline__ void open() const {
    open_mailbox(boxes + 1);
    cluster_wait();
    open_mailbox(boxes);
  }

  // The parts of all warps in this turn.
  __device__ __forceinline__ const Moments* all(const Moments& own, int rank, unsigned turn) const {
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE, odd = turn % 2;
    Moments* place = parts[odd] + rank * Warps + warp;
    if constexpr (Blocks == 1) {
      if (lane == 0) *place = own;
      __syncthreads();  // every warp's part is there
    } else {
      if (lane < Blocks) send(place, lane, own, boxes + odd);
      expect(boxes + odd, Parts * sizeof(Moments));
      await(boxes + odd, turn / 2 % 2);  // every part is here
    }
    return parts[odd];
  }
};

template <int Warps, int Blocks, int Packs, int Hint, bool Masked, typename T>
__device__ __forceinline__ void layer_norm_in_turn(const T* __restrict__ x, const Weights<T>& weights, T* __restrict__ y,
                                                   long long rows, int columns) {
  constexpr int N = PER_PACK<T>, Parts = Warps * Blocks, Threads = WARP_SIZE * Warps, Step = Threads * Blocks;
  if (!Masked && !in_packs(x, y, weights)) return layer_norm_by_elements(x, weights, y, rows, columns);

  __shared__ Mailbox boxes[2];
  __shared__ Moments parts[2][Parts];
  extern __shared__ uint4 kept[];  // [gamma, beta][Packs][Threads]: a thread reads back only what it wrote itself
  const TurnExchange<Warps, Blocks> exchange{parts, boxes};
  int rank = 0;
  if constexpr (Blocks > 1) {
    rank = cluster_rank();
    exchange.open();
  }
  const Matrix<T> matrix{x, x + rows * columns};
  const int groups = gridDim.x / Blocks;
  long long row = blockIdx.x / Blocks;
  const int shift = Masked ? shift_of(x + row * columns) : 0;  // of all rows of the group
  const bool packed = !Masked || shift_of(y) == shift_of(x);
  const int first = (rank * Threads + static_cast<int>(threadIdx.x)) * N - shift;  // column of the thread's first pack
  const int part = rank * Warps + static_cast<int>(threadIdx.x) / WARP_SIZE;
  const auto elements_of_part = [=](int i) { return elements_of<Parts, N>(i, columns, shift); };
  const int own_elements = elements_of_part(part);

  // Where a pack begins, and what the compiler cannot know of it: only the last two may end, and the last begin, beyond the row.
  const auto column_of = [=](int k) {
    const int column = first + k * Step * N;
    if (k > 0) __builtin_assume(column >= 0);
    if (k < Packs - 1) __builtin_assume(column < columns);
    if (k < Packs - 2) __builtin_assume(column + N <= columns);
    return column;
  };

  uint4 held[Packs];
  const auto load = [&](int k, long long of_row) {
    const int column = column_of(k);
    const T* place = x + of_row * columns + column;
    const bool inside = !Masked || (of_row > 0 && of_row < rows - 1);
    if (column >= columns) held[k] = nothing<T>();
    else if (inside || matrix.holds(place)) held[k] = load_once<Hint>(place);
    else held[k] = load_part(x + of_row * columns, column, columns);
  };

  // load the first row, then gamma and beta
  if (row < rows) {
#pragma unroll
    for (int k = 0; k < Packs; ++k) load(k, row);
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      const int column = column_of(k);
      if (column >= columns) continue;
      kept[k * Threads + threadIdx.x] = weights_at<Masked>(weights.gamma, column, columns);
      kept[(Packs + k) * Threads + threadIdx.x] = weights_at<Masked>(weights.beta, column, columns);
    }
  }
  if constexpr (Blocks > 1) cluster_wait();

#pragma unroll 1
  for (unsigned turn = 0; row < rows; ++turn) {
    // reduce: each warp has deviations from its own mean, so that one exchange suffices
    Moments all = warp_moments(own_elements, [&](auto use) {
#pragma unroll
      for (int k = 0; k < Packs; ++k) each_in_row<Masked, T>(again<T>(held[k]), column_of(k), columns, use);
    });
    if constexpr (Parts > 1)
      all = warp_all_join<LANES_FOR<Parts>>(exchange.all(all, rank, turn), Parts, columns, elements_of_part);
    const RowNorm norm = norm_of<T>(all.mean, all.squares, columns, weights.eps);

    // compute, store, and load the next row
    T* y_row = y + row * columns;
    row += groups;
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      const int column = column_of(k);
      if (column >= columns) continue;
      const uint4 gamma = kept[k * Threads + threadIdx.x], beta = kept[(Packs + k) * Threads + threadIdx.x];
      const uint4& pack = again<T>(held[k]);
      float results[N];
#pragma unroll
      for (int i = 0; i < N; ++i)
        results[i] = fmaf(norm.normal<T>(element_of<T>(pack, i)), element_of<T>(gamma, i), element_of<T>(beta, i));
      if (row < rows) load(k, row);
      store_pack<Hint, Masked>(y_row, column, columns, packed, results);
    }
  }
}
