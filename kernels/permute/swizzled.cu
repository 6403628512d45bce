// Exchanges two axes tile by tile, with accesses of 16 bytes on both sides. Each thread transposes Size x Size elements in
// registers; packs then go through shared memory, swizzled so that there are no bank conflicts.
//   x        T [.., rows at x_stride, .., columns next to each other]; read once
//   y        T [.., columns at y_stride, .., rows next to each other]; must not overlap x; written once
//   T        float, __half, __nv_bfloat16, moved as words of 4 or 2 bytes; a pack has Size = 16 / sizeof(T) elements
//   e0..e3   extents of the other axes; px0.., py0..: their strides in x and y, in elements
//   needs    rows, columns >= 1
//   ACROSS   packs per row of a tile: 8 (128-byte lines), 16 or 32; a tile has ACROSS * Size columns
//   DOWN     packs per column of a tile: 8, 16 or 32; a tile has DOWN * Size rows
//   RESIDENT threads per multiprocessor for which registers must suffice; 0: the compiler decides
//   HINT     see common/streamed.cuh
//   launch   one block per tile: grid others * ceil(rows / tile's rows) * ceil(columns / tile's columns), tiles row by row;
//            block ACROSS * DOWN; dynamic shared memory for ACROSS * DOWN * Size packs, and as shifted_tile.cuh needs
//   moves    D in, D out
// Where an extent or an address is not a multiple of a pack, shifted_tile.cuh takes the tile.
//   Origin: written here.
#include "permute/shifted_tile.cuh"

constexpr bool is_side(int packs) { return packs == 8 || packs == 16 || packs == 32; }
static_assert(is_side(ACROSS) && is_side(DOWN), "a tile has 8, 16 or 32 packs in a row and in a column");

// The tile of this block: its first row and column, and the offsets of its plane in x and y.
struct Tile {
  long long row, column, x_offset, y_offset;
};

__device__ __forceinline__ Tile tile_of(const Plane& plane, const long long (&extents)[4], const long long (&px)[4],
                                        const long long (&py)[4], int tall, int wide) {
  const long long down = (plane.rows + tall - 1) / tall, across = (plane.columns + wide - 1) / wide;
  const long long number = blockIdx.x;  // ranges [0, others * down * across)
  long long other = number / (down * across);
  const long long within = number - other * (down * across);
  Tile tile = {};
#pragma unroll
  for (int axis = 3; axis >= 0; --axis) {
    const long long next = axis == 0 ? 0 : other / extents[axis];
    const long long at = other - next * extents[axis];
    tile.x_offset += at * px[axis];
    tile.y_offset += at * py[axis];
    other = next;
  }
  tile.row = within / across * tall;
  tile.column = within % across * wide;
  return tile;
}

// Transposes a tile of whole packs, of which `rows` rows and `columns` columns exist; Size x Size elements per thread.
template <typename T>
__device__ __forceinline__ void turn_packs(const T* __restrict__ x, T* __restrict__ y, const Plane& plane, int rows,
                                           int columns, Pack<T, 16 / sizeof(T)>* slots) {
  constexpr int Size = 16 / sizeof(T);
  using Packed = Pack<T, Size>;
  const int fast = threadIdx.x % ACROSS, slow = threadIdx.x / ACROSS;  // ranges [0, ACROSS), [0, DOWN)

  Packed from[Size] = {};  // of rows slow * Size + k, columns fast * Size + ..
  if (slow * Size < rows && fast * Size < columns) {
#pragma unroll
    for (int k = 0; k < Size; ++k)
      from[k] = load_once<HINT>(reinterpret_cast<const Packed*>(x + (slow * Size + k) * plane.x_stride) + fast);
  }

  // The pack of rows p of column c lies in slot c * DOWN + (p ^ c / Size % 8). A quarter of a warp is served at once; its lanes
  // differ in c / Size % 8 when they write, and in p when they read, so they use different banks.
#pragma unroll
  for (int j = 0; j < Size; ++j) {
    Packed to;
#pragma unroll
    for (int k = 0; k < Size; ++k) to.elements[k] = from[k].elements[j];
    slots[(fast * Size + j) * DOWN + (slow ^ fast % 8)] = to;
  }
  __syncthreads();  // a column's rows come from all warps
  const int pack = threadIdx.x % DOWN;
#pragma unroll
  for (int j = 0; j < Size; ++j) {
    const int column = j * ACROSS + threadIdx.x / DOWN;
    if (column < columns && pack * Size < rows)
      store_once<HINT>(reinterpret_cast<Packed*>(y + column * plane.y_stride) + pack,
                       slots[column * DOWN + (pack ^ column / Size % 8)]);
  }
}

template <typename T>
__device__ __forceinline__ void permute_swizzled(const T* __restrict__ x, T* __restrict__ y, const Plane plane,
                                                 const long long (&extents)[4], const long long (&px)[4],
                                                 const long long (&py)[4]) {
  constexpr int Size = 16 / sizeof(T), Tall = DOWN * Size, Wide = ACROSS * Size;
  extern __shared__ uint4 shared[];
  const Tile tile = tile_of(plane, extents, px, py, Tall, Wide);
  const int rows = static_cast<int>(min(plane.rows - tile.row, static_cast<long long>(Tall)));
  const int columns = static_cast<int>(min(plane.columns - tile.column, static_cast<long long>(Wide)));
  const bool top = tile.row == 0, bottom = tile.row + Tall >= plane.rows;
  const Span<T> whole = {x, x + extents[0] * extents[1] * extents[2] * extents[3] * plane.rows * plane.columns};
  x += tile.x_offset + tile.row * plane.x_stride + tile.column;
  y += tile.y_offset + tile.column * plane.y_stride + tile.row;
  // Strides may be multiples of a pack although rows and columns are not.
  if (are_aligned<16>(x, y) && (plane.x_stride | plane.y_stride | rows | columns) % Size == 0) {
    turn_packs(x, y, plane, rows, columns, reinterpret_cast<Pack<T, Size>*>(shared));
  } else {
    turn_rows(x, y, whole, plane, top, bottom, rows, columns, reinterpret_cast<unsigned*>(shared));
  }
}

#define BOUNDS __launch_bounds__(THREADS, RESIDENT / THREADS)
#define PLACES                                                                                                    \
  long long rows, long long columns, long long x_stride, long long y_stride, long long e0, long long e1,         \
      long long e2, long long e3, long long px0, long long px1, long long px2, long long px3, long long py0,     \
      long long py1, long long py2, long long py3
#define GIVEN {rows, columns, x_stride, y_stride}, {e0, e1, e2, e3}, {px0, px1, px2, px3}, {py0, py1, py2, py3}

extern "C" __global__ BOUNDS void permute_swizzled_f32(const unsigned* x, unsigned* y, PLACES) {
  permute_swizzled(x, y, GIVEN);
}

extern "C" __global__ BOUNDS void permute_swizzled_f16(const unsigned short* x, unsigned short* y, PLACES) {
  permute_swizzled(x, y, GIVEN);
}

extern "C" __global__ BOUNDS void permute_swizzled_bf16(const unsigned short* x, unsigned short* y, PLACES) {
  permute_swizzled(x, y, GIVEN);
}
