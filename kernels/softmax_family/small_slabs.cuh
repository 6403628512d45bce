// Softmax and log-softmax along an axis of slabs [dim, inner] so small that a block loads many as one stretch of memory.
//   tile     `slabs` slabs, copied to shared memory in packs of 16 bytes, wherever they begin. `pad` packs behind each slab
//            put the same column of neighbouring slabs into different banks
//   columns  `lanes` neighbouring threads per column, a power of two up to 32; at most 16 elements per thread in registers
//   sums     joined in an order fixed by thread numbers: the same on every run
//   launch   block (threads), grid ceil(outer / slabs); dynamic shared memory for the slabs and their pads
//   moves    each element is read once and written once
#pragma once
#include <cuda_pipeline_primitives.h>

#include "softmax_family/algebra.cuh"

struct SlabView {
  long long outer;
  int dim;    // at most 16 * lanes
  int inner;
  int slabs;  // per block; slabs * inner is at most 2^14, so that division by floats is exact
  int pad;    // 0, or 1 where slabs are whole packs
  int lanes;
};

// Replaces the elements of the tile by their results; a thread holds at most Most elements of a column.
template <typename Form, int Most, typename T>
__device__ __forceinline__ void work_on_columns(T* tile, SlabView view, int columns, int slab_stride) {
  const int lanes = view.lanes, lane = threadIdx.x % lanes;
  const float per_inner = 1.0f / view.inner;
  // All threads of a warp take equally many rounds, because shuffles need all of them.
  for (int base = 0; base < columns; base += blockDim.x / lanes) {
    const int column = base + threadIdx.x / lanes;
    const int slab = static_cast<int>((column + 0.5f) * per_inner);
    T* own = tile + slab * slab_stride + (column - slab * view.inner) + lane * view.inner;
    const int own_dim = column < columns ? view.dim - lane : 0;  // elements from this lane's first on
    const int step = lanes * view.inner;
    float held[Most];
    MaxSum pair = no_element();
#pragma unroll
    for (int k = 0; k < Most; ++k) {
      held[k] = k * lanes < own_dim ? to_float(own[k * step]) : -CUDART_INF_F;
      pair.max = fmaxf(pair.max, held[k]);
    }
    for (int offset = lanes / 2; offset > 0; offset /= 2)
      pair.max = fmaxf(pair.max, __shfl_xor_sync(ALL_LANES, pair.max, offset));
    const Exponentials<T, true> for_sums(pair.max);
#pragma unroll
    for (int k = 0; k < Most; ++k)
      if (k * lanes < own_dim) pair.sum += for_sums.of(held[k]);
    for (int offset = lanes / 2; offset > 0; offset /= 2) pair.sum += __shfl_xor_sync(ALL_LANES, pair.sum, offset);
    const Exponentials<T> exponentials(pair.max);
    const Norm norm = Form::norm(pair, exponentials);
#pragma unroll
    for (int k = 0; k < Most; ++k)
      if (k * lanes < own_dim) own[k * step] = from_float<T>(result_of<Form>(held[k], exponentials, norm));
  }
}

template <typename Form, int Stores, typename T>
__device__ __forceinline__ void small_slabs(const T* __restrict__ x, T* __restrict__ y, SlabView view) {
  extern __shared__ uint4 shared_packs[];
  constexpr int V = sizeof(uint4) / sizeof(T);
  T* tile = reinterpret_cast<T*>(shared_packs);
  const int thread = threadIdx.x, threads = blockDim.x;
  const int size = view.dim * view.inner;  // elements of a slab
  const int slab_packs = size / V;         // used where slabs are padded
  const long long first = static_cast<long long>(blockIdx.x) * view.slabs;
  const int slabs = static_cast<int>(min(static_cast<long long>(view.slabs), view.outer - first));
  const int count = slabs * size;
  const T* x_tile = x + first * size;
  T* y_tile = y + first * size;

  // Packs are aligned in memory, so the first begins `phase` elements before the tile. Padded slabs are whole packs; if one is
  // not aligned, the array is not, and elements are moved one by one.
  const int beyond = reinterpret_cast<unsigned long long>(x_tile) / sizeof(T) % V;
  const bool packed = view.pad == 0 || beyond == 0;
  const int phase = view.pad == 0 ? beyond : 0;
  const bool y_packed = packed && reinterpret_cast<unsigned long long>(y_tile) / sizeof(T) % V == beyond;
  const auto place = [=](int element) { return element + phase + (view.pad ? element / size * V : 0); };
  const auto copy = [=](bool by_packs, auto move_pack, auto move_element) {
    if (!by_packs) {
      for (int i = thread; i < count; i += threads) move_element(i);
      return;
    }
    // Counted, because divisions are slow: slabs that ended before this pack, and the place of the pack in its slab.
    int ended = view.pad ? thread / slab_packs : 0, within = view.pad ? thread % slab_packs : 0;
    const int slabs_on = view.pad ? threads / slab_packs : 0, packs_on = view.pad ? threads % slab_packs : 0;
    for (int pack = thread; pack * V - phase < count; pack += threads) {
      const int element = pack * V - phase;
      if (element >= 0 && element + V <= count) {
        move_pack(element, pack + ended);
      } else {
        for (int i = max(element, 0); i < min(element + V, count); ++i) move_element(i);
      }
      ended += slabs_on, within += packs_on;
      if (view.pad && within >= slab_packs) ++ended, within -= slab_packs;
    }
  };

  // Load: asynchronous copies, all under way at once.
  copy(
      packed,
      [=](int i, int pack) { __pipeline_memcpy_async(shared_packs + pack, x_tile + i, sizeof(uint4)); },
      [=](int i) { tile[place(i)] = x_tile[i]; });
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();  // other threads read the columns than loaded them

  const int columns = slabs * view.inner, slab_stride = size + view.pad * V;
  const int most = (view.dim + view.lanes - 1) / view.lanes;
  if (most <= 2) {
    work_on_columns<Form, 2>(tile + phase, view, columns, slab_stride);
  } else if (most <= 4) {
    work_on_columns<Form, 4>(tile + phase, view, columns, slab_stride);
  } else if (most <= 8) {
    work_on_columns<Form, 8>(tile + phase, view, columns, slab_stride);
  } else {
    work_on_columns<Form, 16>(tile + phase, view, columns, slab_stride);
  }
  __syncthreads();  // other threads store the results than computed them

  // Store
  copy(
      y_packed,
      [=](int i, int pack) {
        if constexpr (Stores == 1) {
          __stcs(reinterpret_cast<uint4*>(y_tile + i), shared_packs[pack]);
        } else {
          *reinterpret_cast<uint4*>(y_tile + i) = shared_packs[pack];
        }
      },
      [=](int i) { y_tile[i] = tile[place(i)]; });
}
