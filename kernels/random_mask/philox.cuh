// Philox4x32-10, a generator without a state: four random words from a counter and a key.
//   counter   128 bits, of which the lower 64 are used here
//   key       64 bits: the seed
// J. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (2011); constants are theirs.
#pragma once

struct PhiloxWords {
  unsigned words[4];
};

__device__ __forceinline__ PhiloxWords philox(unsigned long long counter, unsigned long long key) {
  constexpr unsigned MULTIPLIERS[2] = {0xD2511F53u, 0xCD9E8D57u};
  constexpr unsigned WEYL[2] = {0x9E3779B9u, 0xBB67AE85u};  // what a round adds to the key
  PhiloxWords c = {{static_cast<unsigned>(counter), static_cast<unsigned>(counter >> 32), 0u, 0u}};
  unsigned low = static_cast<unsigned>(key), high = static_cast<unsigned>(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned long long first = static_cast<unsigned long long>(MULTIPLIERS[0]) * c.words[0];
    const unsigned long long second = static_cast<unsigned long long>(MULTIPLIERS[1]) * c.words[2];
    c = {{static_cast<unsigned>(second >> 32) ^ c.words[1] ^ low, static_cast<unsigned>(second),
          static_cast<unsigned>(first >> 32) ^ c.words[3] ^ high, static_cast<unsigned>(first)}};
    low += WEYL[0];
    high += WEYL[1];
  }
  return c;
}
