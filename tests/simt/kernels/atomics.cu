// Atomics in shared and global memory, and what is built from them.
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void histogram_global(const unsigned char* x, unsigned* bins, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(&bins[x[i]], 1u);
}

extern "C" __global__ void histogram_shared(const unsigned char* x, unsigned* bins, int count) {
    __shared__ unsigned own[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) own[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&bins[k], own[k]);
}

extern "C" __global__ void max_by_cas(const float* x, float* most, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int* bits = (int*)most;
    int old = *bits, seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= x[i]) break;
        old = atomicCAS(bits, seen, __float_as_int(x[i]));
    } while (old != seen);
}

extern "C" __global__ void every_atomic(const int* x, int* y, unsigned* u, unsigned long long* w, float* f, double* d) {
    int v = x[threadIdx.x];
    y[16 + threadIdx.x] = atomicAdd(y, v);
    atomicSub(y + 1, v);
    atomicMin(y + 2, v), atomicMax(y + 3, v);
    atomicAnd(y + 4, v), atomicOr(y + 5, v), atomicXor(y + 6, v);
    atomicExch(y + 7, v);
    atomicMin(u, (unsigned)v), atomicMax(u + 1, (unsigned)v);
    atomicInc(u + 2, 20u), atomicDec(u + 3, 20u);
    atomicAdd(w, (unsigned long long)(long long)v * 1000003ull);
    atomicMax((long long*)w + 1, (long long)v << 33);
    atomicCAS(w + 2, 5ull, 77ull);
    atomicAdd(f, (float)v), atomicAdd(d, v * 0.25);
}

// The last block to finish adds up what all blocks left behind.
__device__ unsigned finished = 0;
extern "C" __global__ void sum_last_block(const float* x, float* partial, float* total, int count) {
    __shared__ float values[256];
    __shared__ bool last;
    int i = blockIdx.x * 256 + threadIdx.x;
    values[threadIdx.x] = i < count ? x[i] : 0.0f;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step) values[threadIdx.x] += values[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = values[0];
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += ((volatile float*)partial)[b];
        *total = sum;
    }
}

__device__ int lock = 0;
extern "C" __global__ void spin_lock(int* shared_count, int rounds) {
    if (threadIdx.x == 0)
        for (int k = 0; k < rounds; ++k) {
            while (atomicCAS(&lock, 0, 1) != 0) {
            }
            __threadfence();
            *(volatile int*)shared_count = *(volatile int*)shared_count + 1;
            __threadfence();
            atomicExch(&lock, 0);
        }
}

__device__ int turn = 0;
extern "C" __global__ void in_turn(int* order) {  // each block waits for the one before
    if (threadIdx.x == 0) {
        while (((volatile int*)&turn)[0] != blockIdx.x) {
        }
        order[blockIdx.x] = blockIdx.x * blockIdx.x;
        __threadfence();
        atomicAdd(&turn, 1);
    }
}

extern "C" __global__ void standard_atomics(int* y, int* flag) {
    cuda::atomic_ref<int, cuda::thread_scope_device> total(*y);
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    total.fetch_add(threadIdx.x, cuda::std::memory_order_relaxed);
    __syncthreads();
    if (threadIdx.x == 0) ready.store(total.load(cuda::std::memory_order_acquire), cuda::std::memory_order_release);
}

extern "C" __global__ void generic_atomic(int* y, int where) {  // the address may be shared or global
    __shared__ int own;
    if (threadIdx.x == 0) own = 0;
    __syncthreads();
    int* target = (where + blockIdx.x) % 2 ? &own : y;
    atomicAdd(target, (int)threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) y[1 + blockIdx.x] = own;
}

extern "C" __global__ void narrow_atomics(const __half2* x, __half2* h2, __half* h, __nv_bfloat16* b) {
    __half2 v = x[threadIdx.x];
    atomicAdd(h2, v);
    atomicAdd(h, __low2half(v));
    atomicAdd(b, __float2bfloat16(__high2float(v)));
}
