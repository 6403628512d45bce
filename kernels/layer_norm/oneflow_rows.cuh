// Layer norm of rows by OneFlow's three techniques: in the registers of a group of lanes, in shared memory of a block, or read
// twice. Mean and squared deviations are gathered by Welford's update, element by element, and joined by shuffles.
//   needs   columns % Size == 0, and all arrays begin at a multiple of Size elements; columns + Block * Size < 2^31
#pragma once
#include "common/elementwise.cuh"
#include "common/reduce.cuh"

// Mean and sum of squared deviations of `count` elements; 0 elements at first.
struct Welford {
  float mean = 0.0f, squares = 0.0f, count = 0.0f;

  __device__ __forceinline__ void add(float value) {
    count += 1.0f;
    const float before = value - mean;
    mean += before / count;
    squares += before * (value - mean);
  }

  __device__ __forceinline__ void join(const Welford& other) {
    if (other.count == 0.0f) return;
    const float share = other.count / (count + other.count), distance = other.mean - mean;
    mean += distance * share;
    squares += other.squares + distance * distance * count * share;
    count += other.count;
  }

  // As the original: a variance that is NaN counts as 0.
  __device__ __forceinline__ float scale(float eps) const { return rsqrtf(fmaxf(squares / count, 0.0f) + eps); }
};

// Over groups of Width neighbouring lanes; the first lane of each gets the result.
template <int Width>
__device__ __forceinline__ Welford first_lane_join(Welford own) {
#pragma unroll
  for (int offset = Width / 2; offset > 0; offset /= 2) {
    Welford other;
    other.mean = __shfl_down_sync(ALL_LANES, own.mean, offset, Width);
    other.squares = __shfl_down_sync(ALL_LANES, own.squares, offset, Width);
    other.count = __shfl_down_sync(ALL_LANES, own.count, offset, Width);
    own.join(other);
  }
  return own;
}

template <int Width>
__device__ __forceinline__ Welford group_all_join(Welford own) {
  own = first_lane_join<Width>(own);
  own.mean = __shfl_sync(ALL_LANES, own.mean, 0, Width);
  own.squares = __shfl_sync(ALL_LANES, own.squares, 0, Width);
  own.count = __shfl_sync(ALL_LANES, own.count, 0, Width);
  return own;
}

// Over all threads of a block; may be called again at once.
template <int Block>
__device__ __forceinline__ Welford block_all_join(Welford own) {
  __shared__ Welford warps[WARP_SIZE], joined;
  const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
  own = first_lane_join<WARP_SIZE>(own);
  __syncthreads();  // all have read the results of an earlier call
  if (lane == 0) warps[warp] = own;
  __syncthreads();  // every warp's part is there
  if (warp == 0) {
    own = first_lane_join<WARP_SIZE>(lane < Block / WARP_SIZE ? warps[lane] : Welford{});
    if (lane == 0) joined = own;
  }
  __syncthreads();  // the result is there
  return joined;
}

template <int Size, typename T>
__device__ __forceinline__ void load_values(const T* from, float* values) {
  const Pack<T, Size> pack = *reinterpret_cast<const Pack<T, Size>*>(from);
#pragma unroll
  for (int i = 0; i < Size; ++i) values[i] = to_float(pack.elements[i]);
}

// Stores `normal * gamma + beta` for a pack that begins with `column`.
template <int Size, typename T>
__device__ __forceinline__ void store_affine(const float* normal, const T* gamma, const T* beta, T* y_row, int column) {
  float weight[Size], bias[Size];
  load_values<Size>(gamma + column, weight);
  load_values<Size>(beta + column, bias);
  Pack<T, Size> result;
#pragma unroll
  for (int i = 0; i < Size; ++i) result.elements[i] = from_float<T>(normal[i] * weight[i] + bias[i]);
  *reinterpret_cast<Pack<T, Size>*>(y_row + column) = result;
}

// Block (Group, 128 / Group): a group of lanes has a row, or two at once, in registers.
template <int Size, int Group, int ColumnsPerThread, int RowsPerAccess, bool Padded, typename T>
__device__ __forceinline__ void layer_norm_oneflow_warp(const T* x, const T* gamma, const T* beta, T* y, long long rows,
                                                        int columns, float eps) {
  static_assert(Group <= WARP_SIZE && (Group & (Group - 1)) == 0, "GROUP: a power of two to 32");
  static_assert(ColumnsPerThread % Size == 0, "COLUMNS_PER_THREAD: whole packs");
  constexpr int Packs = ColumnsPerThread / Size;
  const int lane = threadIdx.x;  // ranges [0, Group)
  const long long group = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.y * RowsPerAccess;
  float held[RowsPerAccess][ColumnsPerThread];

  // Groups of a warp may leave this loop at different rows. Those that leave end at once, and a shuffle waits for no ended
  // lane, so the full masks above stay valid.
  for (long long row = group * RowsPerAccess; row < rows; row += step) {
    Welford own[RowsPerAccess];
#pragma unroll
    for (int r = 0; r < RowsPerAccess; ++r) {
#pragma unroll
      for (int k = 0; k < Packs; ++k) {
        const int column = (k * Group + lane) * Size;  // neighbouring lanes read neighbouring packs
        if (Padded && column >= columns) continue;
        load_values<Size>(x + (row + r) * columns + column, held[r] + k * Size);
#pragma unroll
        for (int i = 0; i < Size; ++i) own[r].add(held[r][k * Size + i]);
      }
    }
#pragma unroll
    for (int r = 0; r < RowsPerAccess; ++r) {
      const Welford all = group_all_join<Group>(own[r]);
      const float scale = all.scale(eps);
#pragma unroll
      for (int k = 0; k < Packs; ++k) {
        const int column = (k * Group + lane) * Size;
        if (Padded && column >= columns) continue;
        float normal[Size];
#pragma unroll
        for (int i = 0; i < Size; ++i) normal[i] = (held[r][k * Size + i] - all.mean) * scale;
        store_affine<Size>(normal, gamma, beta, y + (row + r) * columns, column);
      }
    }
  }
}

// A block has a row in shared memory, as floats; or, unless Kept, reads it twice.
template <int Size, int Block, bool Kept, typename T>
__device__ __forceinline__ void layer_norm_oneflow_block(const T* x, const T* gamma, const T* beta, T* y, long long rows,
                                                         int columns, float eps) {
  extern __shared__ float kept[];  // [Size][packs]: the lanes of a warp touch 32 neighbouring words, one per bank
  const int packs = columns / Size;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x_row = x + row * columns;
    Welford own;
    for (int pack = threadIdx.x; pack < packs; pack += Block) {
      float values[Size];
      load_values<Size>(x_row + pack * Size, values);
#pragma unroll
      for (int i = 0; i < Size; ++i) {
        if constexpr (Kept) kept[i * packs + pack] = values[i];
        own.add(values[i]);
      }
    }
    const Welford all = block_all_join<Block>(own);
    const float scale = all.scale(eps);
    for (int pack = threadIdx.x; pack < packs; pack += Block) {  // the same packs: no barrier is needed for `kept`
      float normal[Size];
      if constexpr (!Kept) load_values<Size>(x_row + pack * Size, normal);
#pragma unroll
      for (int i = 0; i < Size; ++i) normal[i] = ((Kept ? kept[i * packs + pack] : normal[i]) - all.mean) * scale;
      store_affine<Size>(normal, gamma, beta, y + row * columns, pack * Size);
    }
  }
}
