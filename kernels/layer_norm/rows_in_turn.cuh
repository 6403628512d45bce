// Layer norm of rows that begin anywhere, which a block or cluster takes in turn, so that a thread loads its part of gamma and
// beta once for several rows. These begin at the same element of a pack, so that it shifts them once, too.
//   x, y     T [rows, columns], row-major, beginning at the same element of a pack; must not overlap
//   Warps    per row in a block, at least two; Blocks: per row, a cluster (sm_90) where there are several
//   Packs    packs of 16 bytes per thread, in registers; those of its next row, gamma and beta lie in shared memory
//   needs    a row reaches into at most 32 * Warps * Blocks * Packs packs, and into more than with one pack less per thread
//   launch   block 32 * Warps, grid groups * Blocks, where groups is a multiple of the elements per pack.
//            3 * Packs * 16 bytes per thread of dynamic shared memory
//   moves    each element is read once and written once, gamma and beta once per group
#pragma once
#include "layer_norm/rows.cuh"

// The parts of all warps of a row. Two mailboxes serve the rows in turn: a fast block sends for its next row while others still
// wait for this one.
template <int Warps, int Blocks>
struct PartsInTurn {
  Moments parts[2][Warps * Blocks];
  Mailbox boxes[2];

  __device__ __forceinline__ void open() {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0)  // open_mailbox shows it to the cluster, too
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(boxes + 1)) : "memory");
#endif
    open_mailbox(boxes);
  }

  // All parts, of which this warp's is number `part`; `turn`: the number of the row in its group.
  __device__ __forceinline__ const Moments* exchanged(const Moments& own, int part, unsigned turn) {
    const int lane = threadIdx.x % WARP_SIZE;
    Moments* found = parts[turn % 2];
    if constexpr (Blocks == 1) {
      if (lane == 0) found[part] = own;
      __syncthreads();  // every warp's part is there
    } else {
      Mailbox* box = boxes + turn % 2;
      if (lane < Blocks) send(found + part, lane, own, box);
      expect(box, Warps * Blocks * sizeof(Moments));
      await(box, turn / 2 % 2);  // every part is here
    }
    return found;
  }
};

// The packs of a thread: in which columns they begin, and where shared memory has those of its next row, gamma and beta. Masked:
// rows begin anywhere; else at multiples of 16 bytes, which only long_rows.cuh takes.
template <int Threads, int Packs, int Step, bool Masked, typename T>
struct PacksInTurn {
  static constexpr int N = PER_PACK<T>, Last = Packs - 1;
  enum Kind { NEXT, GAMMA, BETA };
  int own, columns, shift;  // own: the number of the thread in the row

  __device__ __forceinline__ int column(int k) const { return (k * Step + own) * N - shift; }
  __device__ __forceinline__ bool exists(int k) const { return k < Last || column(k) < columns; }

  // Whether a pack lies in the row as a whole, asked only where the row may begin or end.
  __device__ __forceinline__ bool whole(int k) const {
    if (!Masked) return exists(k);
    return (k > 0 || column(k) >= 0) && (k < Last - 1 || column(k) + N <= columns);
  }

  // A thread reads only what it wrote itself. `kind` is one of Kind, or, in long_rows.cuh, the slot of a row.
  __device__ __forceinline__ uint4* place(int kind, int k) const {
    extern __shared__ uint4 packs[];
    return packs + (kind * Packs + k) * Threads + threadIdx.x;
  }

  __device__ __forceinline__ void start_loads(const T* x, long long row, long long rows, int slot = NEXT) const {
    const T* x_row = x + row * columns;
    if (!Masked || (row > 0 && row < rows - 1)) {  // every pack that the row touches lies within the matrix
#pragma unroll
      for (int k = 0; k < Packs; ++k)
        if (exists(k)) copy_ahead(place(slot, k), x_row + column(k));
    } else {
      const Matrix<T> matrix{x, x + rows * columns};
#pragma unroll 1
      for (int k = 0; k < Packs && column(k) < columns; ++k) {
        if (matrix.holds(x_row + column(k))) copy_ahead(place(slot, k), x_row + column(k));
        else *place(slot, k) = load_part(x_row, column(k), columns);
      }
    }
  }

  // The moments of this warp's elements of the row, `elements` of them.
  __device__ __forceinline__ Moments moments(uint4 (&held)[Packs], int elements) const {
    return warp_moments(elements, [&](auto use) {
#pragma unroll
      for (int k = 0; k < Packs; ++k) {
        if (whole(k)) each_of_pack<T>(again<T>(held[k]), use);
        else if (Masked && exists(k)) each_in_row<true, T>(held[k], column(k), columns, use);
      }
    });
  }

  template <int Hint>
  __device__ __forceinline__ void store(T* y_row, int k, const float* results) const {
    if (whole(k)) store_whole<Hint>(y_row + column(k), pack_of<T>(results));
    else store_pack<Hint, true>(y_row, column(k), columns, true, results);
  }

  __device__ __forceinline__ void load_weights(const Weights<T>& weights) const {
    constexpr int Together = 3;  // packs under way at once; each takes 16 registers
#pragma unroll 1
    for (int first = 0; first < Packs; first += Together) {
      uint4 parts[Together][2][2], found[2];
#pragma unroll
      for (int i = 0; i < Together; ++i) load_weight_parts(parts[i], weights, column(first + i), columns);
#pragma unroll
      for (int i = 0; i < Together; ++i) {
        if (first + i >= Packs) continue;
        shift_weights(found, parts[i], weights, column(first + i), columns);
        *place(GAMMA, first + i) = found[0], *place(BETA, first + i) = found[1];
      }
    }
  }
};

template <int Warps, int Blocks, int Packs, int Hint, typename T>
__device__ __forceinline__ void layer_norm_in_turn(const T* __restrict__ x, const Weights<T>& weights, T* __restrict__ y,
                                                   long long rows, int columns) {
  constexpr int N = PER_PACK<T>, Parts = Warps * Blocks, Threads = Warps * WARP_SIZE;
  if (!in_packs<true>(x, y, weights, columns) || shift_of(x) != shift_of(y))
    return layer_norm_by_elements(x, weights, y, rows, columns);

  __shared__ PartsInTurn<Warps, Blocks> parts;
  int rank = 0;
  if constexpr (Blocks > 1) {
    rank = cluster_rank();
    parts.open();
  }
  const int thread = threadIdx.x, part = rank * Warps + thread / WARP_SIZE;
  const long long first = blockIdx.x / Blocks, groups = gridDim.x / Blocks;
  const int shift = shift_of(x + first * columns);
  using Own = PacksInTurn<Threads, Packs, Parts * WARP_SIZE, true, T>;
  const Own own{rank * Threads + thread, columns, shift};
  const auto elements_of_part = [=](int i) { return elements_of<Parts, N>(i, columns, shift); };

  if (first < rows) own.start_loads(x, first, rows);
  own.load_weights(weights);
  if constexpr (Blocks > 1) cluster_wait();  // every block runs, so that its shared memory may be written

  unsigned turn = 0;
  for (long long row = first; row < rows; row += groups, ++turn) {
    // load; the next row is under way while this one is worked on
    await_copies();
    uint4 held[Packs];
#pragma unroll
    for (int k = 0; k < Packs; ++k) held[k] = own.exists(k) ? *own.place(Own::NEXT, k) : uint4{};
    if (row + groups < rows) own.start_loads(x, row + groups, rows);

    // reduce: each warp has deviations from its own mean, so that one exchange suffices
    const Moments of_warp = own.moments(held, elements_of_part(part));
    const Moments* of_row = parts.exchanged(of_warp, part, turn);
    const Moments all = warp_all_join<LANES_FOR<Parts>>(of_row, Parts, columns, elements_of_part);

    // compute and store
    const RowNorm norm = norm_of<T>(all.mean, all.squares, columns, weights.eps);
    T* y_row = y + row * columns;
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      if (!own.exists(k)) continue;
      float results[N];
      const uint4 gamma = *own.place(Own::GAMMA, k), beta = *own.place(Own::BETA, k);
      normalised<T>(again<T>(held[k]), norm, gamma, beta, results);
      own.template store<Hint>(y_row, k, results);
    }
  }
}
