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
static_assert(GRAIN >= 1 && GRAIN <= DOWN / 4, "a block writes whole grains of a column");

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

// A tile whose rows and columns may begin anywhere. Shared memory holds rows as they lie in x: from the unit on that holds
// the row's first element. Of each column of y, the block writes whole grains, which begin up to a grain before the tile.
template <typename T>
struct Shifted {
  static constexpr int Size = 16 / sizeof(T), Words = 4 / sizeof(T);
  static constexpr int Grain = GRAIN * Size, Unit = UNIT < sizeof(T) ? 1 : UNIT / sizeof(T);  // elements
  static constexpr int Before = Grain - 1;                                                   // rows before the tile
  static constexpr int Pitch = ACROSS * 4 + (Unit > 1 ? UNIT / 4 : 0);                       // 4-byte words
  static constexpr int Group = Size * Pitch + 1;  // odd, so that rows that are Size apart lie in different banks

  static __device__ __forceinline__ int word(unsigned held) { return held / Size * Group + held % Size * Pitch; }
};

// Elements between an address and the multiple of `Elements` elements before it, a power of two.
template <int Elements, typename T>
__device__ __forceinline__ int beyond(const T* address) {
  return static_cast<unsigned>(reinterpret_cast<unsigned long long>(address)) / sizeof(T) % Elements;
}

// Loads rows [first, rows) of a tile. Units reach into the rows before and behind, but not out of `whole`, which is x: only
// where it `ends` or begins must rows be looked at.
template <typename T>
__device__ __forceinline__ void load_rows(const T* __restrict__ x, const Span<T>& whole, bool ends, const Plane& plane,
                                          int first, int rows, int columns, unsigned* words) {
  using S = Shifted<T>;
  constexpr int Unit = S::Unit, Warps = THREADS / 32, Across = ACROSS / 8;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  struct Row {
    const T* from;
    int shift, in_units, singly;  // elements before the row; up to its end, by units or one by one
    unsigned* to;
  };
  auto row_of = [&](int held) {  // ranges [0, Before + rows)
    const int row = held - S::Before;
    const T* start = x + row * plane.x_stride;
    const int shift = beyond<Unit>(start), behind = row >= first && row < rows ? shift + columns : 0;
    const bool inside = !ends || (start - shift >= whole.first && start + columns + Unit <= whole.last);
    return Row{start - shift, shift, inside ? behind : 0, inside ? 0 : behind, words + S::word(held)};
  };

#if UNIT == 4
  auto copy = [&](const Row& row, int unit) {
    if (unit * Unit >= row.in_units) return;
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(row.to + unit));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(row.from + unit * Unit) : "memory");
  };
#pragma unroll 4
  for (int held = warp; held < S::Before + rows; held += Warps) {
    const Row row = row_of(held);
#pragma unroll
    for (int k = 0; k < Across; ++k) copy(row, k * 32 + lane);
  }
  if constexpr (Unit > 1) {
    for (int held = threadIdx.x; held < S::Before + rows; held += THREADS) copy(row_of(held), Across * 32);
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
#else
  using Words = Pack<unsigned, 4>;
  auto load = [&](const Row& row, int unit) {
    Words pack = {};
    if (unit * Unit < row.in_units) pack = load_once<HINT>(reinterpret_cast<const Words*>(row.from) + unit);
    return pack;
  };
  auto put = [&](const Row& row, int unit, const Words& pack) {
    if (unit * Unit >= row.in_units) return;
#pragma unroll
    for (int k = 0; k < 4; ++k) row.to[unit * 4 + k] = pack.elements[k];
  };
  // A warp stores eight packs of each of four rows, which are Size apart, so that all lanes use different banks.
  constexpr int Lines = (DOWN + GRAIN + 3) / 4 * S::Size, Together = 2;
#pragma unroll 1
  for (int line = warp; line < Lines; line += Together * Warps) {
    Row row[Together];
    Words packs[Together][Across];
#pragma unroll
    for (int j = 0; j < Together; ++j) {
      const unsigned at = line + j * Warps;
      row[j] = row_of((at / S::Size * 4 + lane / 8) * S::Size + at % S::Size);
#pragma unroll
      for (int k = 0; k < Across; ++k) packs[j][k] = load(row[j], k * 8 + lane % 8);
    }
#pragma unroll
    for (int j = 0; j < Together; ++j) {
#pragma unroll
      for (int k = 0; k < Across; ++k) put(row[j], k * 8 + lane % 8, packs[j][k]);
    }
  }
#pragma unroll 1
  for (int held = threadIdx.x; held < S::Before + rows; held += THREADS) {
    const Row row = row_of(held);
    put(row, Across * 8, load(row, Across * 8));
  }
#endif
  if (!ends) return;
#pragma unroll 1
  for (int held = warp; held < S::Before + rows; held += Warps) {
    const Row row = row_of(held);
    for (int k = row.shift + lane; k < row.singly; k += 32) reinterpret_cast<T*>(row.to)[k] = row.from[k];
  }
}

// One access, which the compiler would split into one for each element if it saw a plain store.
template <typename T, typename Packed>
__device__ __forceinline__ void store_whole(T* to, const Packed& packed) {
  if constexpr (HINT == STREAM || HINT == STREAM_STORES) {
    store_once<HINT>(reinterpret_cast<Packed*>(to), packed);
  } else {
    const uint4 word = *reinterpret_cast<const uint4*>(&packed);
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w)
                 : "memory");
  }
}

// Transposes a tile of any size, of which `top` and `bottom` say whether it has the plane's first and last row. The bottom
// tile of a column also writes the grains behind it.
template <typename T>
__device__ __forceinline__ void turn_rows(const T* __restrict__ x, T* __restrict__ y, const Span<T>& whole,
                                          const Plane& plane, bool top, bool bottom, int rows, int columns,
                                          unsigned* words) {
  using S = Shifted<T>;
  constexpr int Size = S::Size, Grain = S::Grain, Warps = THREADS / 32;
  constexpr int Apart = DOWN * S::Words;               // columns that a warp writes together: their banks are DOWN apart
  constexpr int Step = Warps > Grain ? Warps : Grain;  // columns of a thread, whose grains all begin alike
  constexpr int Turns = ACROSS * Size * DOWN / 32 / Step;
  static_assert(Apart % Step == 0, "columns that a warp writes together begin alike");
  const int first = top ? 0 : plane.y_stride % Grain == 0 ? -beyond<Grain>(y) : -S::Before;
  const bool ends = S::Unit > 1 && (x + first * plane.x_stride - S::Unit < whole.first ||
                                    x + (rows - 1) * plane.x_stride + columns + S::Unit > whole.last);
  load_rows(x, whole, ends, plane, first, rows, columns, words);
  __syncthreads();  // a column's rows come from all warps

  const int lane = threadIdx.x % 32, x_step = static_cast<int>(plane.x_stride);
#pragma unroll 1
  for (int start = threadIdx.x / 32; start < Step; start += Warps) {
    const int column = start + lane / DOWN * Apart;
    T* column_of_y = y + column * plane.y_stride;
#pragma unroll 1
    for (int pack = lane % DOWN; pack < (bottom ? DOWN + GRAIN : DOWN); pack += DOWN) {
      const int row = pack * Size - beyond<Grain>(column_of_y);  // ranges [-Before, rows + Grain)
      const unsigned held = row + S::Before;
      const int base = S::word(held) * S::Words + column, shift = beyond<S::Unit>(x) + row * x_step;
      int from[Size];  // bytes
#pragma unroll
      for (int k = 0; k < Size; ++k) {
        const int padding = (held % Size + k) / Size;  // a word behind each group
        from[k] = (base + (k * S::Pitch + padding) * S::Words + (shift + k * x_step & S::Unit - 1)) * sizeof(T);
        asm("" : "+r"(from[k]));  // else the compiler would compute it again for every column
      }
      auto element = [&](int k, int further) {
        return reinterpret_cast<const T*>(reinterpret_cast<const char*>(words) + from[k])[further];
      };
      auto further_of = [](int turn) { return turn * Step / Apart * (8 * Size) + turn * Step % Apart; };  // columns
      T* to = column_of_y + row;
      if (row >= first && row + Size <= rows) {
#pragma unroll
        for (int turn = 0; turn < Turns; ++turn) {
          if (column + further_of(turn) >= columns) break;
          Pack<T, Size> packed;
#pragma unroll
          for (int k = 0; k < Size; ++k) packed.elements[k] = element(k, further_of(turn));
          store_whole(to + further_of(turn) * plane.y_stride, packed);
        }
      } else {
#pragma unroll 1
        for (int turn = 0; turn < Turns; ++turn) {
          if (column + further_of(turn) >= columns) break;
#pragma unroll
          for (int k = 0; k < Size; ++k)
            if (row + k >= first && row + k < rows)
              to[further_of(turn) * plane.y_stride + k] = element(k, further_of(turn));
        }
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
