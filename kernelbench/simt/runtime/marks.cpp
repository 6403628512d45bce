// Counting what a launch marked in a map of sectors. Untouched pages of a map stay untouched.
#include <cstring>

#include "core.hpp"

using namespace simt;

namespace {

constexpr u64 FRESH = 0x0101010101010101ull;  // eight marks of this launch
constexpr u64 OLD = FRESH << 1;

}  // namespace

// How many of `count` sectors (a multiple of 8) are marked 1. Their marks become 2 (`keep`: marked before), or 0.
extern "C" u64 simt_take_marks(u8* marks, u64 count, u32 keep) {
    u64 total = 0;
    for (u64 k = 0; k < count; k += 8) {
        u64 word;
        std::memcpy(&word, marks + k, 8);
        if (word & FRESH) {
            total += u64(__builtin_popcountll(word & FRESH));
            word = keep ? (word & OLD) | (word & FRESH) << 1 : 0;
            std::memcpy(marks + k, &word, 8);
        }
    }
    return total;
}
