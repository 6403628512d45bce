// Device functions that are called, not inlined by nvcc: calls.ptx is what nvcc 13.0 makes of this for sm_90
//   nvcc -ptx -arch=sm_90 -O3 -std=c++17 -lineinfo calls.cu
#include <cassert>
#include <cstdio>

struct Triple {
    float x, y, z;
};

extern "C" __device__ __noinline__ float scaled(float value, int times) { return value * times; }

extern "C" __device__ __noinline__ Triple turned(Triple t, int steps) {
    if (steps & 1) return {t.y, t.z, t.x};
    return {t.z, t.x, t.y};
}

extern "C" __device__ __noinline__ float picked(const float* x, int index) {
    __shared__ float kept[32];
    float own[8];
    for (int i = 0; i < 8; i++) own[i] = scaled(x[i], index);
    kept[threadIdx.x] = own[index & 7];
    __syncthreads();
    return kept[31 - threadIdx.x];
}

extern "C" __device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1) + factorial(n - 2); }

extern "C" __global__ void calls(float* y, const float* x) {
    Triple t = turned({x[0], x[1], x[2]}, threadIdx.x);
    y[threadIdx.x] = picked(x, threadIdx.x) + scaled(t.x, 3) - t.y;
}

extern "C" __global__ void guarded(float* y, int n) {
    assert(n < 1000);
    if (threadIdx.x < n) y[threadIdx.x] = scaled(y[threadIdx.x], n);
}

extern "C" __global__ void recursive(int* y) { y[0] = factorial(y[1]); }

extern "C" __global__ void prints(int* y) { printf("%d\n", y[0]); }

__device__ float (*const functions[2])(float, int) = {scaled, scaled};

extern "C" __global__ void indirect(float* y, int n) { y[0] = functions[n](y[1], n); }

extern "C" __global__ void allocates(int** y) { y[0] = static_cast<int*>(malloc(4)); }
