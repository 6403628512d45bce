// Softmax and log-softmax along an axis of small slabs [dim, inner], through shared memory: a block copies whole slabs in packs
// of 16 bytes, wherever they begin. Only what is stored at their ends is masked.
//   rows     stretches of memory that the block copies: all its slabs as one, or each slab, where pads part them. Each begins
//            in shared memory at the same place in a pack as in memory
//   columns  Lanes neighbouring threads per column, a power of two up to 32, with at most 16 elements each in registers
//   sums     joined in an order fixed by thread numbers: the same on every run
//   launch   block (Threads), grid (ceil(outer / Slabs)); dynamic shared memory of Rows * Pitch packs
//   moves    each element is read once and written once
#pragma once
#include "softmax_family/algebra.cuh"
#include "softmax_family/row_packs.cuh"

// Constants of a launch, made from the defines of its plan.
//   Dim, Inner   extents of a slab;  Slabs  per block
//   Padded       a pack behind each slab puts the same column of neighbours into different banks; slabs are whole packs
//   Pitch        packs from row to row in shared memory
template <int Dim_, int Inner_, int Slabs_, int Lanes_, bool Padded_, int Pitch_, int Threads_>
struct SlabShape {
  static constexpr int Dim = Dim_, Inner = Inner_, Slabs = Slabs_, Lanes = Lanes_, Pitch = Pitch_, Threads = Threads_;
  static constexpr int Size = Dim * Inner, Most = (Dim + Lanes - 1) / Lanes;
  static constexpr bool Padded = Padded_;
  static constexpr int Rows = Padded ? Slabs : 1;
};

// The stretch that a block works on.
struct Stretch {
  int slabs;
  int phase;  // elements of each row's first pack before the row
};

// Replaces the elements in shared memory by their results.
template <typename Form, typename Shape, typename T>
__device__ __forceinline__ void work_on_columns(T* tile, const Stretch& stretch) {
  constexpr int Lanes = Shape::Lanes, Most = Shape::Most, Dim = Shape::Dim, Inner = Shape::Inner;
  constexpr int Row = Shape::Pitch * PER_PACK<T>;
  const int lane = threadIdx.x % Lanes, columns = stretch.slabs * Inner;
  // Where lanes share a column, all threads of a warp take equally many rounds, because shuffles need all of them.
#pragma unroll 1
  for (int base = 0; base < columns; base += Shape::Threads / Lanes) {
    const int column = base + threadIdx.x / Lanes, slab = Shape::Slabs == 1 ? 0 : column / Inner;
    const bool own = column < columns;
    if (Lanes == 1 && !own) return;
    T* first = tile + stretch.phase + slab * (Shape::Padded ? Row : Shape::Size) + (column - slab * Inner);
    const auto place = [&](int k) -> T& { return first[(k * Lanes + lane) * Inner]; };
    const auto has = [&](int k) { return (Lanes == 1 || own) && ((k + 1) * Lanes <= Dim || k * Lanes + lane < Dim); };
    float held[Most];
    MaxSum pair = no_element();
#pragma unroll
    for (int k = 0; k < Most; ++k) {
      held[k] = has(k) ? to_float(place(k)) : -CUDART_INF_F;
      pair.max = fmaxf(pair.max, held[k]);
    }
    if constexpr (Lanes > 1) pair.max = warp_all_reduce<MaxOp, Lanes>(pair.max);
    const Exponentials<T, true> for_sums(base_of(pair.max));
#pragma unroll
    for (int k = 0; k < Most; ++k) pair.sum += for_sums.of(held[k]);
    if constexpr (Lanes > 1) pair.sum = warp_all_reduce<SumOp, Lanes>(pair.sum);
    const Exponentials<T> exponentials(pair.max);
    const Norm norm = Form::norm(pair, exponentials);
#pragma unroll
    for (int k = 0; k < Most; ++k)
      if (has(k)) place(k) = from_float<T>(result_of<Form>(held[k], exponentials, norm));
  }
}

// Calls work(row, first, length, pack) for each pack: its row, its first element in the row, elements of the row, its place.
template <typename Shape, typename T, typename Work>
__device__ __forceinline__ void for_packs(const Stretch& stretch, Work work) {
  const int rows = Shape::Padded ? stretch.slabs : Shape::Rows;
  const int length = Shape::Padded ? Shape::Size : stretch.slabs * Shape::Size;
#pragma unroll 4
  for (int pack = threadIdx.x; pack < Shape::Rows * Shape::Pitch; pack += Shape::Threads) {
    const int row = pack / Shape::Pitch;
    const int first = pack % Shape::Pitch * PER_PACK<T> - stretch.phase;
    if (row < rows && first < length) work(row, first, length, pack);
  }
}

template <typename Form, typename Shape, int Stores, typename T>
__device__ __forceinline__ void small_slabs(const T* __restrict__ x, T* __restrict__ y, long long outer) {
  static_assert(Shape::Lanes >= 1 && Shape::Lanes <= 32 && Shape::Most <= 16, "LANES must hold DIM, 16 elements each");
  static_assert(!Shape::Padded || Shape::Size % PER_PACK<T> == 0, "padded slabs must be whole packs");
  extern __shared__ uint4 shared_packs[];
  constexpr int V = PER_PACK<T>;
  T* tile = reinterpret_cast<T*>(shared_packs);
  const long long slab = static_cast<long long>(blockIdx.x) * Shape::Slabs;
  const T* x_tile = x + slab * Shape::Size;
  T* y_tile = y + slab * Shape::Size;
  const Stretch stretch{static_cast<int>(min(static_cast<long long>(Shape::Slabs), outer - slab)), shift_of(x_tile)};

  // Load. A pack may be read whole where it lies within the array: what is not the row's is not used.
  const Matrix<T> array{x, x + outer * Shape::Size};
  for_packs<Shape, T>(stretch, [&](int row, int first, int length, int pack) {
    const T* from = x_tile + row * Shape::Size + first;
    if (array.holds(from)) {
      copy_ahead(shared_packs + pack, from);
    } else {
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (first + i >= 0 && first + i < length) tile[pack * V + i] = from[i];
    }
  });
  await_copies();
  __syncthreads();  // other threads read the columns than loaded them
  work_on_columns<Form, Shape>(tile, stretch);
  __syncthreads();  // other threads store the results than computed them

  // Store
  const bool packed = shift_of(y_tile) == stretch.phase;
  for_packs<Shape, T>(stretch, [&](int row, int first, int length, int pack) {
    T* to = y_tile + row * Shape::Size + first;
    if (packed && first >= 0 && first + V <= length) {
      store_whole<Stores>(to, shared_packs[pack]);
    } else {
#pragma unroll
      for (int i = 0; i < V; ++i)
        if (first + i >= 0 && first + i < length) to[i] = tile[pack * V + i];
    }
  });
}
