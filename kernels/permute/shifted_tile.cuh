// A tile of permute/swizzled whose rows and columns begin anywhere: whole units are read, whole packs written.
//   x, y     elements of 4 or 2 bytes, from the tile's first on; x_stride and y_stride apart, rows of x and columns of y
//   ACROSS, DOWN, HINT   of the kernel: packs in a row and in a column of a tile, and how packs are loaded and stored
//   UNIT     bytes of a load: 16, through registers, or 4, straight into shared memory
//   GRAIN    packs that one block writes together, from a multiple of their size on: 2 are a sector of memory
//   shared   (DOWN + GRAIN) * (Size * Pitch + 1) words of 4 bytes, as in Shifted
//   Origin: written here.
#pragma once
#include "common/streamed.cuh"

static_assert(UNIT == 4 || UNIT == 16, "a load moves 4 or 16 bytes");
static_assert(GRAIN >= 1 && GRAIN <= DOWN / 4, "columns that a warp writes together have grains that begin alike");

constexpr int THREADS = ACROSS * DOWN;

struct Plane {
  long long rows, columns, x_stride, y_stride;
};

// An array from its first element to behind its last.
template <typename T>
struct Span {
  const T *first, *last;
};

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
  // A warp stores packs of several rows at once, which are Size apart, so that all lanes use different banks: first eight
  // packs of each of four rows, then the last pack of 32 rows.
  auto held_of = [](unsigned line, int abreast, int which) {
    return (line / S::Size * abreast + which) * S::Size + line % S::Size;
  };
  constexpr int Groups = DOWN + GRAIN, Together = 2;
#pragma unroll 1
  for (int line = warp; line < (Groups + 3) / 4 * S::Size; line += Together * Warps) {
    Row row[Together];
    Words packs[Together][Across];
#pragma unroll
    for (int j = 0; j < Together; ++j) {
      row[j] = row_of(held_of(line + j * Warps, 4, lane / 8));
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
  for (int line = warp; line < (Groups + 31) / 32 * S::Size; line += Warps) {
    const Row row = row_of(held_of(line, 32, lane));
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
