// Branches, loops, a switch and inline assembly: flow.ptx is what nvcc 13.0 makes of this for sm_90
//   nvcc -ptx -arch=sm_90 -O3 -std=c++17 -lineinfo flow.cu
extern "C" __global__ void early(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __shared__ float kept[32];
    kept[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = kept[31 - threadIdx.x];
}

extern "C" __global__ void nested(float* y, int n) {
    int i = threadIdx.x;
    if (i & 1) {
        if (i > n) return;
        y[i] *= 2;
    }
    __syncthreads();
    for (int j = i; j < n; j += 7) y[j] += 1;
    y[i] += y[n];
}

extern "C" __global__ void table(int* y, int n) {
    switch (n) {
        case 0: y[1] = clock(); break;
        case 1: __syncthreads(); y[2] = 3; break;
        case 2: y[3] *= y[9]; break;
        case 3: y[4] = __ffs(y[5]); break;
        case 4: __threadfence(); break;
        case 5: y[y[4]] = 3;
        case 6: y[9] = __popc(y[3]); break;
        case 7: y[4] += atomicAdd(y, 3); break;
    }
    y[n] = 1;
}

extern "C" __global__ void endless(volatile int* y) {
    while (true) {
        y[0] += 1;
        if (y[3]) for (;;) y[4] = 9;
    }
}

extern "C" __global__ void __launch_bounds__(128, 4) assembly(unsigned* y, unsigned n) {
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(y));
#pragma unroll
    for (int i = 0; i < 2; i++)
        asm volatile(
            "{\n\t.reg .pred P1;\n\tWAIT:\n\tmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n\t@P1 bra DONE;\n\t"
            "bra WAIT;\n\tDONE:\n\t}" ::"r"(address), "r"(n + i));
    asm volatile("{ .reg .b32 t<3>; mov.b32 t0, %1; add.s32 t1,t0,0x10; shl.b32 t2, t1, 0b11; mov.b32 %0, t2; }"
                 : "=r"(n) : "r"(n));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%0];"
                 ::"r"(address), "l"(y), "r"(1), "r"(n) : "memory");
    asm volatile("fence.proxy.async.shared::cta; /* both ; on one line */ griddepcontrol.wait; // and ; here {");
    y[0] = n + __shfl_xor_sync(~0u, n, 1);
}
