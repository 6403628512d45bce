// Functions that call themselves: directly, through others, through pointers, with structures, arrays and printf.
#include <cstdio>

extern "C" __device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void tree(const int* x, int* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = fibonacci(x[i]) + i;
}

extern "C" __device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

extern "C" __global__ void nested(const int* m, const int* n, int* y) {
    int i = threadIdx.x;
    if (i % 3 == 1) return;
    y[i] = ackermann(m[i], n[i]);
}

// Mutual: the lanes of a warp are in both at once.
extern "C" __device__ __noinline__ float odd(float x, int n);
extern "C" __device__ __noinline__ float even(float x, int n) { return n == 0 ? x : 2 * odd(x + 1, n - 1) + n; }
extern "C" __device__ __noinline__ float odd(float x, int n) { return n == 0 ? -x : 3 - even(x / 2, n - 1); }

extern "C" __global__ void mutual(const float* x, float* y) {
    int i = threadIdx.x;
    y[i] = i % 2 ? odd(x[i], i % 7) : even(x[i], i % 7);
}

// Sorts its part of shared memory; every second lane is at another depth.
extern "C" __device__ __noinline__ void sort(int* x, int low, int high) {
    if (low >= high) return;
    int pivot = x[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (x[i] < pivot) ++i;
        while (x[j] > pivot) --j;
        if (i <= j) {
            int kept = x[i];
            x[i++] = x[j];
            x[j--] = kept;
        }
    }
    sort(x, low, j);
    sort(x, i, high);
}

extern "C" __global__ void sorted(int* x, int n) { sort(x + (size_t)threadIdx.x * n, 0, n - 1); }

struct Shape {
    long long area;
    float sides[3];
    short depth;
};

extern "C" __device__ __noinline__ Shape halved(Shape one) {
    float kept[4];
    for (int k = 0; k < 4; ++k) kept[k] = one.sides[k % 3] * (k + 1);
    if (one.depth == 3) return one;
    Shape next = one;
    next.area *= 3;
    next.sides[one.depth % 3] += kept[(one.depth + threadIdx.x) % 4];
    ++next.depth;
    Shape last = halved(next);
    last.area += (long long)kept[threadIdx.x % 4];
    return last;
}

extern "C" __global__ void structures(const float* x, long long* area, float* sides) {
    int i = threadIdx.x;
    Shape found = halved({i, {x[i], x[i] + 1, x[i] + 2}, 0});
    area[i] = found.area;
    for (int k = 0; k < 3; ++k) sides[3 * i + k] = found.sides[k];
}

// Virtual methods of a tree of nodes that holds itself.
struct Node {
    __device__ virtual int value(int depth) const = 0;
};
struct Leaf : Node {
    int own;
    __device__ Leaf(int own) : own(own) {}
    __device__ int value(int depth) const override { return own * depth; }
};
struct Pair : Node {
    const Node *left, *right;
    __device__ Pair(const Node* left, const Node* right) : left(left), right(right) {}
    __device__ int value(int depth) const override { return left->value(depth + 1) - right->value(depth + 1); }
};

extern "C" __global__ void virtual_tree(const int* x, int* y) {
    int i = threadIdx.x;
    Leaf a(x[i]), b(x[i] + 5);
    Pair one(&a, &b), two(&one, &a);
    y[i] = (i % 2 ? two : one).value(1);
}

extern "C" __device__ __noinline__ void tell(int n) {
    if (n == 0) return;
    tell(n - 1);
    printf("%d of %d\n", n, (int)threadIdx.x);
}

extern "C" __global__ void told() { tell(threadIdx.x); }

extern "C" __device__ __noinline__ int endless(int n) { return endless(n + 1) + n; }

extern "C" __global__ void overflows(int* y) {
    if (threadIdx.x % 2) y[threadIdx.x] = endless(threadIdx.x);
    else y[threadIdx.x] = 5;
}

// Lanes that wait for each other inside of it.
extern "C" __device__ __noinline__ int together(int n, int* flag) {
    if (n > 0) return together(n - 1, flag) + __shfl_xor_sync(0xffffffff, n + (int)threadIdx.x, 1);
    __syncwarp();
    if (threadIdx.x == 0)
        while (atomicAdd(flag, 0) == 0) {}
    else if (threadIdx.x == 31)
        atomicExch(flag, 1);
    return threadIdx.x;
}

extern "C" __global__ void meets(int* flag, int* y) { y[threadIdx.x] = together(3, flag); }

extern "C" __device__ __noinline__ int leaves(int n, int* y) {
    if (n == (int)threadIdx.x % 4) asm("exit;");
    if (n == 0) return 1;
    return 2 * leaves(n - 1, y) + n % 2;
}

extern "C" __global__ void some_exit(int* y) {
    y[threadIdx.x] = 7;
    int found = leaves(threadIdx.x < 16 ? 2 : 3, y);
    y[threadIdx.x] = found + (threadIdx.x % 4 == 3 ? leaves(2, y) : 0);
}
