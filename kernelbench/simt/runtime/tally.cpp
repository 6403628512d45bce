// How many sectors of global memory and passes over the banks of shared memory an access takes. The rules are those
// that Nsight Compute shows on an H200; tests/simt/test_counters.py compares them with its figures.
#include <algorithm>

#include "access.hpp"

namespace simt {

namespace {

constexpr u32 BANKS = 32;
constexpr u32 WORD_SHIFT = 2;
constexpr u32 WAVEFRONT_BYTES = 128;
constexpr u32 LINE_SHIFT = 7;

// Sorts up to 32 numbers, which are mostly in order already, and says how many differ.
u32 distinct(u64* values, u32 count) {
    for (u32 k = 1; k < count; ++k) {
        const u64 value = values[k];
        u32 place = k;
        for (; place && values[place - 1] > value; --place) {
            values[place] = values[place - 1];
        }
        values[place] = value;
    }
    return u32(std::unique(values, values + count) - values);
}

template <class Key>
u32 distinct_keys(u32 lanes, Key key) {
    u64 values[LANES];
    u32 count = 0;
    each_lane(lanes, [&](int lane) {
        const u64 value = key(lane);
        if (!count || values[count - 1] != value) {
            values[count++] = value;
        }
    });
    return distinct(values, count);
}

// Whether no bank is asked twice, which is common and quickly seen.
bool banks_differ(const u64* offsets, u32 lanes, u32 words_a_lane) {
    u32 asked = 0, again = 0;
    const u32 width = (words_a_lane == 1 ? 1u : words_a_lane == 2 ? 3u : 15u);
    for (u32 left = lanes; left; left &= left - 1) {
        const u32 banks = width << ((offsets[first_lane(left)] >> WORD_SHIFT) % BANKS);
        again |= asked & banks;
        asked |= banks;
    }
    return !again;
}

// Passes of a group of lanes that are served together: the most different words that one bank must give.
u32 passes(const u64* offsets, u32 lanes, u32 words_a_lane) {
    if (words_a_lane <= 4 && banks_differ(offsets, lanes, words_a_lane)) {
        return 1;
    }
    u64 words[BANKS][BANKS];
    u32 held[BANKS] = {};
    u32 most = 0;
    each_lane(lanes, [&](int lane) {
        for (u32 k = 0; k < words_a_lane; ++k) {
            const u64 word = (offsets[lane] >> WORD_SHIFT) + k;
            const u32 bank = word % BANKS;
            u64* seen = words[bank];
            if (std::find(seen, seen + held[bank], word) == seen + held[bank]) {
                seen[held[bank]++] = word;
                most = std::max(most, held[bank]);
            }
        }
    });
    return most;
}

// Atomics on a bank are done one lane after the other, even on one word.
u32 atomic_passes(const u64* offsets, u32 lanes, u32 words_a_lane) {
    u32 held[BANKS] = {};
    each_lane(lanes, [&](int lane) {
        for (u32 k = 0; k < words_a_lane; ++k) {
            ++held[((offsets[lane] >> WORD_SHIFT) + k) % BANKS];
        }
    });
    return *std::max_element(held, held + BANKS);
}

// Whether no pair of neighbouring lanes reads two addresses: then twice as many lanes are served together.
bool paired(const u64* offsets, u32 lanes) {
    for (u32 lane = 0; lane < LANES; lane += 2) {
        if ((lanes >> lane & 3) == 3 && offsets[lane] != offsets[lane + 1]) {
            return false;
        }
    }
    return true;
}

// Of lanes on the same address only the first.
u32 first_of_each(const u64* addresses, u32 lanes) {
    u32 found = 0;
    each_lane(lanes, [&](int lane) {
        bool known = false;
        each_lane(u32(found), [&](int before) { known |= addresses[before] == addresses[lane]; });
        found |= u32(!known) << lane;
    });
    return found;
}

// Two bits that decide which lines an atomic serves together.
u32 line_group(u64 address) {
    const u32 line = u32(address >> LINE_SHIFT);
    return (line ^ line >> 2 ^ (line & 16 ? 3 : 0)) & 3;
}

// Lanes whose line is in the group of the first lane's.
u32 lanes_of_group(const u64* addresses, u32 lanes) {
    const u32 group = line_group(addresses[first_lane(lanes)]);
    u32 found = 0;
    each_lane(lanes, [&](int lane) { found |= u32(line_group(addresses[lane]) == group) << lane; });
    return found;
}

// The first lane on the line of `lane`.
int leader(const u64* addresses, u32 lanes, int lane) {
    int found = lane;
    each_lane(lanes, [&](int other) {
        found = other < found && addresses[other] >> LINE_SHIFT == addresses[lane] >> LINE_SHIFT ? other : found;
    });
    return found;
}

// Which of the lanes that could be in one pass must wait for the next.
u32 waiting_lanes(const u64* addresses, u32 lanes) {
    u32 waiting = 0;
    each_lane(lanes, [&](int lane) {
        const u32 before = lanes & ((1u << lane) - 1);
        each_lane(before, [&](int other) {
            const u64 apart = addresses[lane] ^ addresses[other];
            if (apart % WAVEFRONT_BYTES >> WORD_SHIFT) {
                return;  // another bank
            }
            waiting |= 1u << lane;
            if (leader(addresses, lanes, other) < leader(addresses, lanes, lane)) {
                each_lane(lanes, [&](int mate) {
                    waiting |= u32((addresses[mate] ^ addresses[lane]) >> SECTOR_SHIFT == 0) << mate;
                });
            }
        });
    });
    return waiting;
}

}  // namespace

u32 count_sectors(const u64* addresses, u32 lanes) {
    return distinct_keys(lanes, [&](int lane) { return addresses[lane] >> SECTOR_SHIFT; });
}

u32 count_distinct(const u64* addresses, u32 lanes) {
    return distinct_keys(lanes, [&](int lane) { return addresses[lane]; });
}

// Atomics go in passes. Of lanes on one address only the first can be in a pass; lines of 128 bytes whose numbers are
// alike (line_group) share one, and there no bank is used twice: the lane after waits. If the lane that it waits for
// is of a line that came first, its whole sector waits. A sector counts in each pass that it is in.
u32 count_atomic_sectors(const u64* addresses, u32 lanes) {
    u32 total = 0;
    for (u32 left = lanes; left;) {
        const u32 together = first_of_each(addresses, lanes_of_group(addresses, left));
        const u32 pass = together & ~waiting_lanes(addresses, together);
        total += count_sectors(addresses, pass);
        left &= ~pass;
    }
    return total;
}

u32 count_wavefronts(const u64* offsets, u32 lanes, u32 bytes, Purpose purpose) {
    const u32 words = std::max(bytes >> WORD_SHIFT, 1u);
    u32 group = LANES / words;  // lanes that fill the banks once
    if (words > 1 && purpose == Purpose::read && paired(offsets, lanes)) {
        group *= 2;
    }
    u32 total = 0;
    for (u32 first = 0; first < LANES; first += group) {
        const u32 members = group == LANES ? lanes : lanes & (((1u << group) - 1) << first);
        if (members) {
            total += purpose == Purpose::update ? atomic_passes(offsets, members, words)
                                                : passes(offsets, members, words);
        }
    }
    return total;
}

u32 count_ideal_wavefronts(const u64* offsets, u32 lanes, u32 bytes) {
    if (bytes <= 4) {
        return 1;
    }
    return (count_distinct(offsets, lanes) * bytes + WAVEFRONT_BYTES - 1) / WAVEFRONT_BYTES;
}

// Local memory is laid out so that one word of all lanes is 128 contiguous bytes.
u32 count_local_sectors(const u64* offsets, u32 lanes, u32 bytes) {
    const u32 words = std::max(bytes >> WORD_SHIFT, 1u);
    return words * distinct_keys(lanes, [&](int lane) {
        return (offsets[lane] >> WORD_SHIFT) * 4 + u64(lane) / 8;
    });
}

Shape shape_of(const u64* addresses, u32 bytes) {
    const u64 first = addresses[0];
    u64 apart = 0, differ = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        differ |= addresses[lane] ^ first;
        apart |= addresses[lane] ^ (first + u64(lane) * bytes);
    }
    return !apart ? Shape::contiguous : !differ ? Shape::uniform : Shape::scattered;
}

}  // namespace simt
