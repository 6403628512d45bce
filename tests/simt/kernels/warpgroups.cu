// sm_90a: a matrix product as Hopper's are written. One warpgroup copies tiles by TMA, the other multiplies them by wgmma.
#include <cuda.h>
#include <cuda_fp16.h>

#define ADDRESS(place) static_cast<unsigned>(__cvta_generic_to_shared(place))
constexpr int TILE = 64, STAGES = 2;
using Barrier = unsigned long long;

__device__ void open(Barrier* barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDRESS(barrier)), "r"(arrivals) : "memory");
}
__device__ void await(Barrier* barrier, unsigned parity) {
    asm volatile(
        "{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}" ::"r"(
            ADDRESS(barrier)),
        "r"(parity)
        : "memory");
}
__device__ void copy(void* to, const CUtensorMap* map, int column, int row, Barrier* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            ADDRESS(to)),
        "l"(map), "r"(column), "r"(row), "r"(ADDRESS(barrier))
        : "memory");
}

__device__ unsigned long long descriptor(const void* tile) {  // swizzled by 128 bytes
    return (ADDRESS(tile) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

__device__ void multiply(float (&d)[32], unsigned long long a, unsigned long long b, int keeps) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(keeps));
}

// c [m, n] = a [m, k] b [n, k]; `opens_early`: a mistake, stages are given back before they are read.
extern "C" __global__ void __launch_bounds__(256)
    gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c, int n, int k,
         int opens_early) {
    extern __shared__ __align__(1024) __half tiles[];  // [stage][a, b][64][64]
    __shared__ Barrier full[STAGES], empty[STAGES];
    if (threadIdx.x == 0)
        for (int stage = 0; stage < STAGES; ++stage) {
            open(&full[stage], 1);
            open(&empty[stage], 1);
        }
    __syncthreads();
    const int column = blockIdx.x * TILE, row = blockIdx.y * TILE;
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            for (int tile = 0; tile < k / TILE; ++tile) {
                const int stage = tile % STAGES, turn = tile / STAGES;
                await(&empty[stage], turn % 2 ^ 1);
                __half* to = tiles + stage * 2 * TILE * TILE;
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ADDRESS(&full[stage])),
                             "r"(2 * TILE * TILE * 2)
                             : "memory");
                copy(to, &a, tile * TILE, row, &full[stage]);
                copy(to + TILE * TILE, &b, tile * TILE, column, &full[stage]);
            }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float sums[32];
    const int thread = threadIdx.x - 128;
    for (int tile = 0; tile < k / TILE; ++tile) {
        const int stage = tile % STAGES, turn = tile / STAGES;
        await(&full[stage], turn % 2);
        if (opens_early && thread == 0)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ADDRESS(&empty[stage])) : "memory");
        const __half* from = tiles + stage * 2 * TILE * TILE;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < TILE; step += 16)
            multiply(sums, descriptor(from + step), descriptor(from + TILE * TILE + step), tile || step);
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("bar.sync 1, 128;" ::: "memory");
        if (!opens_early && thread == 0)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ADDRESS(&empty[stage])) : "memory");
    }
    for (int i = 0; i < 32; ++i) {
        const int m = row + thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
        c[(size_t)m * n + column + thread % 4 * 2 + i % 2 + i / 4 * 8] = sums[i];
    }
}
