// Exchanges the last two axes tile by tile: reads the rows of a tile into shared memory, and writes its columns.
//   x       T [batch, rows, columns]; read once
//   y       T [batch, columns, rows]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16
//   needs   rows, columns >= 1
//   PAD     elements behind each row of 32 in shared memory: 1, so that a column lies in different banks, or 0
//   launch  one block per tile: grid batch * ceil(rows / 32) * ceil(columns / 32), block (32, 8)
//   moves   D in, D out
//   Origin: OneFlow's permute; the padded tile is of M. Harris (NVIDIA); written here.
#include "common/convert.cuh"

static_assert(PAD == 0 || PAD == 1, "one element is enough");

constexpr int TILE = 32;
constexpr int TILE_ROWS = 8;  // of a block

template <typename T>
__device__ __forceinline__ void permute_tiled(const T* __restrict__ x, T* __restrict__ y, long long rows,
                                              long long columns) {
  __shared__ T tile[TILE][TILE + PAD];
  const long long across = (columns + TILE - 1) / TILE;  // tiles of a row of tiles
  const long long down = (rows + TILE - 1) / TILE;
  const long long number = blockIdx.x;  // ranges [0, batch * down * across)
  const long long matrix = number / (across * down);
  const long long within = number - matrix * across * down;
  const long long first_row = within / across * TILE;
  const long long first_column = within % across * TILE;
  x += matrix * rows * columns;
  y += matrix * rows * columns;

  if (first_column + threadIdx.x < columns) {
#pragma unroll
    for (int row = threadIdx.y; row < TILE; row += TILE_ROWS)
      if (first_row + row < rows)
        tile[row][threadIdx.x] = x[(first_row + row) * columns + first_column + threadIdx.x];
  }

  __syncthreads();  // columns of the tile were loaded by all warps

  if (first_row + threadIdx.x < rows) {
#pragma unroll
    for (int column = threadIdx.y; column < TILE; column += TILE_ROWS)
      if (first_column + column < columns)
        y[(first_column + column) * rows + first_row + threadIdx.x] = tile[threadIdx.x][column];
  }
}

#define BOUNDS __launch_bounds__(TILE * TILE_ROWS)

extern "C" __global__ BOUNDS void permute_tiled_f32(const float* x, float* y, long long rows, long long columns) {
  permute_tiled(x, y, rows, columns);
}

extern "C" __global__ BOUNDS void permute_tiled_f16(const __half* x, __half* y, long long rows, long long columns) {
  permute_tiled(x, y, rows, columns);
}

extern "C" __global__ BOUNDS void permute_tiled_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long rows,
                                                     long long columns) {
  permute_tiled(x, y, rows, columns);
}
