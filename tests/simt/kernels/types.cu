// Arithmetic of many types: half, bfloat16, long integers, libm in float and double.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half_packs(const uint4* x, uint4* y, int packs) {  // 8 halves at a time: x * 2 + 1
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= packs) return;
    uint4 v = x[i];
    __half2* h = reinterpret_cast<__half2*>(&v);
    for (int k = 0; k < 4; ++k) h[k] = __hfma2(h[k], __float2half2_rn(2.0f), __float2half2_rn(1.0f));
    y[i] = v;
}

extern "C" __global__ void half_mix(const __half* x, const __half* y, __half* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    __half a = x[i], b = y[i];
    __half r = __hmul(__hadd(a, b), __hsub(a, b));
    r = __hgt(a, b) ? r : __hneg(r);
    out[i] = __hmax(r, __hmin(a, b));
    out[count + i] = __hdiv(a, b);
    out[2 * count + i] = __float2half(__half2float(a) * 3.0f);
    out[3 * count + i] = __int2half_rn(__half2int_rz(a));
}

extern "C" __global__ void bfloat_mix(const __nv_bfloat16* x, const __nv_bfloat16* y, __nv_bfloat16* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    __nv_bfloat16 a = x[i], b = y[i];
    out[i] = __hadd(a, b);
    out[count + i] = __hmul(a, b);
    out[2 * count + i] = __float2bfloat16(__bfloat162float(a) * 3.0f);
    out[3 * count + i] = __hmax(a, b);
    __nv_bfloat162 two = __hmul2(__halves2bfloat162(a, b), __halves2bfloat162(b, b));
    out[4 * count + i] = __low2bfloat16(two);
    out[5 * count + i] = __high2bfloat16(two);
}

extern "C" __global__ void half_sums(const __half2* x, float* y) {  // one warp a row of 64
    __half2 v = x[blockIdx.x * 32 + threadIdx.x];
    for (int step = 16; step > 0; step /= 2) v = __hadd2(v, __shfl_xor_sync(0xffffffff, v, step));
    if (threadIdx.x == 0) y[blockIdx.x] = __low2float(v) + __high2float(v);
}

extern "C" __global__ void long_integers(const long long* x, const long long* y, long long* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long a = x[i], b = y[i];
    unsigned long long u = a, w = b;
    out[i] = a / b;
    out[count + i] = a % b;
    out[2 * count + i] = u / w;
    out[3 * count + i] = a * b;
    out[4 * count + i] = __mul64hi(a, b);
    out[5 * count + i] = __umul64hi(u, w);
    out[6 * count + i] = (a << (b & 63)) ^ (a >> (b & 31)) ^ (long long)(u >> (b & 63));
    out[7 * count + i] = __clzll(a) + 100 * __popcll(b) + 10000 * __ffsll(a) + (__brevll(u) & 0xff) * 1000000;
    out[8 * count + i] = (a < b) + 2 * (u < w) + 4 * (a == b);
    out[9 * count + i] = (long long)((unsigned __int128)u * w >> 64) + (int)a + (short)b + (signed char)a;
}

extern "C" __global__ void integers(const int* x, const int* y, int* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int a = x[i], b = y[i];
    out[i] = a / b;
    out[count + i] = a % b;
    out[2 * count + i] = (unsigned)a / (unsigned)b;
    out[3 * count + i] = __mulhi(a, b) + __umulhi(a, b);
    out[4 * count + i] = __funnelshift_l(a, b, b) ^ __funnelshift_r(a, b, a);
    out[5 * count + i] = __byte_perm(a, b, 0x6145) + __sad(a, b, 3u);
    out[6 * count + i] = min(a, b) ^ max((unsigned)a, (unsigned)b) ^ abs(a);
    out[7 * count + i] = __vadd4(a, b) ^ __vmaxs2(a, b) ^ __dp4a(a, b, 1);
    out[8 * count + i] = __brev(a) ^ __ffs(b) ^ (int)__float2int_rn((float)a);
    out[9 * count + i] = (int)((unsigned char)a * (signed char)b) + (short)a;
}

extern "C" __global__ void libm_float(const float* x, float* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float v = x[i];
    float results[] = {expf(v),  logf(fabsf(v)), sinf(v),       cosf(v),     tanhf(v),          powf(fabsf(v), 1.7f),
                       erff(v),  sqrtf(fabsf(v)), rsqrtf(fabsf(v)), cbrtf(v), atan2f(v, 0.5f),  fmodf(v, 0.3f),
                       expm1f(v), log1pf(fabsf(v)), roundf(v),    floorf(v),   __fdividef(v, 3.0f), lgammaf(fabsf(v) + 0.5f)};
    for (int k = 0; k < 18; ++k) out[k * count + i] = results[k];
}

extern "C" __global__ void libm_double(const double* x, double* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    double v = x[i];
    double results[] = {exp(v), log(fabs(v)), sin(v),         cos(v),     tanh(v),      pow(fabs(v), 1.7),
                        erf(v), sqrt(fabs(v)), rsqrt(fabs(v)), cbrt(v),    fmod(v, 0.3), v / 3.0,
                        1 / v,  fma(v, v, 1.0), rint(v),        (float)v,   (double)(int)v, (double)(long long)(v * 1e6)};
    for (int k = 0; k < 18; ++k) out[k * count + i] = results[k];
}

extern "C" __global__ void dynamic_angles(const float* x, float* out, int count) {  // sinf far from 0: the slow path
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = sinf(x[i] * 1e6f);
}
