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
//            block ACROSS * DOWN; dynamic shared memory for ACROSS * DOWN * Size packs
//   moves    D in, D out
// Where an extent or an address is not a multiple of a pack, elements go through the same shared memory one by one.
//   Origin: written here.
#include "common/streamed.cuh"

constexpr bool is_side(int packs) { return packs == 8 || packs == 16 || packs == 32; }
static_assert(is_side(ACROSS) && is_side(DOWN), "a tile has 8, 16 or 32 packs in a row and in a column");

static_assert(UNIT == 4 || UNIT == 16, "a load moves 4 or 16 bytes");
static_assert(GRAIN >= 1 && GRAIN <= DOWN, "a block writes whole grains of a column");

constexpr int THREADS = ACROSS * DOWN;

struct Plane {
  long long rows, columns, x_stride, y_stride;
};

// An array from its first element to behind its last.
template <typename T>
struct Span {
  const T *first, *last;
};

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

// Rows of a tile in shared memory, as they lie in x: from the unit that holds the row's first element.
template <typename T>
struct Rows {
  static constexpr int Size = 16 / sizeof(T), Unit = UNIT < sizeof(T) ? 1 : UNIT / sizeof(T);  // elements
  static constexpr int Pitch = ACROSS * 4 + (Unit > 1 ? UNIT / 4 : 0);                        // 4-byte words
  static constexpr int Group = Size * Pitch + 1;  // odd: rows that are Size apart lie in different banks

  static __device__ __forceinline__ int word(int row) { return row / Size * Group + row % Size * Pitch; }
};

// Elements between an address and the multiple of `Elements` elements before it, a power of two.
template <int Elements, typename T>
__device__ __forceinline__ int beyond(const T* address) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(address) / sizeof(T) % Elements);
}

// Loads rows [first, rows) of a tile. A unit may begin in the row before and end in the next; no byte outside of x is read.
template <typename T>
__device__ __forceinline__ void load_rows(const T* __restrict__ x, const Span<T>& whole, const Plane& plane, int first,
                                          int rows, int columns, unsigned* words) {
  using R = Rows<T>;
  using Packed = Pack<T, R::Unit>;
  constexpr int Lanes = UNIT == 16 ? 8 : 32, Together = 32 / Lanes;  // lanes along a row, and rows of a warp
  constexpr int Across = ACROSS / 8, Warps = THREADS / 32;
  constexpr int Lines = (DOWN + GRAIN + Together - 1) / Together * R::Size * Across;
  const int lane = threadIdx.x % 32;

  auto from = [&](int row, int unit) {
    const T* start = x + row * plane.x_stride;
    return start - beyond<R::Unit>(start) + unit * R::Unit;
  };
  auto wanted = [&](int row, const T* place) {
    return row >= first && row < rows && place < x + row * plane.x_stride + columns;
  };
  auto inside = [&](const T* place) { return R::Unit == 1 || (place >= whole.first && place + R::Unit <= whole.last); };
  auto singly = [&](const T* place, unsigned* to) {
#pragma unroll 1
    for (int k = 0; k < R::Unit; ++k)
      if (place + k >= whole.first && place + k < whole.last) reinterpret_cast<T*>(to)[k] = place[k];
  };

#if UNIT == 4
  auto move = [&](int row, int unit) {
    const T* place = from(row, unit);
    if (!wanted(row, place)) return;
    unsigned* to = words + R::word(row + R::Size * GRAIN - 1) + unit;
    if (inside(place)) {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(place)
                   : "memory");
    } else {
      singly(place, to);
    }
  };
#pragma unroll 4
  for (int line = threadIdx.x / 32; line < Lines; line += Warps)
    move(line / Across - (R::Size * GRAIN - 1), line % Across * 32 + lane);
  if constexpr (R::Unit > 1) {
    for (int row = threadIdx.x; row < rows + R::Size * GRAIN - 1; row += THREADS)
      move(row - (R::Size * GRAIN - 1), ACROSS * 4);
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
#else
  auto put = [&](int row, int unit, const T* place, const Packed& held) {
    if (!wanted(row, place)) return;
    unsigned* to = words + R::word(row + R::Size * GRAIN - 1) + unit * 4;
    if (inside(place)) {
      const unsigned* parts = reinterpret_cast<const unsigned*>(&held);
#pragma unroll
      for (int k = 0; k < 4; ++k) to[k] = parts[k];
    } else {
      singly(place, to);
    }
  };
  constexpr int Flight = 5;
#pragma unroll 1
  for (int first_line = threadIdx.x / 32; first_line < Lines; first_line += Flight * Warps) {
    Packed held[Flight];
    auto row_of = [&](int k) {
      const int line = (first_line + k * Warps) / Across;
      return (line / R::Size * Together + lane / Lanes) * R::Size + line % R::Size - (R::Size * GRAIN - 1);
    };
    auto unit_of = [&](int k) { return (first_line + k * Warps) % Across * Lanes + lane % Lanes; };
#pragma unroll
    for (int k = 0; k < Flight; ++k) {
      const T* place = from(row_of(k), unit_of(k));
      if (wanted(row_of(k), place) && inside(place)) held[k] = load_once<HINT>(reinterpret_cast<const Packed*>(place));
    }
#pragma unroll
    for (int k = 0; k < Flight; ++k) put(row_of(k), unit_of(k), from(row_of(k), unit_of(k)), held[k]);
  }
  for (int row = threadIdx.x - (R::Size * GRAIN - 1); row < rows; row += THREADS) {
    const T* place = from(row, ACROSS);
    Packed held = {};
    if (wanted(row, place) && inside(place)) held = load_once<HINT>(reinterpret_cast<const Packed*>(place));
    put(row, ACROSS, place, held);
  }
#endif
}

// Transposes a tile of any size, wherever its rows and columns begin. Of each column of y, a block writes whole grains, so
// that its rows begin up to a grain earlier than the tile; the last block of a column writes the rest, too.
template <typename T>
__device__ __forceinline__ void turn_rows(const T* __restrict__ x, T* __restrict__ y, const Span<T>& whole,
                                          const Plane& plane, bool top, bool bottom, int rows, int columns,
                                          unsigned* words) {
  using R = Rows<T>;
  using Packed = Pack<T, R::Size>;
  constexpr int Grain = GRAIN * R::Size;           // elements
  constexpr int Apart = DOWN * (4 / sizeof(T));    // columns that a warp writes together: their banks differ by DOWN
  const int first = top ? 0 : plane.y_stride % Grain == 0 ? -beyond<Grain>(y) : 1 - Grain;
  load_rows(x, whole, plane, first, rows, columns, words);
  __syncthreads();  // a column's rows come from all warps

  const T* elements = reinterpret_cast<const T*>(words);
  const int x_step = static_cast<int>(plane.x_stride);
  const int end = bottom ? 2 * DOWN : DOWN;
#pragma unroll 1
  for (int pack = threadIdx.x % DOWN; pack < end; pack += DOWN) {
#pragma unroll 2
    for (int turn = threadIdx.x / 32; turn < ACROSS * R::Size * DOWN / 32; turn += THREADS / 32) {
      const int column = turn / Apart * (8 * R::Size) + turn % Apart + threadIdx.x % 32 / DOWN * Apart;
      if (column >= columns) continue;
      T* to = y + column * plane.y_stride;
      const int row = pack * R::Size - beyond<Grain>(to);  // ranges [1 - Grain, rows + Grain)
      to += row;
      const int held_row = row + Grain - 1, within = held_row % R::Size;
      const int base = R::word(held_row) * (4 / sizeof(T)) + column;
      const int shift = beyond<R::Unit>(x) + row * x_step;
      auto element = [&](int k) {
        const int word = k * R::Pitch + (within + k) / R::Size;  // a word is left out behind a group
        return elements[base + word * (4 / static_cast<int>(sizeof(T))) + (shift + k * x_step & R::Unit - 1)];
      };
      if (row >= first && row + R::Size <= rows) {
        Packed packed;
#pragma unroll
        for (int k = 0; k < R::Size; ++k) packed.elements[k] = element(k);
        store_once<HINT>(reinterpret_cast<Packed*>(to), packed);
      } else {
#pragma unroll 1
        for (int k = 0; k < R::Size; ++k)
          if (row + k >= first && row + k < rows) to[k] = element(k);
      }
    }
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
