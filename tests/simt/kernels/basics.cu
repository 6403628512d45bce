// Elementwise kernels, tiles, trees: what most published kernels are made of.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void saxpy(int count, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void three_axes(int* out) {  // each thread writes where it is
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] = threadIdx.x + 100 * threadIdx.y + 10000 * threadIdx.z + 1000000 * blockIdx.z;
}

template <int PADDING>
__device__ void transpose(const float* x, float* y, int side) {
    __shared__ float tile[32][32 + PADDING];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = x[(row + k) * side + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) y[(row + k) * side + column] = tile[threadIdx.x][threadIdx.y + k];
}
extern "C" __global__ void transpose_unpadded(const float* x, float* y, int side) { transpose<0>(x, y, side); }
extern "C" __global__ void transpose_padded(const float* x, float* y, int side) { transpose<1>(x, y, side); }

__device__ float load_or_zero(const float* x, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    return i < count ? x[i] : 0.0f;
}

extern "C" __global__ void sum_modulo(const float* x, float* partial, int count) {
    extern __shared__ float values[];
    values[threadIdx.x] = load_or_zero(x, count);
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        if (threadIdx.x % (2 * step) == 0) values[threadIdx.x] += values[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = values[0];
}

extern "C" __global__ void sum_strided(const float* x, float* partial, int count) {
    extern __shared__ float values[];
    values[threadIdx.x] = load_or_zero(x, count);
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        int i = 2 * step * threadIdx.x;
        if (i < blockDim.x) values[i] += values[i + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = values[0];
}

extern "C" __global__ void sum_sequential(const float* x, float* partial, int count) {
    extern __shared__ float values[];
    values[threadIdx.x] = load_or_zero(x, count);
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) values[threadIdx.x] += values[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = values[0];
}

extern "C" __global__ void sum_last_warp(const float* x, float* partial, int count) {
    extern __shared__ float values[];
    values[threadIdx.x] = load_or_zero(x, count);
    __syncthreads();
    for (int step = blockDim.x / 2; step > 32; step /= 2) {
        if (threadIdx.x < step) values[threadIdx.x] += values[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        volatile float* last = values;
        float sum = last[threadIdx.x] + last[threadIdx.x + 32];
        last[threadIdx.x] = sum;
        for (int step = 16; step > 0; step /= 2) {
            __syncwarp();
            float other = threadIdx.x < step ? last[threadIdx.x + step] : 0.0f;
            __syncwarp();
            last[threadIdx.x] = sum += other;
        }
        if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    }
}

extern "C" __global__ void sum_shuffle(const float* x, float* partial, int count) {
    __shared__ float warps[32];
    float sum = load_or_zero(x, count);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0f;
        for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
        if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    }
}

extern "C" __global__ void sum_tiled(const int* x, int* total, int count) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int i = block.group_index().x * block.size() + block.thread_rank();
    int sum = i < count ? x[i] : 0;
    for (int step = tile.size() / 2; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
    if (tile.thread_rank() == 0) atomicAdd(total, sum);
}

__device__ float warp_all_max(float v) {
    for (int step = 16; step > 0; step /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, step));
    return v;
}
__device__ float warp_all_sum(float v) {
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffff, v, step);
    return v;
}

extern "C" __global__ void softmax_warp(const float4* x, float4* y, int rows) {  // rows of 128
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float4 v = x[row * 32 + threadIdx.x];
    float most = warp_all_max(fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    v = make_float4(expf(v.x - most), expf(v.y - most), expf(v.z - most), expf(v.w - most));
    float sum = warp_all_sum(v.x + v.y + v.z + v.w);
    y[row * 32 + threadIdx.x] = make_float4(v.x / sum, v.y / sum, v.z / sum, v.w / sum);
}

extern "C" __global__ void softmax_block(const float* x, float* y, int columns) {
    extern __shared__ float row[];
    __shared__ float shared[32];
    x += (size_t)blockIdx.x * columns, y += (size_t)blockIdx.x * columns;
    float most = -INFINITY;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) most = fmaxf(most, row[c] = x[c]);
    most = warp_all_max(most);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = most;
    __syncthreads();
    most = warp_all_max(threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : -INFINITY);
    __syncthreads();
    float sum = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c] = __expf(row[c] - most);
    sum = warp_all_sum(sum);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = warp_all_sum(threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : 0.0f);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) y[c] = row[c] / sum;
}
