// Copies that a thread asks for and waits for later; whole grids and clusters that wait for each other.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

extern "C" __global__ void pipeline(const float4* x, float4* y, int tiles) {  // two stages, 128 threads
    __shared__ float4 stage[2][128];
    const float4* from = x + (size_t)blockIdx.x * tiles * 128;
    float4* to = y + (size_t)blockIdx.x * tiles * 128;
    __pipeline_memcpy_async(&stage[0][threadIdx.x], &from[threadIdx.x], 16);
    __pipeline_commit();
    for (int k = 0; k < tiles; ++k) {
        if (k + 1 < tiles) __pipeline_memcpy_async(&stage[(k + 1) % 2][threadIdx.x], &from[(k + 1) * 128 + threadIdx.x], 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = stage[k % 2][127 - threadIdx.x];
        to[k * 128 + threadIdx.x] = make_float4(v.x * 2, v.y * 2, v.z * 2, v.w * 2);
        __syncthreads();
    }
}

extern "C" __global__ void zero_filled(const float* x, float* y, int count) {  // the tail of a 16-byte copy is zeros
    __shared__ float4 stage[32];
    int i = threadIdx.x * 4, left = max(0, min(4, count - i));
    __pipeline_memcpy_async(&stage[threadIdx.x], x + (left ? i : 0), 16, 16 - 4 * left);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    reinterpret_cast<float4*>(y)[threadIdx.x] = stage[threadIdx.x];
}

extern "C" __global__ void grid_sum(const int* x, int* partial, int* y, int count) {  // blocks of a warp
    auto grid = cg::this_grid();
    int sum = 0;
    for (int i = grid.thread_rank(); i < count; i += grid.size()) sum += x[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    for (int round = 0; round < 3; ++round) {
        if (threadIdx.x == 0) partial[blockIdx.x] = sum + round;
        grid.sync();
        int total = 0;
        for (int b = 0; b < gridDim.x; ++b) total += partial[b];
        grid.sync();
        if (threadIdx.x == 0) y[round * gridDim.x + blockIdx.x] = total;
    }
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_exchange(const int* x, int* y) {
    __shared__ int own[64];
    auto cluster = cg::this_cluster();
    own[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    cluster.sync();
    int* other = cluster.map_shared_rank(own, cluster.block_rank() ^ 1);
    y[blockIdx.x * 64 + threadIdx.x] = other[63 - threadIdx.x] + (int)cluster.num_blocks();
    cluster.sync();
}
#endif
