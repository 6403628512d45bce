// sm_90: bulk copies of boxes of tensors (TMA), to blocks of a cluster, back to memory, and with reductions.
#include <cuda.h>

#define ADDRESS(place) static_cast<unsigned>(__cvta_generic_to_shared(place))
using Barrier = unsigned long long;

__device__ void open(Barrier* barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDRESS(barrier)), "r"(arrivals) : "memory");
}
__device__ void expect(Barrier* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(ADDRESS(barrier)), "r"(bytes)
                 : "memory");
}
__device__ void await(Barrier* barrier, unsigned parity) {
    asm volatile(
        "{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}" ::"r"(
            ADDRESS(barrier)),
        "r"(parity)
        : "memory");
}
__device__ void stored() {
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}
__device__ void before_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

template <int AXES>
__device__ void load(void* to, const CUtensorMap* map, const int* at, Barrier* barrier) {
    const unsigned t = ADDRESS(to), b = ADDRESS(barrier);
#define FORM(axes, list)                                                                            \
    "cp.async.bulk.tensor." axes "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], " \
    "[%1, {" list "}], [%2];" ::"r"(t), "l"(map), "r"(b)
    if constexpr (AXES == 1) asm volatile(FORM("1", "%3"), "r"(at[0]) : "memory");
    if constexpr (AXES == 2) asm volatile(FORM("2", "%3, %4"), "r"(at[0]), "r"(at[1]) : "memory");
    if constexpr (AXES == 3) asm volatile(FORM("3", "%3, %4, %5"), "r"(at[0]), "r"(at[1]), "r"(at[2]) : "memory");
    if constexpr (AXES == 4)
        asm volatile(FORM("4", "%3, %4, %5, %6"), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]) : "memory");
    if constexpr (AXES == 5)
        asm volatile(FORM("5", "%3, %4, %5, %6, %7"), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
                     : "memory");
}

struct At {
    int at[5];
};

// The box at `start` as it lies in shared memory, in words.
template <int AXES>
__device__ void shown(const CUtensorMap* map, const At& start, unsigned* y, int bytes) {
    extern __shared__ __align__(1024) unsigned words[];
    __shared__ Barrier barrier;
    if (threadIdx.x == 0) {
        open(&barrier, 1);
        asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
        expect(&barrier, bytes);
        load<AXES>(words, map, start.at, &barrier);
    }
    __syncthreads();
    await(&barrier, 0);
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) y[i] = words[i];
}

#define SHOWN(axes)                                                                                           \
    extern "C" __global__ void load_##axes(const __grid_constant__ CUtensorMap map, At start, unsigned* y, int bytes) { \
        shown<axes>(&map, start, y, bytes);                                                                   \
    }
SHOWN(1)
SHOWN(2)
SHOWN(3)
SHOWN(4)
SHOWN(5)

extern "C" __global__ void load_by_pointer(const CUtensorMap* map, At start, unsigned* y, int bytes) {
    shown<2>(map, start, y, bytes);
}

// Tiles of 2D, each thread adds 1, back to another tensor.
extern "C" __global__ void add_one(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                                   int columns, int rows) {
    extern __shared__ __align__(1024) float tile[];
    __shared__ Barrier barrier;
    const int at[2] = {(int)blockIdx.x * columns, (int)blockIdx.y * rows};
    if (threadIdx.x == 0) {
        open(&barrier, 1);
        expect(&barrier, columns * rows * 4);
        load<2>(tile, &from, at, &barrier);
    }
    __syncthreads();
    await(&barrier, 0);
    for (int i = threadIdx.x; i < columns * rows; i += blockDim.x) tile[i] += 1;
    before_copies();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to),
                     "r"(at[0]), "r"(at[1]), "r"(ADDRESS(tile))
                     : "memory");
        asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&from), "r"(at[0]), "r"(at[1]));
        stored();
    }
}

// Every block adds its own numbers to the same tile; `step`: which reduction.
extern "C" __global__ void reduce_tile(const __grid_constant__ CUtensorMap to, const int* x, int words, int step) {
    extern __shared__ __align__(1024) int own[];
    for (int i = threadIdx.x; i < words; i += blockDim.x) own[i] = x[blockIdx.x * words + i];
    before_copies();
    __syncthreads();
    if (threadIdx.x) return;
#define REDUCE(op)                                                                                              \
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." #op ".tile.bulk_group [%0, {%1, %2}], [%3];" \
                 ::"l"(&to), "r"(-1), "r"(1), "r"(ADDRESS(own)) : "memory")
    switch (step) {
        case 0: REDUCE(add); break;
        case 1: REDUCE(min); break;
        case 2: REDUCE(max); break;
        case 3: REDUCE(inc); break;
        case 4: REDUCE(dec); break;
        case 5: REDUCE(and); break;
        case 6: REDUCE(or); break;
        default: REDUCE(xor);
    }
    stored();
}

#define REDUCE_ROW(name, type, words)                                                                             \
    extern "C" __global__ void name(const type* x, type* y) {                                                      \
        __shared__ __align__(16) type own[64];                                                                     \
        if (threadIdx.x < 64) own[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];                                  \
        before_copies();                                                                                           \
        __syncthreads();                                                                                           \
        if (threadIdx.x) return;                                                                                   \
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." words " [%0], [%1], %2;" ::"l"(y),       \
                     "r"(ADDRESS(own)), "r"((unsigned)sizeof(own))                                                  \
                     : "memory");                                                                                  \
        stored();                                                                                                  \
    }
REDUCE_ROW(row_add_f32, float, "add.f32")
REDUCE_ROW(row_add_f16, unsigned short, "add.noftz.f16")
REDUCE_ROW(row_add_bf16, unsigned short, "add.noftz.bf16")
REDUCE_ROW(row_max_f16, unsigned short, "max.f16")
REDUCE_ROW(row_min_s64, long long, "min.s64")
REDUCE_ROW(row_xor_b64, long long, "xor.b64")
REDUCE_ROW(row_dec_u32, unsigned, "dec.u32")

// Blocks add to the memory of the first one of their cluster.
extern "C" __global__ void __cluster_dims__(4, 1, 1) reduce_in_cluster(const unsigned* x, unsigned* y) {
    __shared__ __align__(16) unsigned own[64], sum[64];
    __shared__ Barrier barrier;
    own[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    sum[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        open(&barrier, 1);
        expect(&barrier, 4 * sizeof(own));
    }
    before_copies();
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        unsigned to, counter;
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(to) : "r"(ADDRESS(sum)));
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(counter) : "r"(ADDRESS(&barrier)));
        asm volatile(
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], [%1], %2, [%3];" ::
                "r"(to), "r"(ADDRESS(own)), "r"((unsigned)sizeof(own)), "r"(counter)
            : "memory");
    }
    if (blockIdx.x % 4 == 0) {
        await(&barrier, 0);
        y[blockIdx.x / 4 * 64 + threadIdx.x] = sum[threadIdx.x];
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// The same, a value of each thread.
extern "C" __global__ void __cluster_dims__(4, 1, 1) add_in_cluster(const unsigned* x, unsigned* y,
                                                                    unsigned long long* maxima) {
    __shared__ unsigned sum[64], most;
    __shared__ unsigned long long whole;
    __shared__ Barrier barrier;
    sum[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        most = 0;
        whole = 0;
        open(&barrier, 1);
        expect(&barrier, 4 * 64 * (4 + 4 + 8));
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    unsigned at[3], counter;
    const unsigned own[3] = {ADDRESS(&sum[threadIdx.x]), ADDRESS(&most), ADDRESS(&whole)};
    for (int k = 0; k < 3; ++k) asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(at[k]) : "r"(own[k]));
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(counter) : "r"(ADDRESS(&barrier)));
    const unsigned value = x[blockIdx.x * 64 + threadIdx.x];
#define RED(op, at, form, value)                                                                                \
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." op " [%0], %1, [%2];" ::"r"( \
                     at), form(value), "r"(counter)                                                             \
                 : "memory")
    RED("add.u32", at[0], "r", value);
    RED("max.u32", at[1], "r", value);
    RED("add.u64", at[2], "l", 1ull << 32 | value);
    if (blockIdx.x % 4 == 0) {
        await(&barrier, 0);
        y[blockIdx.x / 4 * 64 + threadIdx.x] = sum[threadIdx.x];
        if (threadIdx.x < 2) maxima[blockIdx.x / 4 * 2 + threadIdx.x] = threadIdx.x ? whole : most;
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// Each of 4 blocks loads a quarter of the box and sends it to the blocks of `mask`, all of which expect it.
extern "C" __global__ void __cluster_dims__(4, 1, 1) multicast(const __grid_constant__ CUtensorMap map, const float* x,
                                                               float* y, int mask, int expected) {
    __shared__ __align__(128) float box[4][64], line[4][32];
    __shared__ Barrier barrier;
    for (int i = threadIdx.x; i < 256; i += blockDim.x) (&box[0][0])[i] = -1;
    for (int i = threadIdx.x; i < 128; i += blockDim.x) (&line[0][0])[i] = -1;
    const int rank = blockIdx.x % 4;
    if (threadIdx.x == 0) {
        open(&barrier, 1);
        expect(&barrier, expected);
    }
    before_copies();
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
            "[%1, {%2, %3}], [%4], %5;" ::"r"(ADDRESS(box[rank])),
            "l"(&map), "r"(0), "r"(rank), "r"(ADDRESS(&barrier)), "h"((short)mask)
            : "memory");
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
            "%4;" ::"r"(ADDRESS(line[rank])),
            "l"(x + 32 * rank), "r"(128), "r"(ADDRESS(&barrier)), "h"((short)mask)
            : "memory");
    }
    await(&barrier, 0);
    for (int i = threadIdx.x; i < 256; i += blockDim.x) y[blockIdx.x * 384 + i] = (&box[0][0])[i];
    for (int i = threadIdx.x; i < 128; i += blockDim.x) y[blockIdx.x * 384 + 256 + i] = (&line[0][0])[i];
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// ---- Mistakes -----------------------------------------------------------------------------------

extern "C" __global__ void faulty(const __grid_constant__ CUtensorMap map, float* y, int expected, int offset, int opened,
                                  int from) {
    extern __shared__ __align__(1024) float box[];
    __shared__ Barrier barrier;
    const int at[2] = {0, 0};
    if (threadIdx.x == 0) {
        if (opened) open(&barrier, 1);
        if (opened) expect(&barrier, expected);
        load<2>(box + offset / 4, &map + from, at, &barrier);
    }
    __syncthreads();
    if (opened) await(&barrier, 0);
    y[threadIdx.x] = box[threadIdx.x];
}

extern "C" __global__ void unwritten(const __grid_constant__ CUtensorMap map) {
    extern __shared__ __align__(1024) float box[];
    if (threadIdx.x < 31) box[threadIdx.x] = 1;
    before_copies();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(0),
                     "r"(0), "r"(ADDRESS(box))
                     : "memory");
        stored();
    }
}

extern "C" __global__ void unwaited(const __grid_constant__ CUtensorMap map, float* y) {
    extern __shared__ __align__(1024) float box[];
    __shared__ Barrier barrier;
    const int at[2] = {0, 0};
    if (threadIdx.x == 0) open(&barrier, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&barrier, 128);
        load<2>(box, &map, at, &barrier);
    }
    y[threadIdx.x] = box[threadIdx.x % 32];
}
