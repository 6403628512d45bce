// A tile of permute/swizzled whose rows and columns begin anywhere: words of 4 bytes are read, whole packs written.
//   x, y     elements of 4 or 2 bytes, from the tile's first on; x_stride and y_stride apart, rows of x and columns of y
//   ACROSS, DOWN, HINT   of the kernel: packs in a row and in a column of a tile, and how packs are loaded and stored
//   shared   (DOWN + GRAIN) * (Size * Pitch + 1) words of 4 bytes, as in Shifted
//   Origin: written here.
#pragma once
#include "common/streamed.cuh"

constexpr int THREADS = ACROSS * DOWN;
constexpr int GRAIN = DOWN == 32 ? 2 : 1;  // packs that one block writes together; two are a sector of memory

struct Plane {
  long long rows, columns, x_stride, y_stride;
};

// An array from its first element to behind its last.
template <typename T>
struct Span {
  const T *first, *last;
};

// A tile whose rows and columns may begin anywhere. Shared memory holds rows as they lie in x: from the word on that holds
// the row's first element. Of each column of y, the block writes whole grains, which begin up to a grain before the tile.
template <typename T>
struct Shifted {
  static constexpr int Size = 16 / sizeof(T), Words = 4 / sizeof(T);
  static constexpr int Grain = GRAIN * Size;                      // elements
  static constexpr int Before = Grain - 1;                        // rows before the tile
  static constexpr int Pitch = ACROSS * 4 + (Words > 1 ? 1 : 0);  // words; rows may begin within one
  static constexpr int Group = Size * Pitch + 1;  // odd, so that rows that are Size apart lie in different banks

  static __device__ __forceinline__ int word(unsigned held) { return held / Size * Group + held % Size * Pitch; }
};

// Elements between an address and the multiple of `Elements` elements before it, a power of two.
template <int Elements, typename T>
__device__ __forceinline__ int beyond(const T* address) {
  return static_cast<unsigned>(reinterpret_cast<unsigned long long>(address)) / sizeof(T) % Elements;
}

// Loads rows [first, rows) of a tile. Words reach into the rows before and behind, but not out of `whole`, which is x: only
// where it `ends` or begins must rows be looked at.
template <typename T>
__device__ __forceinline__ void load_rows(const T* __restrict__ x, const Span<T>& whole, bool ends, const Plane& plane,
                                          int first, int rows, int columns, unsigned* words) {
  using S = Shifted<T>;
  constexpr int Words = S::Words, Warps = THREADS / 32, Across = ACROSS / 8;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  struct Row {
    const T* from;
    int shift, in_words, singly;  // elements before the row; up to its end, by words or one by one
    unsigned* to;
  };
  auto row_of = [&](int held) {  // ranges [0, Before + rows)
    const int row = held - S::Before;
    const T* start = x + row * plane.x_stride;
    const int shift = beyond<Words>(start), behind = row >= first && row < rows ? shift + columns : 0;
    const bool inside = !ends || (start - shift >= whole.first && start + columns + Words <= whole.last);
    return Row{start - shift, shift, inside ? behind : 0, inside ? 0 : behind, words + S::word(held)};
  };

  auto copy = [&](const Row& row, int word) {
    if (word * Words >= row.in_words) return;
#if __CUDA_ARCH__ >= 800
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(row.to + word));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(row.from + word * Words) : "memory");
#else
    row.to[word] = *reinterpret_cast<const unsigned*>(row.from + word * Words);
#endif
  };
#pragma unroll 4
  for (int held = warp; held < S::Before + rows; held += Warps) {
    const Row row = row_of(held);
#pragma unroll
    for (int k = 0; k < Across; ++k) copy(row, k * 32 + lane);
  }
  if constexpr (Words > 1) {
    for (int held = threadIdx.x; held < S::Before + rows; held += THREADS) copy(row_of(held), Across * 32);
  }
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
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
  constexpr int Size = S::Size, Words = S::Words, Grain = S::Grain, Warps = THREADS / 32;
  constexpr int Apart = DOWN * Words;                  // columns that a warp writes together: their banks are DOWN apart
  constexpr int Step = Warps > Grain ? Warps : Grain;  // columns of a thread, whose grains all begin alike
  constexpr int Turns = ACROSS * Size * DOWN / 32 / Step;
  static_assert(Apart % Step == 0, "columns that a warp writes together begin alike");
  const int first = top ? 0 : plane.y_stride % Grain == 0 ? -beyond<Grain>(y) : -S::Before;
  const bool ends = Words > 1 && (x + first * plane.x_stride - Words < whole.first ||
                                  x + (rows - 1) * plane.x_stride + columns + Words > whole.last);
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
      const int base = S::word(held) * Words + column, shift = beyond<Words>(x) + row * x_step;
      int from[Size];  // bytes
#pragma unroll
      for (int k = 0; k < Size; ++k) {
        const int padding = (held % Size + k) / Size;  // a word behind each group
        from[k] = (base + (k * S::Pitch + padding) * Words + (shift + k * x_step & Words - 1)) * sizeof(T);
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
