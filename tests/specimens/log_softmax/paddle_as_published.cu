// Specimen: Paddle's log-softmax kernel of 2021 with the reduction that it was merged with, on rows of the last axis.
//   x       T [rows, dim], row-major; read three times
//   y       T [rows, dim]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16; arithmetic in float
//   needs   dim <= 2^30
//   launch  block (threads of a row: a power of two, 1); grid (blocks, 1), going on to further rows; 4 bytes of dynamic
//           shared memory a thread
//   moves   3 reads' worth of D in, 1 D out
//   Wrong: a thread may write the first value of the sum over the maximum that others still have to read.
//   Origin: PaddlePaddle/Paddle, paddle/fluid/operators/log_softmax_op.cu.
#include "log_softmax/columns.cuh"

// ColumnTree of columns.cuh without the barrier before the first store.
struct RacyTree {
  float* slots;
  int thread;
  int threads;

  template <typename Op>
  __device__ __forceinline__ float all(float value) const {
    slots[thread] = value;
    for (int s = threads / 2; s > 0; s /= 2) {
      __syncthreads();  // what this step reads is written
      if (thread < s) slots[thread] = Op::apply(slots[thread], slots[thread + s]);
    }
    __syncthreads();  // the first thread's result is there
    return slots[0];
  }
};

template <typename T>
__device__ void log_softmax_paddle_as_published(const T* x, T* y, long long rows, int dim) {
  extern __shared__ float slots[];
  const RacyTree tree{slots, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
  for (long long row = blockIdx.x; row < rows; row += gridDim.x)  // ranges [0, rows)
    log_softmax_column(x + row * dim, y + row * dim, dim, 1, tree);
}

extern "C" __global__ void __launch_bounds__(1024)
    log_softmax_paddle_as_published_f32(const float* x, float* y, long long rows, int dim) {
  log_softmax_paddle_as_published(x, y, rows, dim);
}

extern "C" __global__ void __launch_bounds__(1024)
    log_softmax_paddle_as_published_f16(const __half* x, __half* y, long long rows, int dim) {
  log_softmax_paddle_as_published(x, y, rows, dim);
}

extern "C" __global__ void __launch_bounds__(1024)
    log_softmax_paddle_as_published_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, long long rows, int dim) {
  log_softmax_paddle_as_published(x, y, rows, dim);
}
