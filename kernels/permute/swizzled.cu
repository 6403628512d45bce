// Two axes exchanged by tiles, with accesses of 16 bytes on both sides: blocks of Size x Size elements turn in
// registers, and go through shared memory as packs, swizzled so that no two lanes meet in a bank.
//   x        T [.., rows at x_stride, .., columns next to each other]; read once
//   y        T [.., columns at y_stride, .., rows next to each other]; must not overlap x; written once
//   T        float, __half, __nv_bfloat16: moved as words of 4 or 2 bytes. Size = 16 / sizeof(T) elements of a pack
//   e0..e3   extents of the other axes; px0.., py0..: how far apart in x and y neighbours along them are, in elements
//   needs    rows, columns >= 1
//   ACROSS   packs of a tile's row and column: 8 (128-byte lines) or 16; it has ACROSS * Size rows and as many columns
//   BAND     tiles: tiles are numbered column by column within bands of so many rows of tiles; 0: row by row
//   HINT     of common/streamed.cuh
//   launch   a block a tile: grid others * ceil(rows / tile) * ceil(columns / tile), block ACROSS * ACROSS;
//            shared memory: ACROSS * ACROSS * Size packs, dynamic
//   moves    D in, D out
// Where accesses of 16 bytes are not possible, as an extent or an address is no multiple of a pack, the tile goes by
// elements through the same shared memory.   Origin: written here.
#include "common/streamed.cuh"

static_assert(ACROSS == 8 || ACROSS == 16, "a tile has 8 or 16 packs in a row");

constexpr int THREADS = ACROSS * ACROSS;

struct Plane {
  long long rows, columns, x_stride, y_stride;
};

// Of the tile of this block: its first row and column, and where its plane begins.
struct Tile {
  long long row, column, x_offset, y_offset;
};

__device__ __forceinline__ Tile tile_of(const Plane& plane, const long long (&extents)[4], const long long (&px)[4],
                                        const long long (&py)[4], int side) {
  const long long down = (plane.rows + side - 1) / side, across = (plane.columns + side - 1) / side;
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
  if constexpr (BAND == 0) {
    tile.row = within / across * side;
    tile.column = within % across * side;
  } else {
    const long long band = within / (BAND * across);
    const long long tall = min(static_cast<long long>(BAND), down - band * BAND);  // the last band can be lower
    const long long inside = within - band * BAND * across;
    tile.row = (band * BAND + inside % tall) * side;
    tile.column = inside / tall * side;
  }
  return tile;
}

// A tile of whole packs, `rows` and `columns` of it there. A thread turns a block of Size x Size elements.
template <typename T>
__device__ __forceinline__ void turn_packs(const T* __restrict__ x, T* __restrict__ y, const Plane& plane, int rows,
                                           int columns, Pack<T, 16 / sizeof(T)>* slots) {
  constexpr int Size = 16 / sizeof(T);
  using Packed = Pack<T, Size>;
  const int fast = threadIdx.x % ACROSS, slow = threadIdx.x / ACROSS;  // range [0, ACROSS)

  Packed from[Size] = {};  // of rows slow * Size + k, columns fast * Size + ..
  if (slow * Size < rows && fast * Size < columns) {
#pragma unroll
    for (int k = 0; k < Size; ++k)
      from[k] = load_once<HINT>(reinterpret_cast<const Packed*>(x + (slow * Size + k) * plane.x_stride) + fast);
  }

  // The slot of column c and of the rows' pack p is c * ACROSS + (p ^ c / Size): of a quarter of a warp, which goes
  // at once, lanes differ in c / Size when they write and in p when they read, so that they meet in no bank.
#pragma unroll
  for (int j = 0; j < Size; ++j) {
    Packed to;
#pragma unroll
    for (int k = 0; k < Size; ++k) to.elements[k] = from[k].elements[j];
    slots[(fast * Size + j) * ACROSS + (slow ^ fast)] = to;
  }
  __syncthreads();  // a column's rows come from all warps
#pragma unroll
  for (int j = 0; j < Size; ++j) {
    const int column = j * ACROSS + slow;
    if (column < columns && fast * Size < rows)
      store_once<HINT>(reinterpret_cast<Packed*>(y + column * plane.y_stride) + fast,
                       slots[column * ACROSS + (fast ^ column / Size)]);
  }
}

// A tile of any size, by elements. Elements of a row are swizzled, so that a column's lie in different banks.
template <typename T>
__device__ __forceinline__ void turn_elements(const T* __restrict__ x, T* __restrict__ y, const Plane& plane, int rows,
                                              int columns, T* slots) {
  constexpr int Side = ACROSS * 16 / sizeof(T);
  constexpr int Words = 4 / sizeof(T);  // elements of a bank
  constexpr int Together = 4;
  const int fast = threadIdx.x % 32, slow = threadIdx.x / 32;
  auto slot = [&](int row, int column) -> T& { return slots[row * Side + (column ^ row % 32 * Words % Side)]; };
  for (int row = slow; row < rows; row += THREADS / 32) {
#pragma unroll Together
    for (int column = fast; column < columns; column += 32) slot(row, column) = x[row * plane.x_stride + column];
  }
  __syncthreads();  // a column's rows come from all warps
  for (int column = slow; column < columns; column += THREADS / 32) {
#pragma unroll Together
    for (int row = fast; row < rows; row += 32) y[column * plane.y_stride + row] = slot(row, column);
  }
}

template <typename T>
__device__ __forceinline__ void permute_swizzled(const T* __restrict__ x, T* __restrict__ y, const Plane plane,
                                                 const long long (&extents)[4], const long long (&px)[4],
                                                 const long long (&py)[4]) {
  constexpr int Size = 16 / sizeof(T), Side = ACROSS * Size;
  extern __shared__ uint4 shared[];
  const Tile tile = tile_of(plane, extents, px, py, Side);
  const int rows = static_cast<int>(min(plane.rows - tile.row, static_cast<long long>(Side)));
  const int columns = static_cast<int>(min(plane.columns - tile.column, static_cast<long long>(Side)));
  x += tile.x_offset + tile.row * plane.x_stride + tile.column;
  y += tile.y_offset + tile.column * plane.y_stride + tile.row;
  // Strides alone could be whole packs where a row's last elements are none.
  if (are_aligned<16>(x, y) && (plane.x_stride | plane.y_stride | rows | columns) % Size == 0) {
    turn_packs(x, y, plane, rows, columns, reinterpret_cast<Pack<T, Size>*>(shared));
  } else {
    turn_elements(x, y, plane, rows, columns, reinterpret_cast<T*>(shared));
  }
}

#define BOUNDS __launch_bounds__(THREADS)
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
