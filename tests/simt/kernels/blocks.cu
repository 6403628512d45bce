// Block and warp primitives of CUB.
#include <cub/cub.cuh>

extern "C" __global__ void block_reduce(const int* x, int* y) {
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage storage;
    int sum = Reduce(storage).Sum(x[blockIdx.x * 128 + threadIdx.x]);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" __global__ void block_scan(const int* x, int* y) {
    using Scan = cub::BlockScan<int, 128>;
    __shared__ typename Scan::TempStorage storage;
    int v = x[blockIdx.x * 128 + threadIdx.x];
    Scan(storage).InclusiveSum(v, v);
    y[blockIdx.x * 128 + threadIdx.x] = v;
}

extern "C" __global__ void block_sort(const int* x, int* y) {
    using Sort = cub::BlockRadixSort<int, 128, 4>;
    using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union {
        typename Sort::TempStorage sort;
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } storage;
    int keys[4];
    Load(storage.load).Load(x + blockIdx.x * 512, keys);
    __syncthreads();
    Sort(storage.sort).Sort(keys);
    __syncthreads();
    Store(storage.store).Store(y + blockIdx.x * 512, keys);
}

extern "C" __global__ void warp_reduce(const float* x, float* y) {
    using Reduce = cub::WarpReduce<float>;
    __shared__ typename Reduce::TempStorage storage[4];
    int warp = threadIdx.x / 32;
    float most = Reduce(storage[warp]).Reduce(x[blockIdx.x * 128 + threadIdx.x], cuda::maximum<>{});
    if (threadIdx.x % 32 == 0) y[blockIdx.x * 4 + warp] = most;
}
