// Counts the marks of a launch in a map of sectors, without touching untouched pages.
#include <cstring>

#include "core.hpp"

using namespace simt;

namespace {

constexpr u64 FRESH = 0x0101010101010101ull;  // eight marks of this launch
constexpr u64 OLD = FRESH << 1;

constexpr u64 STEP = 256;  // bytes tested together, because most of a large map is 0

bool any(const u8* marks) {
    u64 words[STEP / 8];
    std::memcpy(words, marks, STEP);
    u64 together = 0;
    for (u64 word : words) {
        together |= word;
    }
    return together != 0;
}

}  // namespace

// Number of sectors among `count` (a multiple of 8) whose mark is 1. These marks become 2 if `keep`, else 0.
extern "C" u64 simt_take_marks(u8* marks, u64 count, u32 keep) {
    u64 total = 0;
    for (u64 k = 0; k < count; k += 8) {
        while (k % STEP == 0 && k + STEP <= count && !any(marks + k)) {
            k += STEP;
        }
        if (k >= count) {
            break;
        }
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
