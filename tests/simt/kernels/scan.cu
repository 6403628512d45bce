// The inclusive scan of Hillis and Steele, as in GPU Gems 3, chapter 39, written anew: `scan` with two buffers, and
// `scan_in_place`, its well-known mistake, in which a thread overwrites what its neighbour still has to read.
extern __shared__ float buffer[];

extern "C" __global__ void scan(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    float* from = buffer;
    float* to = buffer + n;
    from[i] = x[blockIdx.x * n + i];
    __syncthreads();
    for (int step = 1; step < n; step *= 2) {
        to[i] = i < step ? from[i] : from[i] + from[i - step];
        __syncthreads();
        float* const other = from;
        from = to;
        to = other;
    }
    y[blockIdx.x * n + i] = from[i];
}

extern "C" __global__ void scan_in_place(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    buffer[i] = x[blockIdx.x * n + i];
    __syncthreads();
    for (int step = 1; step < n; step *= 2) {
        if (i >= step) {
            buffer[i] += buffer[i - step];
        }
        __syncthreads();
    }
    y[blockIdx.x * n + i] = buffer[i];
}
