// Log-softmax along any axis by Paddle's kernel of 2021: the threads of a block go along inner, and those that inner leaves
// along dim.
//   x       T [outer, dim, inner], row-major; read READS times
//   y       T [outer, dim, inner]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   needs   dim <= 2^30
//   READS   3 as published; 2 where maximum and sum are taken in one pass
//   launch  block (threads per column: a power of two, columns); grid (blocks along outer, blocks along inner); blocks loop
//           along both; 4 bytes of dynamic shared memory per thread where a column has several threads
//   moves   READS reads' worth of D in (those after the first from the caches while they hold the column), 1 D out.
//           Where several threads share a column, the lanes of a warp lie a column's step apart
//   A column of -inf gives NaN.   Origin: PaddlePaddle/Paddle, paddle/fluid/operators/log_softmax_op.cu.
#include "log_softmax/columns.cuh"

static_assert(READS == 2 || READS == 3, "a column is read two or three times");

template <typename T>
__device__ void log_softmax_paddle(const T* __restrict__ x, T* __restrict__ y, long long outer, int dim,
                                   long long inner) {
  extern __shared__ float slots[];
  const ColumnTree tree{slots + threadIdx.y * blockDim.x, 1, static_cast<int>(threadIdx.x),
                        static_cast<int>(blockDim.x)};
  const long long first = static_cast<long long>(blockIdx.y) * blockDim.y + threadIdx.y;
  const long long step = static_cast<long long>(gridDim.y) * blockDim.y;
  for (long long o = blockIdx.x; o < outer; o += gridDim.x) {  // ranges [0, outer)
    // Several threads share a column only where one block covers inner: then all of its threads are here once.
    for (long long i = first; i < inner; i += step) {  // ranges [0, inner)
      const long long start = o * dim * inner + i;
      if constexpr (READS == 2) {
        log_softmax_column_two_reads(x + start, y + start, dim, inner, tree);
      } else {
        log_softmax_column(x + start, y + start, dim, inner, tree);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(1024)
    log_softmax_paddle_f32(const float* x, float* y, long long outer, int dim, long long inner) {
  log_softmax_paddle(x, y, outer, dim, inner);
}

extern "C" __global__ void __launch_bounds__(1024)
    log_softmax_paddle_f16(const __half* x, __half* y, long long outer, int dim, long long inner) {
  log_softmax_paddle(x, y, outer, dim, inner);
}

extern "C" __global__ void __launch_bounds__(1024)
    log_softmax_paddle_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long outer, int dim, long long inner) {
  log_softmax_paddle(x, y, outer, dim, inner);
}
