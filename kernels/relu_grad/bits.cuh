// Masks of one bit per element.
//   order   element i is bit i % 8 of byte i / 8, and so, on this little-endian device, bit i % 32 of word i / 32
#pragma once

__device__ __forceinline__ bool bit_of(const unsigned char* mask, long long i) { return mask[i / 8] >> (i % 8) & 1; }
