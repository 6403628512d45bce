// Calls whose target is known only when they run, and printf.
#include <cstdio>

struct Shape {
    __device__ virtual float area(float x) const = 0;
};
struct Square : Shape {
    __device__ float area(float x) const override { return x * x; }
};
struct Box : Shape {
    float height;
    __device__ explicit Box(float h) : height(h) {}
    __device__ float area(float x) const override { return height * x; }
};

using Function = float (*)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float half_of(float x) { return x / 2; }
__device__ Function table[] = {twice, half_of};

extern "C" __global__ void from_a_table(const int* which, float* y) {
    const int i = threadIdx.x;
    y[i] = table[which[i]](i + 1.0f);
}

extern "C" __global__ void methods(const int* which, float* y) {
    const int i = threadIdx.x;
    Square square;
    Box box(3.0f);
    const Shape* shape = which[i] ? static_cast<const Shape*>(&square) : &box;
    y[i] = shape->area(i);
}

extern "C" __global__ void through(Function function, float* y) { y[threadIdx.x] = function(1.0f); }

extern "C" __global__ void says(int n) {
    if (threadIdx.x < n) {
        printf("%s %d of %u: %+6.2f|%-4c|%#llx|%5s|100%%|%hhd\n", "thread", threadIdx.x, blockDim.x, threadIdx.x * 0.5,
               'x', 1ull << 40, "ab", 7);
    }
}

extern "C" __global__ void says_nothing(int n, int* y) {
    y[threadIdx.x] = n > 1000 ? printf("never\n") : n;
}

extern "C" __global__ void counts(int* y) { y[threadIdx.x] = printf("%d%%%f;", threadIdx.x, 0.25); }
