// Kernels that take down the context they run in, one fault each.
//   x, y     float [elements]
//   FAULT    which
//   launch   one block of a warp
#define ILLEGAL_ADDRESS 1
#define MISALIGNED 2
#define ENDLESS 3
#define TRAP 4
#define ASSERTION 5

#include <cassert>

extern "C" __global__ void broken_f32(const float* x, float* y, long long elements) {
#if FAULT == ILLEGAL_ADDRESS
  y[(1LL << 40) + threadIdx.x] = x[0];
#elif FAULT == MISALIGNED
  *reinterpret_cast<double*>(reinterpret_cast<char*>(y) + 1) = x[0];
#elif FAULT == ENDLESS
  volatile float* seen = y;
  while (seen[0] == seen[0] || seen[0] != seen[0]) {
  }
#elif FAULT == TRAP
  asm volatile("trap;");
#elif FAULT == ASSERTION
  assert(elements < 0);
#endif
}
