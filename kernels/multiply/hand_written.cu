// The product of two arrays by packs of 16 bytes, written in six ways: five differ only in how they access a
// pack, the sixth in who counts the packs.
//   x, y    T [elements], of T's own alignment; each element read once
//   z       T [elements]; must not overlap x or y; written once
//   T       float, __half, __nv_bfloat16
//   packs   whole packs of 16 / sizeof(T) elements, counted by the host, or by each thread in CountedHere
//   needs   elements >= 1
//   WAY     WholePacks, CountedHere, ThroughMemory, CastInLoop, ElementIndex, Int4: a struct below
//   BLOCK   threads of a block
//   launch  grid at most 32 waves of resident blocks, block BLOCK; no shared memory
//   moves   2 D in, D out
//   Arrays that do not all begin at a multiple of 16 bytes are multiplied element by element.
//   Origin: five kernels of a page on element-wise kernels; written here.
#include <type_traits>

#include "common/elementwise.cuh"

template <typename T>
constexpr int PerPack = 16 / sizeof(T);  // elements of a pack
template <typename T>
using PackOf = Pack<T, PerPack<T>>;

// Computed once for all ways, so that the compiler sees the same code around each.
struct Share {
  long long thread;   // number of the thread in the grid: its first pack
  long long threads;  // threads of the grid: the distance between its packs
};

// Kernel 0: loads whole packs of both inputs into registers, and stores their product whole.
struct WholePacks {
  template <typename T>
  static __device__ __forceinline__ void multiply(const T* x, const T* y, T* z, long long packs, Share share) {
    const PackOf<T>* x_packs = reinterpret_cast<const PackOf<T>*>(x);
    const PackOf<T>* y_packs = reinterpret_cast<const PackOf<T>*>(y);
    PackOf<T>* z_packs = reinterpret_cast<PackOf<T>*>(z);
    for (long long i = share.thread; i < packs; i += share.threads) {
      const PackOf<T> x_pack = x_packs[i];
      const PackOf<T> y_pack = y_packs[i];
      PackOf<T> z_pack;
#pragma unroll
      for (int j = 0; j < PerPack<T>; ++j) z_pack.elements[j] = x_pack.elements[j] * y_pack.elements[j];
      z_packs[i] = z_pack;
    }
  }
};

// Kernel 0 as the page has it: each thread counts the packs.
struct CountedHere : WholePacks {};

// Kernel 1: reads and writes each element of a pack in memory. For all the compiler knows z overlaps x, so each product must
// be stored before the next element is loaded.
struct ThroughMemory {
  template <typename T>
  static __device__ __forceinline__ void multiply(const T* x, const T* y, T* z, long long packs, Share share) {
    const PackOf<T>* x_packs = reinterpret_cast<const PackOf<T>*>(x);
    const PackOf<T>* y_packs = reinterpret_cast<const PackOf<T>*>(y);
    PackOf<T>* z_packs = reinterpret_cast<PackOf<T>*>(z);
    for (long long i = share.thread; i < packs; i += share.threads) {
#pragma unroll
      for (int j = 0; j < PerPack<T>; ++j) z_packs[i].elements[j] = x_packs[i].elements[j] * y_packs[i].elements[j];
    }
  }
};

// Kernel 2: as kernel 0, but pointers are cast at each use.
struct CastInLoop {
  template <typename T>
  static __device__ __forceinline__ void multiply(const T* x, const T* y, T* z, long long packs, Share share) {
    for (long long i = share.thread; i < packs; i += share.threads) {
      const PackOf<T> x_pack = reinterpret_cast<const PackOf<T>*>(x)[i];
      const PackOf<T> y_pack = reinterpret_cast<const PackOf<T>*>(y)[i];
      PackOf<T> z_pack;
#pragma unroll
      for (int j = 0; j < PerPack<T>; ++j) z_pack.elements[j] = x_pack.elements[j] * y_pack.elements[j];
      reinterpret_cast<PackOf<T>*>(z)[i] = z_pack;
    }
  }
};

// Kernel 3: as kernel 2, but the index counts elements, so start, step and end are multiples of a pack.
struct ElementIndex {
  template <typename T>
  static __device__ __forceinline__ void multiply(const T* x, const T* y, T* z, long long packs, Share share) {
    const long long end = packs * PerPack<T>;
    const long long step = share.threads * PerPack<T>;
    for (long long i = share.thread * PerPack<T>; i < end; i += step) {
      const PackOf<T> x_pack = *reinterpret_cast<const PackOf<T>*>(&x[i]);
      const PackOf<T> y_pack = *reinterpret_cast<const PackOf<T>*>(&y[i]);
      PackOf<T> z_pack;
#pragma unroll
      for (int j = 0; j < PerPack<T>; ++j) z_pack.elements[j] = x_pack.elements[j] * y_pack.elements[j];
      *reinterpret_cast<PackOf<T>*>(&z[i]) = z_pack;
    }
  }
};

// Kernel 4: as kernel 2, but loads and stores an int4, and takes its bytes for elements.
struct Int4 {
  template <typename T>
  static __device__ __forceinline__ void multiply(const T* x, const T* y, T* z, long long packs, Share share) {
    for (long long i = share.thread; i < packs; i += share.threads) {
      const int4 x_held = reinterpret_cast<const int4*>(x)[i];
      const int4 y_held = reinterpret_cast<const int4*>(y)[i];
      const T* x_elements = reinterpret_cast<const T*>(&x_held);
      const T* y_elements = reinterpret_cast<const T*>(&y_held);
      alignas(sizeof(int4)) T z_elements[PerPack<T>];
#pragma unroll
      for (int j = 0; j < PerPack<T>; ++j) z_elements[j] = x_elements[j] * y_elements[j];
      reinterpret_cast<int4*>(z)[i] = *reinterpret_cast<const int4*>(z_elements);
    }
  }
};

template <typename T>
__device__ __forceinline__ void multiply_hand_written(const T* x, const T* y, T* z, long long packs,
                                                      long long elements) {
  const Share share = {global_thread(), global_threads()};
  if (!are_aligned<sizeof(int4)>(x, y, z)) {
    for (long long i = share.thread; i < elements; i += share.threads) z[i] = x[i] * y[i];
    return;
  }
  if constexpr (std::is_same_v<WAY, CountedHere>) packs = elements / PerPack<T>;
  WAY::multiply(x, y, z, packs, share);
  for (long long i = packs * PerPack<T> + share.thread; i < elements; i += share.threads) z[i] = x[i] * y[i];
}

#define BOUNDS __launch_bounds__(BLOCK)

extern "C" __global__ BOUNDS void multiply_hand_written_f32(const float* x, const float* y, float* z, long long packs,
                                                            long long elements) {
  multiply_hand_written(x, y, z, packs, elements);
}

extern "C" __global__ BOUNDS void multiply_hand_written_f16(const __half* x, const __half* y, __half* z,
                                                            long long packs, long long elements) {
  multiply_hand_written(x, y, z, packs, elements);
}

extern "C" __global__ BOUNDS void multiply_hand_written_bf16(const __nv_bfloat16* x, const __nv_bfloat16* y,
                                                             __nv_bfloat16* z, long long packs, long long elements) {
  multiply_hand_written(x, y, z, packs, elements);
}
