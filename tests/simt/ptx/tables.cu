// Module-scope variables of every kind: tables.ptx is what nvcc 13.0 makes of this for sm_90
//   nvcc -ptx -arch=sm_90 -O3 -std=c++17 -lineinfo tables.cu
struct __attribute__((packed)) Packed {
    char tag;
    int* where;
    short last;
};

__constant__ float weights[4] = {1.0f, -2.0f, 3.5f, 0.0f};
__constant__ double limits[2] = {1.0, 2.5};
__device__ int grid[2][3] = {{1, 2, 3}, {4}};
__device__ int zeros[5];
__device__ Packed packed = {1, &grid[0][1], 5};
__device__ int* const rows[3] = {&grid[0][0], nullptr, &grid[1][0]};
__device__ const char* message = "hello";
__device__ double half = 0.5;
__device__ unsigned long long ones = 0xffffffffffffffffull;
__constant__ int* pointed = &grid[1][2];
extern __shared__ float dynamic[];

extern "C" __global__ void tables(float* y, int i) {
    dynamic[threadIdx.x] = weights[i] + grid[i & 1][i % 3] + *rows[i] + message[i];
    y[threadIdx.x] = dynamic[31 - threadIdx.x] + *packed.where + packed.last + zeros[i] + half + ones + *pointed;
    y[0] += limits[i];
}
