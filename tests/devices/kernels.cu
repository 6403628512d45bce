extern "C" __global__ void twice(const float* x, float* y, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
extern "C" __global__ void too_far(const float* x, float* y, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i <= n) y[i] = 2.0f * x[i];
}
extern "C" __global__ void misses_one(const float* x, float* y, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n && i != 5) y[i] = 2.0f * x[i];
}
extern "C" __global__ void endless(const float* x, float* y, long long n) {
    volatile float* flag = y;
    while (*flag != 1.0f) *flag = x[0];
}
extern "C" __global__ void takes_hours(const float* x, float* y, long long n) {
    unsigned drawn = threadIdx.x;
    for (long long k = 0; k < n << 40; ++k) drawn = (drawn ^ drawn >> 7) * 1664525u + 1;
    y[threadIdx.x] = x[0] + drawn;
}
extern "C" __global__ void halves(const float* x, float* t, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) t[i] = 0.5f * x[i];
}
extern "C" __global__ void adds(float* y, const float* t, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = t[i] + y[i];
}
extern "C" __global__ void reversed(const float* t, float* y, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 4.0f * t[n - 1 - i];
}
extern "C" __global__ void gathers(const float* t, float* y, long long n) {
    y[threadIdx.x] = 4.0f * t[n / blockDim.x * threadIdx.x];
}
extern "C" __global__ void race(const float* x, float* y, long long n) {
    __shared__ float s[256];
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    s[threadIdx.x] = 0.0f;
    __syncthreads();
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    float other = s[threadIdx.x ^ 32];
    if (i < n) y[i] = 2.0f * x[i] + 0.0f * other;
}
extern "C" __global__ void count(const float* x, unsigned* y, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(y + (x[i] > 0.0f), 1u);
}
extern "C" __global__ void clear(unsigned* come) { *come = 0; }
extern "C" __global__ void together(const float* x, float* y, float* t, unsigned* come, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) t[i] = 0.5f * x[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(come, 1u);
        while (*(volatile unsigned*)come < gridDim.x) {}
    }
    __syncthreads();
    if (i < n) y[n - 1 - i] = 4.0f * ((volatile float*)t)[n - 1 - i];
}

// A loop over the grid: some blocks go round once more than others.
extern "C" __global__ void looped(const float* x, float* y, long long size) {
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += (long long)gridDim.x * blockDim.x)
    y[i] = 2.0f * x[i];
}
