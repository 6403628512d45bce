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

extern "C" __global__ void sample_3d(cudaTextureObject_t t, const float4* at, float* y) {
    const float4 place = at[threadIdx.x];
    y[threadIdx.x] = tex3D<float>(t, place.x, place.y, place.z);
}

extern "C" __global__ void sample_layers(cudaTextureObject_t flat, cudaTextureObject_t line, const float2* at, float* y) {
    const int i = threadIdx.x, layer = i % 5 - 1;
    y[i] = tex2DLayered<float>(flat, at[i].x, at[i].y, layer);
    y[i + blockDim.x] = tex1DLayered<float>(line, at[i].x, layer);
}

extern "C" __global__ void of_level(cudaTextureObject_t t, const float2* at, float* y) {
    y[threadIdx.x] = tex2DLod<float>(t, at[threadIdx.x].x, at[threadIdx.x].y, 0.0f);
}

extern "C" __global__ void moved_3d(cudaSurfaceObject_t from, cudaSurfaceObject_t to, cudaSurfaceObject_t layers) {
    float value;
    surf3Dread(&value, from, threadIdx.x * 4, threadIdx.y, threadIdx.z);
    surf3Dwrite(value + 1, to, threadIdx.x * 4, threadIdx.y, threadIdx.z);
    surf2DLayeredwrite(value + 2, layers, threadIdx.x * 4, threadIdx.y, threadIdx.z);
    surf3Dwrite(9.0f, to, threadIdx.x * 4, threadIdx.y, threadIdx.z + 5, cudaBoundaryModeZero);
}
