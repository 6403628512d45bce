// Atomics on vectors (sm_90), and tiles of several warps, whose barriers lie in reserved shared memory.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void add_float2(float2* sums, float2* before) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    before[i] = atomicAdd(&sums[i % 3], make_float2(1, i));
}

extern "C" __global__ void add_float4(float4* sums) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&sums[i % 5], make_float4(i, 2, -i, 0.5f));
}

#define HALVES(name, opcode)                                                                                  \
    extern "C" __global__ void name(unsigned* at, const uint4* x) {                                           \
        const uint4 v = x[threadIdx.x];                                                                        \
        asm volatile("red.relaxed.gpu.global." opcode " [%0], {%1, %2, %3, %4};" ::"l"(at + 4 * (threadIdx.x % 2)), \
                     "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");                                      \
    }
HALVES(add_f16x2, "add.noftz.v4.f16x2")
HALVES(min_f16x2, "min.noftz.v4.f16x2")
HALVES(max_f16x2, "max.noftz.v4.f16x2")
HALVES(add_bf16x2, "add.noftz.v4.bf16x2")

extern "C" __global__ void eight_halves(unsigned short* at) {
    unsigned short old[8];
    asm volatile("atom.global.add.noftz.v8.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], {%9, %9, %9, %9, %9, %9, %9, %9};"
                 : "=h"(old[0]), "=h"(old[1]), "=h"(old[2]), "=h"(old[3]), "=h"(old[4]), "=h"(old[5]), "=h"(old[6]),
                   "=h"(old[7])
                 : "l"(at), "h"((unsigned short)0x3c00)
                 : "memory");
    for (int k = 0; k < 8; ++k) at[8 + 8 * threadIdx.x + k] = old[k];
}

extern "C" __global__ void large_tiles(const int* x, int* y) {
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<64>(block);
    y[threadIdx.x] = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
}
