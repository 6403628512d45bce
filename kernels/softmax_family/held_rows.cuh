// Softmax or log-softmax of rows that several warps hold between load and store.
//   x, y       T [rows, columns], row-major; must not overlap
//   Warps      per row in a block, at least two; Blocks: per row, a cluster (sm_90) where there are several
//   Packs      packs of 16 bytes per thread in registers; SharedPacks: further packs per thread in shared memory
//   Recompute  exponentials are computed again instead of kept
//   Masked     rows begin anywhere; else at multiples of 16 bytes
//   needs      32 * Warps * Blocks * (Packs + SharedPacks) packs hold a row
//   launch     block 32 * Warps, grid rows * Blocks; SharedPacks * 16 bytes per thread of dynamic shared memory
//   moves      each element is read once and written once
// Warps exchange maximum and sum together, with one barrier: each takes exponentials relative to its own maximum, and corrects
// them by one factor once the maximum of the row is known.
#pragma once
#include "softmax_family/algebra.cuh"
#include "softmax_family/cluster_exchange.cuh"
#include "softmax_family/row_packs.cuh"
#include "softmax_family/rows_by_elements.cuh"

// The parts of all warps of a row, over all its blocks, in shared memory. Called once per block, by all threads.
template <int Warps, int Blocks, typename Pair>
__device__ __forceinline__ const Pair* exchange_parts(Pair own, int rank, Mailbox* box) {
  __shared__ Pair parts[Warps * Blocks];
  const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
  Pair* place = parts + rank * Warps + warp;
  if constexpr (Blocks == 1) {
    if (lane == 0) *place = own;
    __syncthreads();  // every warp's part is there
  } else {
    cluster_wait();  // every block runs, so that its shared memory may be written
    if (lane < Blocks) send(place, lane, own, box);
    expect(box, Warps * Blocks * sizeof(Pair));
    await(box, 0);  // every part is here; this also keeps the block alive while others still send to it
  }
  return parts;
}

// A thread's packs of a row between load and store, whatever is computed of them.
template <int Warps, int Blocks, int Packs, int SharedPacks, int Hint, bool Masked, typename T>
struct HeldRow {
  static_assert(Warps >= 2 && Warps <= 32 && Blocks >= 1 && Blocks <= 16, "a block has 32 warps, a cluster 16 blocks");
  static constexpr int N = PER_PACK<T>;
  static constexpr int Step = WARP_SIZE * Warps * Blocks;  // distance between the packs of a thread
  uint4 held[Packs];
  int own;  // number of the thread in the row, [0, Step)
  int columns, shift;

  // Where a pack begins: registers hold those from 0 on, shared memory those from Packs on.
  __device__ __forceinline__ int column_of(int k) const { return (k * Step + own) * N - shift; }

  __device__ __forceinline__ bool at_end(int column) const { return Masked && (column < 0 || column + N > columns); }

  // The place of a pack in shared memory, [SharedPacks][threads]: a thread reads back only what it wrote itself.
  __device__ __forceinline__ uint4* shared_place(int k) const {
    extern __shared__ uint4 shared_packs[];
    return shared_packs + k * blockDim.x + threadIdx.x;
  }

  // All packs are under way before the first is used; await_copies waits for those of shared memory.
  __device__ __forceinline__ void load(const T* x, long long rows, int row_columns, int rank) {
    own = rank * Warps * WARP_SIZE + threadIdx.x;
    columns = row_columns;
    const long long row = static_cast<long long>(blockIdx.x) / Blocks;
    const Matrix<T> matrix{x, x + rows * columns};
    const T* x_row = x + row * columns;
    shift = Masked ? shift_of(x_row) : 0;
    const bool inside = !Masked || (row > 0 && row < rows - 1);  // every pack that the row touches lies within the matrix
#pragma unroll
    for (int k = 0; k < SharedPacks; ++k) {
      const int column = column_of(Packs + k);
      if (column >= columns) *shared_place(k) = nothing<T>();
      else if (inside || matrix.holds(x_row + column)) copy_ahead(shared_place(k), x_row + column);
      else *shared_place(k) = load_part(x_row, column, columns);
    }
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      const int column = column_of(k);
      if (column >= columns) held[k] = nothing<T>();
      else if (inside || matrix.holds(x_row + column)) held[k] = load_once<Hint>(x_row + column);
      else held[k] = load_part(x_row, column, columns);
    }
  }

  // Stores the results of all packs: registered(k, column, results) and shared(pack, column, results) compute those of one.
  template <typename Registered, typename Shared>
  __device__ __forceinline__ void store(const T* x, T* y, Registered registered, Shared shared) {
    unsigned block = blockIdx.x;
    asm volatile("" : "+r"(block));  // computes the place of the row anew: kept, it would take registers from packs
    const long long start = static_cast<long long>(block) / Blocks * columns;
    T* y_row = y + start;
    shift = Masked ? shift_of(x + start) : 0;
    const bool packed = shift_of(y_row) == shift;  // packs of x and y lie alike
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      const int column = column_of(k);
      if (column >= columns) continue;
      float results[N];
      registered(k, column, results);
      store_pack<Hint, Masked>(y_row, column, columns, packed, results);
    }
#pragma unroll 2
    for (int k = 0; k < SharedPacks; ++k) {
      const int column = column_of(Packs + k);
      if (column >= columns) continue;
      float results[N];
      shared(*shared_place(k), column, results);
      store_pack<Hint, Masked>(y_row, column, columns, packed, results);
    }
  }
};

template <typename Form, int Warps, int Blocks, int Packs, int SharedPacks, int Hint, bool Recompute, bool Masked,
          typename T>
__device__ __forceinline__ void held_rows(const T* __restrict__ x, T* __restrict__ y, long long rows, int columns) {
  constexpr int N = PER_PACK<T>;
  constexpr bool KeepsExponentials = Form::KEEPS_EXPONENTIALS && !Recompute;  // in place of the elements
  constexpr bool SharedExponentials = Form::KEEPS_EXPONENTIALS && sizeof(T) == 4;  // as half types they would lose bits
  const auto begin = reinterpret_cast<unsigned long long>(x), target = reinterpret_cast<unsigned long long>(y);
  if (!Masked && (begin | target) % sizeof(uint4) != 0) return rows_by_elements<Form>(x, y, rows, columns);

  __shared__ Mailbox box;
  int rank = 0;
  if constexpr (Blocks > 1) {
    rank = cluster_rank();
    open_mailbox(&box);  // waited for by exchange_parts
  }

  // load
  HeldRow<Warps, Blocks, Packs, SharedPacks, Hint, Masked, T> row;
  row.load(x, rows, columns, rank);

  // reduce: the maximum of a warp, then exponentials relative to it
  Peak<T> peak = least<T>();
#pragma unroll
  for (int k = 0; k < Packs; ++k) {
    if (row.at_end(row.column_of(k))) row.held[k] = masked<T>(row.held[k], row.column_of(k), columns);
    peak = larger<T>(peak, peak_of<T>(row.held[k]));
  }
  if constexpr (SharedPacks > 0) await_copies();
#pragma unroll 1  // one pack at a time: unrolled, all packs would need registers at once
  for (int k = 0; k < SharedPacks; ++k) {
    uint4* place = row.shared_place(k);
    const int column = row.column_of(Packs + k);
    if (row.at_end(column)) *place = masked<T>(*place, column, columns);
    peak = larger<T>(peak, peak_of<T>(*place));
  }
  const float max = warp_all_reduce<MaxOp>(largest_of<T>(peak)), base = base_of(max);
  const Exponentials<T> exponentials(base);
  float sum = 0.0f;
  float kept[Packs][KeepsExponentials ? N : 1];
#pragma unroll
  for (int k = 0; k < Packs; ++k) {
    float pack_sum = 0.0f;  // per pack, so that additions are independent
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float exponential = exponentials.of(element_of<T>(row.held[k], i));
      if constexpr (KeepsExponentials) kept[k][i] = exponential;
      pack_sum += exponential;
    }
    sum += pack_sum;
  }
#pragma unroll 2
  for (int k = 0; k < SharedPacks; ++k) {
    uint4* place = row.shared_place(k);
    const uint4 pack = *place;
    float own_exponentials[N], pack_sum = 0.0f;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      own_exponentials[i] = exponentials.of(element_of<T>(pack, i));
      pack_sum += own_exponentials[i];
    }
    if constexpr (SharedExponentials) *place = pack_of<T>(own_exponentials);
    sum += pack_sum;
  }
  const MaxSum part{max, exponentials.without_excess(warp_all_reduce<SumOp>(sum), base)};
  const MaxSum all = warp_all_join(exchange_parts<Warps, Blocks>(part, rank, &box), Warps * Blocks);

  // compute and store
  const Exponentials<T> row_exponentials(all.max);
  const Norm norm = norm_of<Form>(all, row_exponentials);
  float factor = 1.0f;  // corrects exponentials that are relative to the maximum of the warp
  if constexpr (KeepsExponentials || SharedExponentials)
    factor = exponentials.correction(base) * expf(max - all.max) * reciprocal_of<T>(all.sum);
  const auto registered = [&](int k, int, float* results) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if constexpr (KeepsExponentials) results[i] = kept[k][i] * factor;
      else results[i] = result_of<Form>(element_again_of<T>(row.held[k], i), row_exponentials, norm);
    }
  };
  const auto shared = [&](const uint4& pack, int, float* results) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if constexpr (SharedExponentials) results[i] = element_of<T>(pack, i) * factor;
      else results[i] = result_of<Form>(element_of<T>(pack, i), row_exponentials, norm);
    }
  };
  row.store(x, y, registered, shared);
}
