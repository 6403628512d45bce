// Floor and ceilings of a GPU: an empty kernel, and kernels that only copy, read, write, or add two arrays.
//   in      16-byte packs [packs], for add [2 * packs]; read once, but not by write
//   out     16-byte packs [packs]; must not overlap in; written once, but not by read
//   needs   nothing: the last, partial tile is checked against the end
//   launch  grid ceil(packs / (256 * PACKS)), block 256, no shared memory
//   moves   a pack: copy 32 bytes, read and write 16, add 48.   Origin: written here.
// limits_l2_*: the same, many times over data that fits the L2, without the L1.
//   in, out 16-byte packs [packs], fewer than 2^31; what is written to out does not matter
//   needs   packs >= threads of the grid
//   launch  as many blocks of 256 as run at once
//   moves   4 * rounds packs per thread: read and write 16 bytes each, copy 32.
// PACKS: loads per thread in flight before its first store. `stream`: loads and stores marked as used once, so that they do
// not push other data out of the caches.

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

template <int PACKS>
__device__ __forceinline__ void write_tile(uint4* out, long long packs) {
  const long long first = static_cast<long long>(blockIdx.x) * 256 * PACKS + threadIdx.x;
#pragma unroll
  for (int i = 0; i < PACKS; ++i) {
    const long long pack = first + i * 256;
    if (pack < packs) out[pack] = make_uint4(pack, i, threadIdx.x, blockIdx.x);
  }
}

// Joins what it reads, and stores for a result that no data gives, so that the compiler cannot leave the loads out.
template <int PACKS>
__device__ __forceinline__ void read_tile(const uint4* in, uint4* out, long long packs) {
  const long long first = static_cast<long long>(blockIdx.x) * 256 * PACKS + threadIdx.x;
  uint4 held[PACKS];
#pragma unroll
  for (int i = 0; i < PACKS; ++i) {
    const long long pack = first + i * 256;
    held[i] = pack < packs ? in[pack] : make_uint4(0, 0, 0, 0);
  }
  unsigned joined = 0;
#pragma unroll
  for (int i = 0; i < PACKS; ++i) joined |= held[i].x & held[i].y & held[i].z & held[i].w;
  if (joined == 0xffffffffu) out[0] = held[0];  // in is finite floats: never all bits set
}

template <int PACKS>
__device__ __forceinline__ void add_tile(const uint4* in, uint4* out, long long packs) {
  const long long first = static_cast<long long>(blockIdx.x) * 256 * PACKS + threadIdx.x;
  uint4 a[PACKS], b[PACKS];
#pragma unroll
  for (int i = 0; i < PACKS; ++i) {
    const long long pack = first + i * 256;
    if (pack >= packs) continue;
    a[i] = in[pack];
    b[i] = in[packs + pack];
  }
#pragma unroll
  for (int i = 0; i < PACKS; ++i) {
    const long long pack = first + i * 256;
    if (pack < packs) out[pack] = make_uint4(a[i].x ^ b[i].x, a[i].y ^ b[i].y, a[i].z ^ b[i].z, a[i].w ^ b[i].w);
  }
}

template <bool READ, bool WRITE>
__device__ __forceinline__ void l2_rounds(const uint4* in, uint4* out, int packs, int rounds) {
  constexpr int PACKS = 4;
  const int threads = gridDim.x * blockDim.x;
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned joined = 0;
  for (int round = 0; round < rounds; ++round) {
    uint4 held[PACKS];
    int pack[PACKS];
#pragma unroll
    for (int i = 0; i < PACKS; ++i) {
      pack[i] = at;
      held[i] = READ ? __ldcg(in + at) : make_uint4(at, i, round, 0);
      at += threads;
      if (at >= packs) at -= packs;
    }
#pragma unroll
    for (int i = 0; i < PACKS; ++i) {
      if (WRITE) __stcg(out + pack[i], held[i]);
      else joined += held[i].x ^ held[i].y ^ held[i].z ^ held[i].w;
    }
  }
  if (!WRITE && joined == 0x9e3779b9u) out[0] = make_uint4(joined, 0, 0, 0);  // so that the loads are not left out
}

extern "C" __global__ void limits_empty() {}

extern "C" __global__ void limits_l2_read(const uint4* in, uint4* out, int packs, int rounds) { l2_rounds<true, false>(in, out, packs, rounds); }
extern "C" __global__ void limits_l2_write(const uint4* in, uint4* out, int packs, int rounds) { l2_rounds<false, true>(in, out, packs, rounds); }
extern "C" __global__ void limits_l2_copy(const uint4* in, uint4* out, int packs, int rounds) { l2_rounds<true, true>(in, out, packs, rounds); }

extern "C" __global__ void limits_copy_1(const uint4* in, uint4* out, long long packs) { copy_tile<1, false>(in, out, packs); }
extern "C" __global__ void limits_copy_2(const uint4* in, uint4* out, long long packs) { copy_tile<2, false>(in, out, packs); }
extern "C" __global__ void limits_copy_4(const uint4* in, uint4* out, long long packs) { copy_tile<4, false>(in, out, packs); }
extern "C" __global__ void limits_copy_8(const uint4* in, uint4* out, long long packs) { copy_tile<8, false>(in, out, packs); }
extern "C" __global__ void limits_stream_1(const uint4* in, uint4* out, long long packs) { copy_tile<1, true>(in, out, packs); }
extern "C" __global__ void limits_stream_2(const uint4* in, uint4* out, long long packs) { copy_tile<2, true>(in, out, packs); }
extern "C" __global__ void limits_stream_4(const uint4* in, uint4* out, long long packs) { copy_tile<4, true>(in, out, packs); }
extern "C" __global__ void limits_stream_8(const uint4* in, uint4* out, long long packs) { copy_tile<8, true>(in, out, packs); }
extern "C" __global__ void limits_write_1(const uint4* in, uint4* out, long long packs) { write_tile<1>(out, packs); }
extern "C" __global__ void limits_write_2(const uint4* in, uint4* out, long long packs) { write_tile<2>(out, packs); }
extern "C" __global__ void limits_write_4(const uint4* in, uint4* out, long long packs) { write_tile<4>(out, packs); }
extern "C" __global__ void limits_write_8(const uint4* in, uint4* out, long long packs) { write_tile<8>(out, packs); }
extern "C" __global__ void limits_read_1(const uint4* in, uint4* out, long long packs) { read_tile<1>(in, out, packs); }
extern "C" __global__ void limits_read_2(const uint4* in, uint4* out, long long packs) { read_tile<2>(in, out, packs); }
extern "C" __global__ void limits_read_4(const uint4* in, uint4* out, long long packs) { read_tile<4>(in, out, packs); }
extern "C" __global__ void limits_read_8(const uint4* in, uint4* out, long long packs) { read_tile<8>(in, out, packs); }
extern "C" __global__ void limits_add_1(const uint4* in, uint4* out, long long packs) { add_tile<1>(in, out, packs); }
extern "C" __global__ void limits_add_2(const uint4* in, uint4* out, long long packs) { add_tile<2>(in, out, packs); }
extern "C" __global__ void limits_add_4(const uint4* in, uint4* out, long long packs) { add_tile<4>(in, out, packs); }
extern "C" __global__ void limits_add_8(const uint4* in, uint4* out, long long packs) { add_tile<8>(in, out, packs); }
