// A thread keeps its elements in a small array, and indexes it by a number known at run time or by constants.
//   x           T [rows, columns], row-major; read once
//   by_row      T [rows]; by_column: T [columns]; read from the caches after the first time
//   y           T [rows, columns]; must not overlap the others; written once
//   T           float, __half, __nv_bfloat16
//   first       index of the array to begin with, in [0, HELD); run_time only
//   needs       elements + a block's work below 2^31
//   BLOCK       threads of a block
//   HELD        elements of a thread, a power of two
//   launch      grid ceil(elements / (BLOCK * HELD)), block BLOCK; no shared memory
//   moves       D in, D out; with an index known at run time D to local memory and back, where the compiler does not
//               choose among registers
//   Origin: a remark of OneFlow's article on 100 days; written here.
#include "factors.cuh"

static_assert(HELD > 0 && (HELD & (HELD - 1)) == 0, "places are wrapped by a mask");

// Loads a whole tile, then works on element place(step) in each step. `Unrolled` steps are unrolled.
template <int Unrolled, typename Place, typename T>
__device__ __forceinline__ void scale_held(const T* x, const T* by_row, const T* by_column, T* y, int elements,
                                           int columns, Place place) {
  const int tile = static_cast<int>(blockIdx.x) * (BLOCK * HELD) + static_cast<int>(threadIdx.x);
  T held[HELD];
#pragma unroll
  for (int k = 0; k < HELD; ++k)
    if (tile + k * BLOCK < elements) held[k] = x[tile + k * BLOCK];
#pragma unroll (Unrolled)
  for (int step = 0; step < HELD; ++step) {
    const int k = place(step);
    const int i = tile + k * BLOCK;  // ranges [0, elements)
    if (i >= elements) continue;
    const int row = i / columns;              // ranges [0, rows)
    const int column = i - row * columns;     // ranges [0, columns)
    y[i] = scaled(held[k], by_row[row], by_column[column]);
  }
}

template <typename T>
__device__ __forceinline__ void by_run_time(const T* x, const T* by_row, const T* by_column, T* y, int elements,
                                            int columns, int first) {
  // Differs between warps, so that it is not uniform over the block; the lanes of a warp stay neighbours.
  const int begin = first + static_cast<int>(threadIdx.x) / 32;
  const auto by_place = [=](int step) { return (step + begin) & (HELD - 1); };
  scale_held<1>(x, by_row, by_column, y, elements, columns, by_place);
}

template <typename T>
__device__ __forceinline__ void by_constants(const T* x, const T* by_row, const T* by_column, T* y, int elements,
                                             int columns, int) {
  scale_held<HELD>(x, by_row, by_column, y, elements, columns, [](int step) { return step; });
}

extern "C" __global__ void indexing_small_array_run_time_f32(const float* x, const float* by_row,
                                                             const float* by_column, float* y, int elements,
                                                             int columns, int first) {
  by_run_time(x, by_row, by_column, y, elements, columns, first);
}

extern "C" __global__ void indexing_small_array_run_time_f16(const __half* x, const __half* by_row,
                                                             const __half* by_column, __half* y, int elements,
                                                             int columns, int first) {
  by_run_time(x, by_row, by_column, y, elements, columns, first);
}

extern "C" __global__ void indexing_small_array_run_time_bf16(const __nv_bfloat16* x, const __nv_bfloat16* by_row,
                                                              const __nv_bfloat16* by_column, __nv_bfloat16* y,
                                                              int elements, int columns, int first) {
  by_run_time(x, by_row, by_column, y, elements, columns, first);
}

extern "C" __global__ void indexing_small_array_constant_f32(const float* x, const float* by_row,
                                                             const float* by_column, float* y, int elements,
                                                             int columns, int first) {
  by_constants(x, by_row, by_column, y, elements, columns, first);
}

extern "C" __global__ void indexing_small_array_constant_f16(const __half* x, const __half* by_row,
                                                             const __half* by_column, __half* y, int elements,
                                                             int columns, int first) {
  by_constants(x, by_row, by_column, y, elements, columns, first);
}

extern "C" __global__ void indexing_small_array_constant_bf16(const __nv_bfloat16* x, const __nv_bfloat16* by_row,
                                                              const __nv_bfloat16* by_column, __nv_bfloat16* y,
                                                              int elements, int columns, int first) {
  by_constants(x, by_row, by_column, y, elements, columns, first);
}
