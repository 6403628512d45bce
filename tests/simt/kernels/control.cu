// Paths that part and meet, calls, tables, barriers of every form.
#include <cassert>

extern "C" __global__ void collatz(const unsigned* x, int* steps, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned long long v = x[i];
    int done = 0;
    while (v > 1) {
        if (v % 2) v = 3 * v + 1;
        else v /= 2;
        ++done;
    }
    steps[i] = done;
}

extern "C" __global__ void dense_switch(const int* x, int* y, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int v = x[i], r;
    switch (v) {
        case 0: r = i * 3; break;
        case 1: r = i ^ 0x55; break;
        case 2: r = i / 7; break;
        case 3: r = __popc(i); break;
        case 4: r = __clz(i + 1); break;
        case 5: r = (int)sqrtf((float)i); break;
        case 6: r = -i;  // goes on
        case 7: r = i % 13 + 1; break;
        default: r = -1;
    }
    y[i] = r;
}

extern "C" __global__ void early_ways_out(const int* x, int* y, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int sum = 0;
    for (int k = 0; k < 20; ++k) {
        if (k == x[i]) break;
        if ((k + i) % 3 == 0) continue;
        if (sum > 60) {
            y[i] = -sum;
            return;
        }
        sum += k;
    }
    y[i] = sum;
}

extern "C" __global__ void local_array(const int* x, int* y, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int heap[16];
    for (int k = 0; k < 16; ++k) heap[k] = (k * 7 + i) % 31;
    for (int k = 0; k < 16; ++k) heap[(x[i] + k) % 16] += heap[(k * 5) % 16];
    y[i] = heap[x[i] % 16];
}

__constant__ float table[8] = {1.5f, -2.0f, 3.25f, 0.0f, 8.0f, -0.5f, 100.0f, 7.0f};
__constant__ int filled_later[4];
__device__ int counter = 41;
__device__ const float* pointer_to_table = nullptr;
__device__ double with_initialiser[3] = {0.1, 0.2, 0.3};

extern "C" __global__ void constants(const int* x, float* y, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = table[x[i] & 7] + (float)with_initialiser[i % 3] + filled_later[i & 3];
    if (i == 0) counter += 1;
    if (i == 0) y[count] = counter;
}

struct Pair {
    int first;
    double second;
    short more[6];
};

__device__ __noinline__ Pair exchanged(Pair p, int by) {
    Pair q;
    q.first = (int)p.second + by;
    q.second = p.first;
    for (int k = 0; k < 6; ++k) q.more[k] = p.more[5 - k];
    return q;
}

__device__ __noinline__ float polynomial(float x, const float* coefficients, int n) {
    float r = 0;
    for (int k = 0; k < n; ++k) r = r * x + coefficients[k];
    return r;
}

extern "C" __global__ void calls(Pair by_value, float* y, const float* coefficients, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Pair p = exchanged(by_value, i);
    if (i % 2) p = exchanged(p, 1);
    y[i] = p.first + 1000.0f * (float)p.second + p.more[i % 6] + polynomial(0.5f, coefficients, n);
}

struct Sizes {
    int extent[8];
    long long stride[8];
};

extern "C" __global__ void parameter_array(Sizes sizes, long long* y, int dimensions) {
    long long sum = 0;
    for (int k = 0; k < dimensions; ++k) sum += sizes.extent[k] * sizes.stride[(k + threadIdx.x) % 8];
    y[threadIdx.x] = sum;
}

extern "C" __global__ void grid_constant(const __grid_constant__ Sizes sizes, long long* y, int which) {
    const long long* stride = sizes.stride;
    y[threadIdx.x] = stride[(which + threadIdx.x) % 8];
}

extern "C" __global__ void votes_of_block(const int* x, int* y) {
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    int count = __syncthreads_count(v > 0), all = __syncthreads_and(v > -5), any = __syncthreads_or(v > 90);
    if (threadIdx.x == 0) y[blockIdx.x * 3] = count, y[blockIdx.x * 3 + 1] = !!all, y[blockIdx.x * 3 + 2] = !!any;
}

// Warps 0 and 1 produce, warps 2 and 3 consume, by two named barriers: full (1) and empty (2).
extern "C" __global__ void named_barriers(const int* x, int* y, int rounds) {
    __shared__ int box[64];
    int lane = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int k = 0; k < rounds; ++k) {
            if (k) asm volatile("bar.sync 2, 128;" ::: "memory");
            box[lane] = x[k * 64 + lane] * 2;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
        }
    } else {
        for (int k = 0; k < rounds; ++k) {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            y[k * 64 + lane] = box[63 - lane];
            if (k + 1 < rounds) asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
}

extern "C" __global__ void asserted(const int* x, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) assert(x[i] >= 0);
}

extern "C" __global__ void trapped(const int* x) {
    if (x[threadIdx.x] == 7) __trap();
}

extern "C" __global__ void recursion_free_goto(const int* x, int* y, int count) {  // an irreducible loop
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int v = x[i], sum = 0;
    if (v & 1) goto middle;
top:
    sum += 10;
    v -= 3;
middle:
    sum += 1;
    v -= 2;
    if (v > 0) goto top;
    y[i] = sum;
}

template <class... Rest>
__device__ int zigzag(int a, Rest... rest) {
    int all[] = {a, rest...};
    return all[threadIdx.x % (1 + sizeof...(rest))];
}
extern "C" __global__ void chosen(int* y) { y[threadIdx.x] = zigzag(3, 1, 4, 1, 5, 9, 2, 6); }
