// Layer norm along the last axis, a row held in the registers of a warp or of a block, so that x is read once.
//   x            T [rows, columns], row-major; read once, in packs
//   gamma, beta  T [columns]; read once per row, from the caches after the first time
//   y            T [rows, columns]; must not overlap x; written once, in packs
//   T            float, __half, __nv_bfloat16; arithmetic in float
//   needs        columns a multiple of a pack, at most THREADS * PACKS packs; where an array does not begin at a multiple
//                of a pack, all are moved element by element
//   THREADS      threads per row: 32, or whole warps; ROWS: rows per block, 1 where a row has more than a warp
//   BYTES        bytes of a pack, at most 16; PACKS: packs per thread
//   launch       grid ceil(rows / ROWS), block (THREADS, ROWS); a float of shared memory for each warp of a row
//   moves        D in, D out
//   A row with an infinity or a NaN gives NaN.   Origin: written here.
#include "common/elementwise.cuh"
#include "common/reduce.cuh"

static_assert(THREADS == WARP_SIZE || ROWS == 1, "rows of one block have a warp each");
static_assert(THREADS * ROWS <= 1024, "a block has at most 1024 threads");

// The sum over the threads of a row; all of them get it.
__device__ __forceinline__ float row_sum(float value) {
  if constexpr (THREADS == WARP_SIZE) return warp_all_reduce<SumOp>(value);
  else return block_all_reduce<SumOp, THREADS>(value);
}

// `whole`: the array begins at a multiple of a pack.
template <int Width, typename T>
__device__ __forceinline__ Pack<T, Width> load_pack(const T* from, bool whole) {
  if (whole) return *reinterpret_cast<const Pack<T, Width>*>(from);
  Pack<T, Width> loaded;
#pragma unroll
  for (int j = 0; j < Width; ++j) loaded.elements[j] = from[j];
  return loaded;
}

template <int Width, typename T>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, Width>& pack, bool whole) {
  if (whole) {
    *reinterpret_cast<Pack<T, Width>*>(to) = pack;
    return;
  }
#pragma unroll
  for (int j = 0; j < Width; ++j) to[j] = pack.elements[j];
}

template <typename T>
__device__ void layer_norm_one_read(const T* x, const T* gamma, const T* beta, T* y, long long rows, int columns,
                                    float eps) {
  constexpr int Width = BYTES < sizeof(T) ? 1 : BYTES / sizeof(T);  // packs of a half are for the narrow types' entries
  const long long row = static_cast<long long>(blockIdx.x) * ROWS + threadIdx.y;
  if (row >= rows) return;  // whole warps leave, and no barrier waits for them: they share no row
  const int packs = columns / Width;
  const bool whole = are_aligned<sizeof(Pack<T, Width>)>(x, gamma, beta, y);
  const T* x_row = x + row * columns;
  T* y_row = y + row * columns;

  // Load
  Pack<T, Width> held[PACKS];
  float own_sum = 0.0f;
#pragma unroll
  for (int i = 0; i < PACKS; ++i) {
    const int pack = i * THREADS + threadIdx.x;  // ranges [0, THREADS * PACKS)
    if (pack < packs) held[i] = load_pack<Width>(x_row + pack * Width, whole);
  }
#pragma unroll
  for (int i = 0; i < PACKS; ++i) {
    if (i * THREADS + static_cast<int>(threadIdx.x) >= packs) continue;
#pragma unroll
    for (int j = 0; j < Width; ++j) own_sum += to_float(held[i].elements[j]);
  }

  // Reduce: the variance as the mean of squared deviations, because a difference of squares would cancel
  const float mean = row_sum(own_sum) / columns;
  float own_squares = 0.0f;
#pragma unroll
  for (int i = 0; i < PACKS; ++i) {
    if (i * THREADS + static_cast<int>(threadIdx.x) >= packs) continue;
#pragma unroll
    for (int j = 0; j < Width; ++j) {
      const float centred = to_float(held[i].elements[j]) - mean;
      own_squares += centred * centred;
    }
  }
  const float scale = 1.0f / sqrtf(row_sum(own_squares) / columns + eps);

  // Compute and store
#pragma unroll
  for (int i = 0; i < PACKS; ++i) {
    const int pack = i * THREADS + threadIdx.x;
    if (pack >= packs) continue;
    const Pack<T, Width> weight = load_pack<Width>(gamma + pack * Width, whole);
    const Pack<T, Width> bias = load_pack<Width>(beta + pack * Width, whole);
    Pack<T, Width> result;
#pragma unroll
    for (int j = 0; j < Width; ++j) {
      const float normal = (to_float(held[i].elements[j]) - mean) * scale;
      result.elements[j] = from_float<T>(normal * to_float(weight.elements[j]) + to_float(bias.elements[j]));
    }
    store_pack<Width>(y_row + pack * Width, result, whole);
  }
}

extern "C" __global__ void layer_norm_one_read_f32(const float* x, const float* gamma, const float* beta, float* y,
                                                   long long rows, int columns, float eps) {
  layer_norm_one_read(x, gamma, beta, y, rows, columns, eps);
}

extern "C" __global__ void layer_norm_one_read_f16(const __half* x, const __half* gamma, const __half* beta, __half* y,
                                                   long long rows, int columns, float eps) {
  layer_norm_one_read(x, gamma, beta, y, rows, columns, eps);
}

extern "C" __global__ void layer_norm_one_read_bf16(const __nv_bfloat16* x, const __nv_bfloat16* gamma,
                                                    const __nv_bfloat16* beta, __nv_bfloat16* y, long long rows,
                                                    int columns, float eps) {
  layer_norm_one_read(x, gamma, beta, y, rows, columns, eps);
}
