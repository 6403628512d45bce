// A random mask, one tile per block, without the products of Philox that are known because the upper words of counters are 0.
//   mask       int8 [elements]: 1 where the element's word is at least threshold, else 0; written once
//   threshold  the share to be dropped, times 2^32; element i takes word i % 4 of counter i / 4
//   l1.., h0.. per round, from the seed: the halves of the key, joined with what is the same for all counters
//   needs      1 <= elements <= 2^34, so that counters have 32 bits
//   BLOCK      threads of a block; PACKS: packs of 16 bytes that a thread makes; HINT: see common/streamed.cuh
//   launch     grid ceil(elements / (BLOCK * PACKS * 16)), block BLOCK; no shared memory
//   moves      nothing in, one byte per element out
// One of the 20 products per counter is 0, and one is the same for all counters. The limit is not memory but the other 18
// products, and as many three-way xors, per 4 bytes. A mask that does not begin at a multiple of 16 bytes is written byte by
// byte.   Origin: written here.
#include "common/streamed.cuh"

constexpr unsigned MULTIPLIER_0 = 0xD2511F53u, MULTIPLIER_1 = 0xCD9E8D57u;

// {x, y, z, w} of counter {counter, 0, 0, 0} after ten rounds. Each round xors x with an element of `low` and z with one of
// `high`. They are operands from the constant bank; computing the keys would cost an addition each.
__device__ __forceinline__ uint4 philox_32(unsigned counter, const int (&low)[9], const int (&high)[10]) {
  // Round 0 has one product that is not 0; round 1 has one besides that of the key, which `high` contains.
  const unsigned long long first = static_cast<unsigned long long>(MULTIPLIER_0) * counter;
  const unsigned z = static_cast<unsigned>(first >> 32) ^ high[0];
  const unsigned long long second = static_cast<unsigned long long>(MULTIPLIER_1) * z;
  uint4 c = {static_cast<unsigned>(second >> 32) ^ low[0], static_cast<unsigned>(second),
             static_cast<unsigned>(first) ^ high[1], 0u};
#pragma unroll
  for (int round = 2; round < 10; ++round) {
    const unsigned long long left = static_cast<unsigned long long>(MULTIPLIER_0) * c.x;
    const unsigned long long right = static_cast<unsigned long long>(MULTIPLIER_1) * c.z;
    c = {static_cast<unsigned>(right >> 32) ^ c.y ^ low[round - 1], static_cast<unsigned>(right),
         static_cast<unsigned>(left >> 32) ^ c.w ^ high[round], static_cast<unsigned>(left)};
  }
  return c;
}

// Four bytes of 0 or 1.
__device__ __forceinline__ unsigned kept(uint4 words, unsigned least) {
  return (words.x >= least ? 1u : 0u) | (words.y >= least ? 1u << 8 : 0u) | (words.z >= least ? 1u << 16 : 0u) |
         (words.w >= least ? 1u << 24 : 0u);
}

#define KEYS                                                                                                       \
  int l1, int l2, int l3, int l4, int l5, int l6, int l7, int l8, int l9, int h0, int h1, int h2, int h3, int h4, \
      int h5, int h6, int h7, int h8, int h9
#define LOW {l1, l2, l3, l4, l5, l6, l7, l8, l9}
#define HIGH {h0, h1, h2, h3, h4, h5, h6, h7, h8, h9}

extern "C" __global__ __launch_bounds__(BLOCK) void random_mask_short_rounds_i8(signed char* mask, long long elements,
                                                                                long long threshold, KEYS) {
  constexpr int Size = 16;  // elements of a pack, from four counters
  const unsigned least = static_cast<unsigned>(threshold);  // below 2^32
  const int low[9] = LOW, high[10] = HIGH;
  const bool aligned = are_aligned<16>(mask);
  const long long first = static_cast<long long>(blockIdx.x) * (BLOCK * PACKS) + threadIdx.x;  // pack of this thread
#pragma unroll
  for (int k = 0; k < PACKS; ++k) {
    const long long element = (first + k * BLOCK) * Size;
    if (element >= elements) return;
    const unsigned counter = static_cast<unsigned>(element / 4);
    alignas(16) unsigned quads[4];
#pragma unroll
    for (int quad = 0; quad < 4; ++quad) quads[quad] = kept(philox_32(counter + quad, low, high), least);
    if (aligned && element + Size <= elements) {
      store_once<HINT>(reinterpret_cast<uint4*>(mask + element), *reinterpret_cast<const uint4*>(quads));
    } else {
#pragma unroll
      for (int j = 0; j < Size; ++j)
        if (element + j < elements) mask[element + j] = static_cast<signed char>(quads[j / 4] >> (j % 4 * 8));
    }
  }
}
