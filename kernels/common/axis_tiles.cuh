// Tiles of a view [outer, dim, inner]: the view, packs as a thread holds them, where its packs of a tile are, and those of
// the next tile on their way to shared memory.
//   PACKS   of a thread
//   LOADS, STORES  1 with a streaming hint; LOADS 2: nothing is kept in the L1
#pragma once
#include <cuda_pipeline_primitives.h>

#include "common/convert.cuh"
#include "common/elementwise.cuh"

// What a launch does: all of it; of two reads the first, which leaves (maximum, sum) of each part and column in
// `partials`; or the second, which finds them joined there, one for each column.
enum Step { ALL = 0, SUMS = 1, FINISH = 2 };

struct AxisView {
  long long outer;
  int dim;
  long long inner;
  int width;   // columns of a tile: inner, or of a strip
  int strips;  // of inner; 1: the tile is contiguous
  int rows;    // of a part
  int parts;   // of dim
  int step;
};

template <typename T>
struct TwoOf;
template <>
struct TwoOf<__half> {
  using Type = __half2;
  static __device__ __forceinline__ __half2 from_floats(float a, float b) { return __floats2half2_rn(a, b); }
};
template <>
struct TwoOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
  static __device__ __forceinline__ __nv_bfloat162 from_floats(float a, float b) { return __floats2bfloat162_rn(a, b); }
};

// V neighbours as the words they are loaded and stored by: as elements, two halves would take two registers.
template <typename T, int V>
struct Held {
  static constexpr int Bytes = sizeof(T) * V;
  static constexpr int Words = Bytes < 4 ? 1 : Bytes / 4;
  unsigned words[Words];

  __device__ __forceinline__ float get(int i) const { return to_float(bits(i)); }

  __device__ __forceinline__ void put_bits(int i, T value) {
    if constexpr (sizeof(T) == sizeof(float)) {
      words[i] = *reinterpret_cast<const unsigned*>(&value);
    } else {
      const unsigned bits = *reinterpret_cast<const unsigned short*>(&value);
      words[i / 2] = i % 2 ? (words[i / 2] & 0xffffu) | bits << 16 : (words[i / 2] & 0xffff0000u) | bits;
    }
  }

  __device__ __forceinline__ T bits(int i) const {
    if constexpr (sizeof(T) == sizeof(float)) return *reinterpret_cast<const T*>(&words[i]);
    const unsigned short own = static_cast<unsigned short>(i % 2 ? words[i / 2] >> 16 : words[i / 2]);
    return *reinterpret_cast<const T*>(&own);
  }

  __device__ __forceinline__ void fill(float value) {
#pragma unroll
    for (int i = 0; i < V; ++i) put_bits(i, from_float<T>(value));
  }

  // Elements i and i + 1, of an even i.
  template <typename Two>
  __device__ __forceinline__ Two two(int i) const {
    return *reinterpret_cast<const Two*>(&words[i / 2]);
  }

  __device__ __forceinline__ void put_two(int i, float first, float second) {
    if constexpr (sizeof(T) == sizeof(float)) {
      words[i] = __float_as_uint(first), words[i + 1] = __float_as_uint(second);
    } else {
      const auto both = TwoOf<T>::from_floats(first, second);
      words[i / 2] = *reinterpret_cast<const unsigned*>(&both);
    }
  }

  // From here on the compiler must compute anew what it derives from element i's word: it would else keep every half widened
  // to a float, in registers that further packs are worth more in.
  __device__ __forceinline__ void forget(int i) { asm volatile("" : "+r"(words[sizeof(T) * i / sizeof(unsigned)])); }

  __device__ __forceinline__ void set(uint4 word) {
    words[0] = word.x, words[1] = word.y, words[2] = word.z, words[3] = word.w;
  }

  __device__ __forceinline__ void load(const T* from) {
    if constexpr (Bytes == 16) {
      const uint4* at = reinterpret_cast<const uint4*>(from);
      set(LOADS == 1 ? __ldcs(at) : LOADS == 2 ? no_allocate(at) : __ldg(at));
    } else {
      put_bits(0, *from);
    }
  }

  static __device__ __forceinline__ uint4 no_allocate(const uint4* from) {
    uint4 word;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
        : "l"(from));
    return word;
  }

  __device__ __forceinline__ void store(T* to) const {
    if constexpr (Bytes == 16) {
      const uint4 word = {words[0], words[1], words[2], words[3]};
      if constexpr (STORES == 1) {
        __stcs(reinterpret_cast<uint4*>(to), word);
      } else {
        *reinterpret_cast<uint4*>(to) = word;
      }
    } else {
      *to = bits(0);
    }
  }
};

// Where a thread's packs of a tile are. `place(k)` counts elements of a contiguous tile, or rows of a strip.
template <typename T, int V, bool Ragged>
struct Share {
  long long start;           // of the tile, from the first element of the array
  long long offset, stride;  // of pack 0 from the tile's first element, and to the next pack, in elements
  int place, place_stride, limit;
  int phase;  // elements by which the first aligned pack begins before the tile
  long long slab;
  int strip, part;

  __device__ __forceinline__ int at(int k) const { return place + k * place_stride; }
  // Of pack k: all its elements, or element i of a pack that the tile's ends cut.
  __device__ __forceinline__ bool whole(int k) const {
    return Ragged ? at(k) >= 0 && at(k) + V <= limit : at(k) < limit;
  }
  __device__ __forceinline__ bool inside(int k, int i) const {
    return Ragged ? at(k) + i >= 0 && at(k) + i < limit : at(k) < limit;
  }
};

template <typename T, int V, bool Ragged>
__device__ __forceinline__ Share<T, V, Ragged> share_of(const T* x, AxisView view, unsigned item) {
  int thread = threadIdx.x;
  const int threads = blockDim.x, width = view.width;
  asm volatile("" : "+r"(thread));  // nothing of it is worth registers from tile to tile
  const unsigned tile = item / view.parts;
  Share<T, V, Ragged> share;
  share.part = item % view.parts;
  share.strip = tile % view.strips;
  share.slab = static_cast<long long>(tile / view.strips) * blockDim.y + threadIdx.y;
  const long long first_row = static_cast<long long>(share.part) * view.rows;
  const long long rows_left = share.slab < view.outer ? view.dim - first_row : 0;
  const int rows = static_cast<int>(max(0ll, min(rows_left, static_cast<long long>(view.rows))));
  share.start = (share.slab * view.dim + first_row) * view.inner + static_cast<long long>(share.strip) * width;
  share.phase = Ragged ? reinterpret_cast<unsigned long long>(x + share.start) / sizeof(T) % V : 0;
  if (view.strips == 1) {
    share.place = thread * V - share.phase, share.place_stride = threads * V, share.limit = rows * width;
    share.offset = share.place, share.stride = share.place_stride;
  } else {
    const int segment = width / V;  // packs of a row
    const int column = thread % segment * V;
    const bool exists = static_cast<long long>(share.strip) * width + column < view.inner;
    share.place = thread / segment, share.place_stride = threads / segment, share.limit = exists ? rows : 0;
    share.offset = share.place * view.inner + column, share.stride = share.place_stride * view.inner;
  }
  return share;
}

// A pack of a tile that is not whole, or not aligned; places outside hold what changes no sum.
template <typename T, int V, bool Ragged>
__device__ __forceinline__ Held<T, V> partial_pack(const T* x_tile, const Share<T, V, Ragged>& share, int k, bool any) {
  Held<T, V> pack;
  pack.fill(-CUDART_INF_F);
  if (any) {
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (share.inside(k, i)) pack.put_bits(i, x_tile[share.offset + k * share.stride + i]);
  }
  return pack;
}

// The thread's packs on their way to its own places in shared memory; nobody else reads them.
template <typename T, int V, bool Ragged>
__device__ __forceinline__ void stage(uint4* slots, const T* x, const Share<T, V, Ragged>& share) {
  const T* x_tile = x + share.start;
  const bool packed = Ragged || are_aligned<sizeof(T) * V>(x_tile);
  const int block_threads = blockDim.x * blockDim.y;
  const T* from = x_tile + share.offset;
#pragma unroll
  for (int k = 0; k < PACKS; ++k, from += share.stride)
    if (packed && share.whole(k)) __pipeline_memcpy_async(slots + k * block_threads, from, sizeof(uint4));
  __pipeline_commit();
  if (packed && share.whole(0) && share.whole(PACKS - 1)) return;
#pragma unroll 1
  for (int k = 0; k < PACKS; ++k) {
    if (packed && share.whole(k)) continue;
    const Held<T, V> pack = partial_pack<T, V, Ragged>(x_tile, share, k, Ragged || !packed);
    slots[k * block_threads] = {pack.words[0], pack.words[1], pack.words[2], pack.words[3]};
  }
}
