// A copy of x to y that can be told to do some of it again: a slowdown of known size.
//   x, y    packs of 4 floats; y must not overlap x
//   work    packs to move, `packs` and those that are moved again: from the first one on, long after they were moved
//           first, and so out of DRAM where the data is larger than the L2
//   launch  a thread a pack of the work
#include <cuda_runtime.h>

extern "C" __global__ void slowed_copy(const float4* x, float4* y, int packs, int work) {
  const int place = blockIdx.x * BLOCK + threadIdx.x;
  if (place < work) {
    const int pack = place < packs ? place : place - packs;
    y[pack] = x[pack];
  }
}
