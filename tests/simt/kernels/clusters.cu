// sm_90: barriers in shared memory, stores to other blocks that they count, bulk copies; blocks that wait for each other.
#define ADDRESS(place) static_cast<unsigned>(__cvta_generic_to_shared(place))

using Barrier = unsigned long long;

__device__ void open(Barrier* barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDRESS(barrier)), "r"(arrivals) : "memory");
}

__device__ void expect(Barrier* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(ADDRESS(barrier)), "r"(bytes)
                 : "memory");
}

__device__ bool over(Barrier* barrier, unsigned parity) {
    unsigned found;
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(found)
        : "r"(ADDRESS(barrier)), "r"(parity)
        : "memory");
    return found;
}

__device__ void await(Barrier* barrier, unsigned parity) {
    while (!over(barrier, parity)) {
    }
}

__device__ unsigned at_block(const void* place, unsigned rank) {
    unsigned address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(ADDRESS(place)), "r"(rank));
    return address;
}

__device__ void cluster_open() {
    asm volatile("fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Each of 4 blocks sends 32 pairs to the next, `turns` times; the sums of all that came by.
extern "C" __global__ void __cluster_dims__(4, 1, 1) ring(const float2* x, float2* y, int turns, int bytes) {
    __shared__ float2 inbox[2][32];
    __shared__ Barrier come;
    if (threadIdx.x == 0) open(&come, 1);
    cluster_open();
    const unsigned next = (blockIdx.x + 1) % 4;
    float2 value = x[blockIdx.x * 32 + threadIdx.x], sum = value;
    for (int turn = 0; turn < turns; ++turn) {
        if (threadIdx.x == 0) expect(&come, bytes);
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(
                         at_block(&inbox[turn % 2][threadIdx.x], next)),
                     "f"(value.x), "f"(value.y), "r"(at_block(&come, next))
                     : "memory");
        await(&come, turn % 2);
        value = inbox[turn % 2][threadIdx.x];
        sum.x += value.x;
        sum.y += value.y;
        asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    }
    y[blockIdx.x * 32 + threadIdx.x] = sum;
}

// Values of 4, 8 and 16 bytes to the block's own memory.
extern "C" __global__ void widths(const unsigned* x, unsigned* y) {
    __shared__ alignas(16) unsigned place[8];
    __shared__ Barrier come;
    if (threadIdx.x == 0) {
        open(&come, 1);
        expect(&come, 28);
        const unsigned to = at_block(place, 0), barrier = at_block(&come, 0);
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                     "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(barrier) : "memory");
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0+16], %1, [%2];" ::"r"(to),
                     "l"(x[4] | static_cast<unsigned long long>(x[5]) << 32), "r"(barrier) : "memory");
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0+24], %1, [%2];" ::"r"(to), "r"(x[6]),
                     "r"(barrier) : "memory");
    }
    __syncthreads();
    await(&come, 0);
    if (threadIdx.x < 7) y[threadIdx.x] = place[threadIdx.x];
}

// A value that comes before it is expected: over before, over after, the value.
extern "C" __global__ void early(const unsigned* x, unsigned* y) {
    __shared__ alignas(8) unsigned place;
    __shared__ Barrier come;
    open(&come, 1);
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(at_block(&place, 0)), "r"(x[0]),
                 "r"(at_block(&come, 0)) : "memory");
    y[0] = over(&come, 0);
    expect(&come, 4);
    y[1] = over(&come, 0);
    y[2] = *static_cast<volatile unsigned*>(&place);
}

// Warp 0 hands a value to warps 1 to 3 and waits until they have taken it, `turns` times.
extern "C" __global__ void phases(const int* x, int* y, int turns) {
    __shared__ int value;
    __shared__ Barrier full, empty;
    if (threadIdx.x == 0) {
        open(&full, 1);
        open(&empty, 96);
    }
    __syncthreads();
    int sum = 0;
    for (int turn = 0; turn < turns; ++turn) {
        if (threadIdx.x < 32) {
            await(&empty, (turn + 1) % 2);  // before the first phase the one before it counts as over
            if (threadIdx.x == 0) {
                value = x[turn];
                asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(ADDRESS(&full)) : "memory");
            }
        } else {
            await(&full, turn % 2);
            sum += value;
            asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.release.cta.shared::cta.b64 state, [%0];\n}" ::"r"(ADDRESS(&empty))
                         : "memory");
        }
    }
    y[threadIdx.x] = sum;
}

// Warp 1 reads what warp 0 wrote, after it has waited for it or not.
extern "C" __global__ void hasty(const int* x, int* y, int patient) {
    __shared__ int values[32];
    __shared__ Barrier full;
    if (threadIdx.x == 0) open(&full, 32);
    __syncthreads();
    if (threadIdx.x < 32) {
        values[threadIdx.x] = x[threadIdx.x];
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(ADDRESS(&full)) : "memory");
    } else {
        if (patient) await(&full, 0);
        y[threadIdx.x - 32] = values[63 - threadIdx.x];
    }
}

// What one thread sees of states: counts that are pending, phases over and not, an arrival that drops out.
extern "C" __global__ void states(unsigned* y) {
    __shared__ Barrier barrier;
    unsigned long long state;
    unsigned found;
    const unsigned at = ADDRESS(&barrier);
    open(&barrier, 3);
    for (int k = 0; k < 4; ++k) {
        asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(found) : "l"(state));
        y[2 * k] = found;
        asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(found) : "r"(at), "l"(state) : "memory");
        y[2 * k + 1] = found;
    }
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];\nmbarrier.arrive.shared::cta.b64 _, [%0], 1;" ::"r"(at) : "memory");
    y[8] = over(&barrier, 1);  // the second phase is over, and the third expects two
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 2;" ::"r"(at) : "memory");
    y[9] = over(&barrier, 0);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 8;\nmbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 8;" ::"r"(at) : "memory");
    y[10] = over(&barrier, 1);
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at) : "memory");
}

// x through shared memory to y, both ways in bulk, `offset` bytes beside a multiple of 16, `bytes` long.
extern "C" __global__ void bulk(const float* x, float* y, int offset, int bytes) {
    __shared__ alignas(128) float tile[256];
    __shared__ Barrier come;
    if (threadIdx.x == 0) {
        open(&come, 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        expect(&come, bytes);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(ADDRESS(tile)),
                     "l"(reinterpret_cast<const char*>(x + blockIdx.x * 256) + offset), "r"(bytes), "r"(ADDRESS(&come)) : "memory");
    }
    __syncthreads();
    await(&come, 0);
    tile[threadIdx.x] *= 2;
    tile[threadIdx.x + 128] *= 2;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;\n"
                     "cp.async.bulk.wait_group.read 0;" ::"l"(y + blockIdx.x * 256), "r"(ADDRESS(tile)), "r"(bytes) : "memory");
    }
}

// Block 1 gets what block 0 copies to it.
extern "C" __global__ void __cluster_dims__(2, 1, 1) bulk_to_block(const float4* x, float4* y) {
    __shared__ float4 own[32], come[32];
    __shared__ Barrier counted;
    if (threadIdx.x == 0) {
        open(&counted, 1);
        expect(&counted, 512);
    }
    own[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
    asm volatile("fence.proxy.async;" ::: "memory");
    cluster_open();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(
                         at_block(come, (blockIdx.x ^ 1) % 2)), "r"(ADDRESS(own)), "r"(at_block(&counted, (blockIdx.x ^ 1) % 2)) : "memory");
    await(&counted, 0);
    y[blockIdx.x * 32 + threadIdx.x] = come[threadIdx.x];
    cluster_open();
}

// Mistakes, by number.
extern "C" __global__ void __cluster_dims__(2, 1, 1) wrong(int mistake) {
    __shared__ alignas(16) Barrier barriers[4];
    const unsigned at = ADDRESS(barriers);
    if (threadIdx.x == 0 && mistake != 0) open(barriers, 1);
    cluster_open();
    if (threadIdx.x || blockIdx.x) return;
    if (mistake == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
    if (mistake == 1) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at + 4) : "memory");
    if (mistake == 2) {
        *reinterpret_cast<volatile int*>(barriers) = 7;
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
    }
    if (mistake == 3) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 2;" ::"r"(at) : "memory");
    if (mistake == 4)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], 1, [%1];" ::"r"(at_block(barriers + 2, 1)),
                     "r"(at) : "memory");
    if (mistake == 5)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], 1, [%1];" ::"r"(at_block(barriers + 4, 1)),
                     "r"(at_block(barriers, 1)) : "memory");
    if (mistake == 6) asm volatile("mbarrier.init.shared::cta.b64 [%0], 0;" ::"r"(at + 8) : "memory");
    if (mistake == 7) asm volatile("mbarrier.inval.shared::cta.b64 [%0];\nmbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
}

// Block b waits for the flag of block b + 1; the last one raises the first. `way`: how it asks.
extern "C" __global__ void relay(unsigned* flags, unsigned* y, int way) {
    const unsigned last = gridDim.x - 1;
    if (threadIdx.x == 0 && blockIdx.x < last) {
        unsigned* flag = flags + blockIdx.x + 1;
        unsigned seen = 0;
        while (seen == 0) {
            if (way == 0) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
            if (way == 1) asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
            if (way == 2) seen = *static_cast<volatile unsigned*>(flag);
            if (way == 3) seen = atomicAdd(flag, 0);
            if (way == 4) {
                __nanosleep(100);
                asm volatile("ld.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
            }
        }
        y[blockIdx.x] = seen;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flags + blockIdx.x), "r"(blockIdx.x + 1) : "memory");
}

// Blocks take tickets; each leaves its own, waits until all of its group have, and adds up what they left.
extern "C" __global__ void groups(unsigned* next, unsigned* come, unsigned* left, unsigned* sums, unsigned group) {
    if (threadIdx.x) return;
    const unsigned ticket = atomicAdd(next, 1), number = ticket / group;
    left[ticket] = ticket + 1;
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(come + number) : "memory");
    unsigned seen = 0, sum = 0;
    while (seen < group) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(come + number) : "memory");
    for (unsigned k = 0; k < group; ++k) sum += __ldcg(left + number * group + k);
    sums[blockIdx.x] = sum;
}

// 16 bytes in one piece: exchanged, compared with what is not there and with what is, read and written.
extern "C" __global__ void wide(ulonglong2* slot, ulonglong2* y) {
    asm volatile(
        "{\n.reg .b128 given, turned, before;\n.reg .b64 low, high;\n"
        "mov.b128 given, {%2, %3};\nmov.b128 turned, {%3, %2};\n"
        "atom.acq_rel.gpu.global.exch.b128 before, [%0], given;\n"
        "mov.b128 {low, high}, before;\nst.relaxed.gpu.global.v2.b64 [%1], {low, high};\n"
        "atom.relaxed.gpu.global.cas.b128 before, [%0], before, turned;\n"
        "mov.b128 {low, high}, before;\nst.relaxed.gpu.global.v2.b64 [%1+16], {low, high};\n"
        "atom.relaxed.gpu.global.cas.b128 before, [%0], given, turned;\n"
        "ld.acquire.gpu.global.b128 before, [%0];\nst.release.gpu.global.b128 [%1+32], before;\n}" ::"l"(slot),
        "l"(y), "l"(11ull), "l"(22ull) : "memory");
}
