// Softmax and log-softmax along an axis of slabs [dim, inner] so small that a block loads many as one stretch of memory.
//   tile     `slabs` slabs, copied to shared memory by packs of 16 bytes wherever they begin; `pad` elements behind each
//            slab there put the same column of neighbouring slabs into different banks
//   columns  `lanes` neighbouring threads each, a power of two to 32; elements in registers where dim <= 16 * lanes
//   sums     joined in an order fixed by thread numbers: the same on every run
#pragma once
#include <cuda_pipeline_primitives.h>

#include "common/one_read_axis.cuh"

struct SlabView {
  long long outer;
  int dim;
  int inner;
  int slabs;  // of a block
  int pad;    // 0, or a multiple of a pack where slabs are whole packs
  int lanes;
};

constexpr int SMALL_THREADS = 256;
constexpr int SMALL_HELD = 16;  // elements of a column that a thread holds

template <typename Result, typename T>
__device__ __forceinline__ void small_slabs(const T* __restrict__ x, T* __restrict__ y, SlabView view) {
  extern __shared__ uint4 shared_packs[];
  constexpr int V = sizeof(uint4) / sizeof(T);
  T* tile = reinterpret_cast<T*>(shared_packs);
  const int thread = threadIdx.x, threads = blockDim.x;
  const int size = view.dim * view.inner;  // elements of a slab
  const long long first = static_cast<long long>(blockIdx.x) * view.slabs;
  const int slabs = static_cast<int>(min(static_cast<long long>(view.slabs), view.outer - first));
  const int count = slabs * size;
  const T* x_tile = x + first * size;
  T* y_tile = y + first * size;

  // Packs are where memory is aligned, so the first begins `phase` elements before the tile. Padded slabs are whole
  // packs: if they are not aligned, the arrays are not, and single elements are moved.
  const int beyond = reinterpret_cast<unsigned long long>(x_tile) / sizeof(T) % V;
  const bool packed = view.pad == 0 || beyond == 0;
  const int phase = view.pad == 0 ? beyond : 0;
  const bool y_packed = packed && reinterpret_cast<unsigned long long>(y_tile) / sizeof(T) % V == beyond;
  const auto place = [=](int element) { return element + phase + (view.pad ? element / size * view.pad : 0); };
  const auto copy = [=](bool by_packs, auto move_pack, auto move_element) {
    if (!by_packs) {
      for (int i = thread; i < count; i += threads) move_element(i);
      return;
    }
    for (int pack = thread; pack * V - phase < count; pack += threads) {
      const int element = pack * V - phase;
      if (element >= 0 && element + V <= count) {
        move_pack(element);
      } else {
        for (int i = max(element, 0); i < min(element + V, count); ++i) move_element(i);
      }
    }
  };

  // Load: asynchronous copies, all under way at once.
  copy(
      packed, [=](int i) { __pipeline_memcpy_async(tile + place(i), x_tile + i, sizeof(uint4)); },
      [=](int i) { tile[place(i)] = x_tile[i]; });
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();  // columns are read by other threads than loaded them

  // Columns: all threads of a warp go round as often, for the shuffles.
  const int lanes = view.lanes, lane = thread % lanes;
  const int columns = slabs * view.inner;
  for (int base = 0; base < columns; base += threads / lanes) {
    const int column = base + thread / lanes;
    const int slab = column / view.inner;
    T* own = tile + phase + slab * (size + view.pad) + (column - slab * view.inner);
    const int dim = column < columns ? view.dim : 0;
    float2 pair = {MaxOp::identity(), 0.0f};
    float held[SMALL_HELD];
    const bool short_column = view.dim <= SMALL_HELD * lanes;
    if (short_column) {
#pragma unroll
      for (int k = 0; k < SMALL_HELD; ++k) {
        const int d = lane + k * lanes;
        held[k] = d < dim ? to_float(own[d * view.inner]) : -CUDART_INF_F;
        pair.x = fmaxf(pair.x, held[k]);
      }
    } else {
      for (int d = lane; d < dim; d += lanes) pair.x = fmaxf(pair.x, to_float(own[d * view.inner]));
    }
    for (int offset = lanes / 2; offset > 0; offset /= 2)
      pair.x = fmaxf(pair.x, __shfl_xor_sync(ALL_LANES, pair.x, offset));
    if (short_column) {
#pragma unroll
      for (int k = 0; k < SMALL_HELD; ++k)
        if (lane + k * lanes < dim) pair.y += power<T>(held[k] - pair.x);
    } else {
      for (int d = lane; d < dim; d += lanes) pair.y += power<T>(to_float(own[d * view.inner]) - pair.x);
    }
    for (int offset = lanes / 2; offset > 0; offset /= 2) pair.y += __shfl_xor_sync(ALL_LANES, pair.y, offset);
    const float2 end = Result::finish(pair);
    if (short_column) {
#pragma unroll
      for (int k = 0; k < SMALL_HELD; ++k) {
        const int d = lane + k * lanes;
        if (d < dim) own[d * view.inner] = from_float<T>(Result::template apply<T>(held[k], end));
      }
    } else {
      for (int d = lane; d < dim; d += lanes)
        own[d * view.inner] = from_float<T>(Result::template apply<T>(to_float(own[d * view.inner]), end));
    }
  }
  __syncthreads();  // the results are stored by other threads than made them

  // Store
  copy(
      y_packed,
      [=](int i) {
        *reinterpret_cast<uint4*>(y_tile + i) = *reinterpret_cast<const uint4*>(tile + place(i));
      },
      [=](int i) { y_tile[i] = tile[place(i)]; });
}
