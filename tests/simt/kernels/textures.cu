// Fetches from textures and accesses to surfaces.
extern "C" __global__ void fetch_1d(cudaTextureObject_t t, float* y, int first) {
    y[threadIdx.x] = tex1Dfetch<float>(t, first + threadIdx.x);
}

extern "C" __global__ void sample_1d(cudaTextureObject_t t, const float* at, float* y) {
    y[threadIdx.x] = tex1D<float>(t, at[threadIdx.x]);
}

extern "C" __global__ void sample_2d(cudaTextureObject_t t, const float2* at, float* y) {
    y[threadIdx.x] = tex2D<float>(t, at[threadIdx.x].x, at[threadIdx.x].y);
}

extern "C" __global__ void pixels(cudaTextureObject_t t, uchar4* y) {
    const int i = threadIdx.x;
    y[i] = tex2D<uchar4>(t, i % 8 + 0.5f, i / 8 + 0.5f);
}

extern "C" __global__ void fractions(cudaTextureObject_t t, float4* y) {
    const int i = threadIdx.x;
    y[i] = tex2D<float4>(t, i % 8 + 0.5f, i / 8 + 0.5f);
}

extern "C" __global__ void whole(cudaTextureObject_t t, int* y) { y[threadIdx.x] = tex1D<int>(t, threadIdx.x); }

extern "C" __global__ void moved(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    float2 pair;
    surf2Dread(&pair, from, threadIdx.x * 8, threadIdx.y);
    surf2Dwrite(make_float2(pair.y, pair.x), to, threadIdx.x * 8, threadIdx.y);
}

extern "C" __global__ void at_edges(cudaSurfaceObject_t s, short* y) {
    const int x = 2 * (static_cast<int>(threadIdx.x) - 4);
    y[threadIdx.x] = surf1Dread<short>(s, x, cudaBoundaryModeClamp);
    y[threadIdx.x + 32] = surf1Dread<short>(s, x, cudaBoundaryModeZero);
    surf1Dwrite(static_cast<short>(7), s, x - 56, cudaBoundaryModeZero);
}

extern "C" __global__ void outside(cudaSurfaceObject_t s) { surf1Dwrite(1.0f, s, 4 * threadIdx.x); }
