// Counts the marks of a launch in a map of sectors, reading only its pages with marks.
#include <cstring>

#include "core.hpp"

using namespace simt;

namespace {

constexpr u64 FRESH = 0x0101010101010101ull;  // eight marks of this launch
constexpr u64 OLD = FRESH << 1;
constexpr u64 PAGE = u64(1) << PAGE_SHIFT;

u64 take_page(u8* marks, bool keep) {
    u64 total = 0;
    for (u64 k = 0; k < PAGE; k += 8) {
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

}  // namespace

// Number of sectors whose mark is 1, in a map of `count` whole pages. These marks become 2 if `keep`, else 0.
extern "C" u64 simt_take_marks(u8* marks, u8* pages, u64 count, u32 keep) {
    u64 total = 0;
    for (u64 page = 0; page < count; ++page) {
        if (pages[page]) {
            total += take_page(marks + page * PAGE, keep);
            pages[page] = u8(keep);
        }
    }
    return total;
}
