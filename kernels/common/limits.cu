// Floor and ceiling of a GPU: an empty kernel, and copies of which the best is the ceiling.
//   in      16-byte packs [packs]; read once
//   out     16-byte packs [packs]; must not overlap in; written once
//   needs   nothing: a last, partial tile is copied with a bound
//   launch  grid ceil(packs / (256 * PACKS)), block 256, no shared memory
//   moves   32 bytes a pack.   Origin: written here.
// PACKS: loads that a thread has in flight before its first store. `stream`: loads and stores marked as
// used once, so that they do not push other data out of the caches.

template <int PACKS, bool STREAM>
__device__ __forceinline__ void copy_tile(const uint4* in, uint4* out, long long packs) {
  constexpr int BLOCK = 256;
  const long long first = static_cast<long long>(blockIdx.x) * BLOCK * PACKS + threadIdx.x;
  uint4 held[PACKS];
#pragma unroll
  for (int i = 0; i < PACKS; ++i) {
    const long long pack = first + i * BLOCK;
    if (pack < packs) held[i] = STREAM ? __ldcs(in + pack) : in[pack];
  }
#pragma unroll
  for (int i = 0; i < PACKS; ++i) {
    const long long pack = first + i * BLOCK;
    if (pack >= packs) continue;
    if (STREAM) __stcs(out + pack, held[i]);
    else out[pack] = held[i];
  }
}

extern "C" __global__ void limits_empty() {}

extern "C" __global__ void limits_copy_1(const uint4* in, uint4* out, long long packs) { copy_tile<1, false>(in, out, packs); }
extern "C" __global__ void limits_copy_2(const uint4* in, uint4* out, long long packs) { copy_tile<2, false>(in, out, packs); }
extern "C" __global__ void limits_copy_4(const uint4* in, uint4* out, long long packs) { copy_tile<4, false>(in, out, packs); }
extern "C" __global__ void limits_copy_8(const uint4* in, uint4* out, long long packs) { copy_tile<8, false>(in, out, packs); }
extern "C" __global__ void limits_stream_1(const uint4* in, uint4* out, long long packs) { copy_tile<1, true>(in, out, packs); }
extern "C" __global__ void limits_stream_2(const uint4* in, uint4* out, long long packs) { copy_tile<2, true>(in, out, packs); }
extern "C" __global__ void limits_stream_4(const uint4* in, uint4* out, long long packs) { copy_tile<4, true>(in, out, packs); }
extern "C" __global__ void limits_stream_8(const uint4* in, uint4* out, long long packs) { copy_tile<8, true>(in, out, packs); }
