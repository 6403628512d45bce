// Log-softmax along any axis, each element read once: the block's columns stay in shared memory.
//   x       T [outer, dim, inner], row-major; read once
//   y       T [outer, dim, inner]; must not overlap x; written once
//   T       float, __half, __nv_bfloat16, kept as they are; arithmetic in float
//   needs   columns of a block * dim elements and 4 bytes per thread in shared memory; dim <= 2^30
//   launch  block (columns, threads of a column: a power of two); grid ceil(inner / columns) * outer; dynamic shared
//           memory as above
//   moves   D in, D out. Neighbouring lanes read neighbours; where a block covers inner, its steps along dim are contiguous
//   A column of -inf gives NaN.   Origin: written here.
#include "log_softmax/columns.cuh"

template <typename T>
__device__ void log_softmax_one_read(const T* __restrict__ x, T* __restrict__ y, int dim, long long inner) {
  extern __shared__ float shared[];  // a float for each thread, then T [dim, columns]
  const int columns = blockDim.x;
  const int threads = blockDim.y;  // of a column
  T* kept = reinterpret_cast<T*>(shared + columns * threads) + threadIdx.x;
  const ColumnTree tree{shared + threadIdx.x, columns, static_cast<int>(threadIdx.y), threads};

  const long long groups = (inner + columns - 1) / columns;
  const long long o = blockIdx.x / groups;                              // ranges [0, outer)
  const long long i = blockIdx.x % groups * columns + threadIdx.x;  // ranges [0, inner), or beyond
  const int own_dim = i < inner ? dim : 0;  // a column that does not exist is needed at the barriers only
  const long long start = o * dim * inner + i;

  // A thread reads back only what it has written itself, so the elements need no barrier.
  float own_max = MaxOp::identity();
  for (int d = threadIdx.y; d < own_dim; d += threads) {
    const T value = x[start + d * inner];
    kept[d * columns] = value;
    own_max = MaxOp::apply(own_max, to_float(value));
  }
  const float column_max = tree.all<MaxOp>(own_max);

  float own_sum = SumOp::identity();
  for (int d = threadIdx.y; d < own_dim; d += threads) own_sum += expf(to_float(kept[d * columns]) - column_max);
  const float log_sum = logf(tree.all<SumOp>(own_sum));

  for (int d = threadIdx.y; d < own_dim; d += threads)
    y[start + d * inner] = from_float<T>(to_float(kept[d * columns]) - column_max - log_sum);
}

extern "C" __global__ void log_softmax_one_read_f32(const float* x, float* y, int dim, long long inner) {
  log_softmax_one_read(x, y, dim, inner);
}

extern "C" __global__ void log_softmax_one_read_f16(const __half* x, __half* y, int dim, long long inner) {
  log_softmax_one_read(x, y, dim, inner);
}

extern "C" __global__ void log_softmax_one_read_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, int dim,
                                                     long long inner) {
  log_softmax_one_read(x, y, dim, inner);
}
