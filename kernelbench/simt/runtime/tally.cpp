// Counts the sectors (global memory) and wavefronts (shared memory) of an access. tests/simt/test_launch_counters.py compares
// the rules with figures of Nsight Compute on an H200.
#include <algorithm>

#include "access.hpp"

namespace simt {

namespace {

constexpr u32 BANKS = 32;
constexpr u32 WORD_SHIFT = 2;
constexpr u32 WAVEFRONT_BYTES = 128;
constexpr u32 LINE_SHIFT = 7;
constexpr u32 LINE_GROUPS = 4;

// Sorts up to 32 numbers, which are mostly in order already, and counts the distinct ones.
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

// Whether no bank is accessed twice, which is common and fast to test.
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

// Passes of lanes that are served together: the largest number of distinct words in one bank.
u32 passes(const u64* offsets, u32 lanes, u32 words_a_lane) {
    if (words_a_lane <= 4 && banks_differ(offsets, lanes, words_a_lane)) {
        return 1;
    }
    u64 lowest = ~u64(0), highest = 0;  // rows: words of all banks
    each_lane(lanes, [&](int lane) {
        lowest = std::min(lowest, (offsets[lane] >> WORD_SHIFT) / BANKS);
        highest = std::max(highest, ((offsets[lane] >> WORD_SHIFT) + words_a_lane - 1) / BANKS);
    });
    u32 most = 0;
    if (highest - lowest < 64) {
        u64 rows[BANKS] = {};  // by bank, a bit for each
        each_lane(lanes, [&](int lane) {
            for (u32 k = 0; k < words_a_lane; ++k) {
                const u64 word = (offsets[lane] >> WORD_SHIFT) + k;
                rows[word % BANKS] |= u64(1) << (word / BANKS - lowest);
            }
        });
        for (const u64 row : rows) {
            most = std::max(most, u32(__builtin_popcountll(row)));
        }
        return most;
    }
    u64 words[BANKS][BANKS];
    u32 held[BANKS] = {};
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

// Atomics on one bank are serialised, even on one word.
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

// The first lane of each address.
u32 first_of_each(const u64* addresses, u32 lanes) {
    u32 found = 0;
    each_lane(lanes, [&](int lane) {
        bool known = false;
        each_lane(u32(found), [&](int before) { known |= addresses[before] == addresses[lane]; });
        found |= u32(!known) << lane;
    });
    return found;
}

// Two bits that determine which lines share the passes of an atomic.
u32 line_group(u64 address) {
    const u32 line = u32(address >> LINE_SHIFT);
    return (line ^ line >> 2 ^ (line & 16 ? 3 : 0)) & 3;
}

// Lanes of one line per item, in the order in which an atomic processes them.
struct Queue {
    u32 items[LANES];
    u32 count = 0;

    void add(u32 lanes) {
        if (lanes) {
            items[count++] = lanes;
        }
    }
};

Queue lines_of_group(const u64* addresses, u32 lanes, u32 group) {
    Queue found;
    u32 left = lanes_if(lanes, [&](int lane) { return line_group(addresses[lane]) == group; });
    while (left) {
        const u64 line = addresses[first_lane(left)] >> LINE_SHIFT;
        found.add(lanes_if(left, [&](int lane) { return addresses[lane] >> LINE_SHIFT == line; }));
        left &= ~found.items[found.count - 1];
    }
    return found;
}

// Lanes that lose their bank to a lower lane: `held` to one of an earlier item, together with their whole sector;
// `beaten` to one of their own item or of a later item.
struct Losers {
    u32 held = 0;
    u32 beaten = 0;
};

Losers losers(const u64* addresses, const Queue& queue, u32 lanes) {
    u32 item_of[LANES] = {};
    for (u32 k = 0; k < queue.count; ++k) {
        each_lane(queue.items[k], [&](int lane) { item_of[lane] = k; });
    }
    Losers found;
    each_lane(lanes, [&](int lane) {
        each_lane(lanes & ((1u << lane) - 1), [&](int other) {
            if ((addresses[lane] ^ addresses[other]) % WAVEFRONT_BYTES >> WORD_SHIFT) {
                return;  // another bank
            }
            if (item_of[other] < item_of[lane]) {
                found.held |= lanes_if(queue.items[item_of[lane]], [&](int mate) {
                    return (addresses[mate] ^ addresses[lane]) >> SECTOR_SHIFT == 0;
                });
            } else {
                found.beaten |= 1u << lane;
            }
        });
    });
    return found;
}

// Whether a lane that repeats an address is in the same group of four lanes as the first lane with that address.
bool repeats_nearby(const u64* addresses, u32 firsts, u32 repeats) {
    return lanes_if(repeats, [&](int lane) {
        const u32 near = firsts & (15u << (lane & ~3));
        return lanes_if(near, [&](int other) { return addresses[other] == addresses[lane]; });
    });
}

// Takes the lanes of one pass from the queue and counts their sectors.
u32 atomic_pass(const u64* addresses, Queue& queue) {
    u32 lanes = 0, sectors = 0;
    for (u32 k = 0; k < queue.count; ++k) {
        lanes |= queue.items[k];
    }
    if (banks_differ(addresses, lanes, 1)) {  // no lane has to wait, which is common and fast to test
        for (; queue.count; --queue.count) {
            sectors += count_sectors(addresses, queue.items[queue.count - 1]);
        }
        return sectors;
    }
    const u32 firsts = first_of_each(addresses, lanes);
    const Losers lost = losers(addresses, queue, firsts);
    const u32 behind = lost.beaten | (lanes & ~firsts);
    const bool stuck = !(lanes & ~behind & ~lost.held);  // all wait for each other: then one lane goes alone
    Queue next, last;
    for (u32 k = 0; k < queue.count; ++k) {
        const u32 item = queue.items[k];
        const u32 pass = stuck && !k ? item & (~item + 1) : item & ~behind & ~lost.held;
        const u32 late = item & behind & ~pass;
        sectors += count_sectors(addresses, pass);
        next.add(item & ~pass & ~late);
        (repeats_nearby(addresses, firsts, item & ~firsts) ? next : last).add(late);
    }
    std::sort(last.items, last.items + last.count, [](u32 a, u32 b) { return first_lane(a) < first_lane(b); });
    for (u32 k = 0; k < last.count; ++k) {
        next.add(last.items[k]);
    }
    queue = next;
    return sectors;
}

}  // namespace

u32 count_sectors(const u64* addresses, u32 lanes) {
    return distinct_keys(lanes, [&](int lane) { return addresses[lane] >> SECTOR_SHIFT; });
}

u32 count_distinct(const u64* addresses, u32 lanes) {
    return distinct_keys(lanes, [&](int lane) { return addresses[lane]; });
}

// Atomics run in passes. Lines of 128 bytes of the same line_group share them, queued by their first lanes. A pass uses
// no bank twice: the first lane on a bank goes. A lane that loses to an earlier line stays in place, with its whole
// sector. One that loses to a later line, or repeats an address, moves to the end of the queue as a new item, unless it
// repeats the address of one of the same four lanes. A sector counts once per item and pass.
u32 count_atomic_sectors(const u64* addresses, u32 lanes) {
    u32 total = 0;
    for (u32 group = 0; group < LINE_GROUPS; ++group) {
        for (Queue queue = lines_of_group(addresses, lanes, group); queue.count;) {
            total += atomic_pass(addresses, queue);
        }
    }
    return total;
}

u32 count_wavefronts(const u64* offsets, u32 lanes, u32 bytes, Purpose purpose) {
    const u32 words = std::max(bytes >> WORD_SHIFT, 1u);
    u32 group = LANES / words;  // lanes whose words fill all banks once
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

// In local memory the same word of all lanes takes 128 contiguous bytes.
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
