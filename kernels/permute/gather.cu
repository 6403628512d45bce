// Permutes axes by gathering: a thread finds the source of its part of y with one division per axis.
//   x       T [elements], of T's own alignment; read once
//   y       T [elements], with its axes in another order; must not overlap x; written once
//   T       float, __half, __nv_bfloat16
//   moves   elements, or packs of MOVE bytes, which stay together where the last axis stays the last
//   e1..    extents of the axes of y from the second on, in moves; 1 beyond its RANK axes
//   s0..    strides in x of the axes of y, in moves
//   Index   int in entries with i32, for at most 2^30 elements; long long in those with i64
//   needs   moves >= 1
//   MOVE    bytes that are moved at once: 8 or 16; 0 for one element. RANK: axes of y, 1 to 6
//   launch  grid at most 32 waves of resident blocks, block of one dimension; no shared memory
//   moves   D in, D out; sectors are loaded more than once where the caches do not keep them
//   Arrays that do not both begin at a multiple of MOVE bytes are moved by elements, at the same places.
//   Origin: OneFlow's transpose; written here.
#include "common/elementwise.cuh"

static_assert(RANK >= 1 && RANK <= 6, "y has 1 to 6 axes once neighbours are one");
static_assert(MOVE == 0 || MOVE == 8 || MOVE == 16, "an access has 8 or 16 bytes, or those of an element");

template <typename Index>
struct Axes {
  Index extents[6];
  Index strides[6];

  // The place in x of move i of y. Unrolled, so that both arrays are indexed by constants and stay in registers.
  __device__ __forceinline__ Index source(Index i) const {
    Index place = 0;
#pragma unroll
    for (int axis = RANK - 1; axis > 0; --axis) {
      const Index next = i / extents[axis];
      place += (i - next * extents[axis]) * strides[axis];
      i = next;
    }
    return place + i * strides[0];
  }
};

template <typename Index, typename T>
__device__ __forceinline__ void permute_gather(const T* __restrict__ x, T* __restrict__ y, long long moves,
                                               const long long (&extents)[5], const long long (&strides)[6]) {
  constexpr int Size = MOVE == 0 ? 1 : MOVE / sizeof(T);  // elements of a move
  using Packed = Pack<T, Size>;
  Axes<Index> axes;
#pragma unroll
  for (int axis = 0; axis < 6; ++axis) {
    axes.extents[axis] = static_cast<Index>(axis == 0 ? 1 : extents[axis - 1]);
    axes.strides[axis] = static_cast<Index>(strides[axis]);
  }
  const bool aligned = are_aligned<sizeof(Packed)>(x, y);
  const Index end = static_cast<Index>(moves);
  const Index step = static_cast<Index>(global_threads());
  for (Index i = static_cast<Index>(global_thread()); i < end; i += step) {
    const Index source = axes.source(i);
    if (aligned) {
      reinterpret_cast<Packed*>(y)[i] = reinterpret_cast<const Packed*>(x)[source];
    } else {
#pragma unroll
      for (int j = 0; j < Size; ++j) y[i * Size + j] = x[source * Size + j];
    }
  }
}

#define AXES                                                                                                        \
  long long e1, long long e2, long long e3, long long e4, long long e5, long long s0, long long s1, long long s2, \
      long long s3, long long s4, long long s5
#define GIVEN {e1, e2, e3, e4, e5}, {s0, s1, s2, s3, s4, s5}

extern "C" __global__ void permute_gather_i32_f32(const float* x, float* y, long long moves, AXES) {
  permute_gather<int>(x, y, moves, GIVEN);
}

extern "C" __global__ void permute_gather_i32_f16(const __half* x, __half* y, long long moves, AXES) {
  permute_gather<int>(x, y, moves, GIVEN);
}

extern "C" __global__ void permute_gather_i32_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long moves, AXES) {
  permute_gather<int>(x, y, moves, GIVEN);
}

extern "C" __global__ void permute_gather_i64_f32(const float* x, float* y, long long moves, AXES) {
  permute_gather<long long>(x, y, moves, GIVEN);
}

extern "C" __global__ void permute_gather_i64_f16(const __half* x, __half* y, long long moves, AXES) {
  permute_gather<long long>(x, y, moves, GIVEN);
}

extern "C" __global__ void permute_gather_i64_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long moves, AXES) {
  permute_gather<long long>(x, y, moves, GIVEN);
}
