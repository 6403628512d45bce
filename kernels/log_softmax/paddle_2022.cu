// Log-softmax along any axis by Paddle's kernel of 2022: the lanes of a warp along inner, further threads along dim.
//   x       T [outer, dim, inner], row-major; read three times
//   y       T [outer, dim, inner]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   needs   dim <= 2^30
//   launch  block (columns, threads per column), both powers of two, at most 1024 threads; grid (blocks along inner, blocks
//           along outer); blocks loop along both; 4 KB of static shared memory
//   moves   3 reads' worth of D in (the second and third from the caches while they hold the columns), 1 D out.
//           Up to 32 neighbouring lanes read neighbours, as far as inner reaches
//   A column of -inf gives NaN.   Origin: PaddlePaddle/Paddle, paddle/phi/kernels/gpudnn/softmax_gpudnn.h.
#include "log_softmax/columns.cuh"

constexpr int MAX_BLOCK = 1024;

template <typename T>
__device__ void log_softmax_paddle_2022(const T* __restrict__ x, T* __restrict__ y, long long outer, int dim,
                                        long long inner) {
  __shared__ float slots[MAX_BLOCK];
  const ColumnTree tree{slots + threadIdx.x, static_cast<int>(blockDim.x), static_cast<int>(threadIdx.y),
                        static_cast<int>(blockDim.y)};
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long o = blockIdx.y; o < outer; o += gridDim.y) {          // ranges [0, outer)
    for (long long group = first; group < inner; group += step) {  // the whole block goes round alike
      const long long i = group + threadIdx.x;
      const long long start = o * dim * inner + i;
      log_softmax_column(x + start, y + start, i < inner ? dim : 0, inner, tree);
    }
  }
}

extern "C" __global__ void __launch_bounds__(MAX_BLOCK)
    log_softmax_paddle_2022_f32(const float* x, float* y, long long outer, int dim, long long inner) {
  log_softmax_paddle_2022(x, y, outer, dim, inner);
}

extern "C" __global__ void __launch_bounds__(MAX_BLOCK)
    log_softmax_paddle_2022_f16(const __half* x, __half* y, long long outer, int dim, long long inner) {
  log_softmax_paddle_2022(x, y, outer, dim, inner);
}

extern "C" __global__ void __launch_bounds__(MAX_BLOCK)
    log_softmax_paddle_2022_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long outer, int dim,
                                 long long inner) {
  log_softmax_paddle_2022(x, y, outer, dim, inner);
}
