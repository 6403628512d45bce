// Races and uninitialised reads: judges an access by those before it, and records it.
#include "shadow.hpp"

#include <algorithm>
#include <cstring>

#include "machine.hpp"

namespace simt {

namespace {

u32 order_of(const Instruction& instruction, Purpose purpose) {
    const u32 order = instruction.target == NONE ? u32(PLAIN) : instruction.target;
    return purpose == Purpose::update ? std::max<u32>(order, RELAXED) : order;
}

bool releases(u32 order) {
    return order == RELEASE || order == ACQUIRE_RELEASE;
}

}  // namespace

// False where two conflicting accesses are no error. Programs rely on some that are formally races: notes.
bool SharedShadow::report(const Touch& touch, u32 other_warp, u32 other_order, bool write) {
    const u32 weaker = std::min(touch.order, other_order), stronger = std::max(touch.order, other_order);
    if (weaker >= RELAXED) {
        return false;
    }
    FaultKind kind = other_warp == touch.warp.index ? FaultKind::warp_race : FaultKind::shared_race;
    if (weaker == CHECKED && stronger >= RELAXED) {
        kind = FaultKind::checked_race;
    } else if (weaker >= VOLATILE && stronger >= POLLING) {
        kind = FaultKind::volatile_race;
    } else if (touch.same_value && write) {
        kind = FaultKind::same_value_race;
    }
    fault(touch.warp, touch.instruction, kind, touch.lane, SHARED_WINDOW + touch.offset);
    return kind == FaultKind::warp_race || kind == FaultKind::shared_race;
}

// Whether the record of an update by `warp` replaces that of its own plain write, of which no other warp knows. An update by
// another warp then races with that write. Without fences, other warps learn of both together.
bool SharedShadow::hides_plain_write(u32 cell_write, u32 bits, u32 warp) {
    if (fenced_ || warp_of(cell_write) != warp || clock_of(cell_write) <= base_ + 1 ||
        (write_order(bits) != PLAIN && !(bits & AFTER_PLAIN))) {
        return false;
    }
    for (u32 other = 0; other < warps_; ++other) {
        if (other != warp && known_by(other)[warp] >= clock_of(cell_write)) {
            return false;
        }
    }
    return true;
}

// Whether an access before is unordered with this one. Lanes that execute one instruction together do not race.
bool SharedShadow::conflicts(const Touch& touch, u32 epoch, u32 lane) const {
    const u32 own = touch.warp.index;
    return late(epoch, own) &&
           (warp_of(epoch) != own || (lane != touch.lane && !(lane < SEVERAL_LANES && has(peers_, int(lane)))));
}

// Reports what is wrong between this access and those before; true for an error.
bool SharedShadow::judge(const Touch& touch, u64 cell) {
    const u32 bits = bits_[cell], own = touch.warp.index;
    if (conflicts(touch, write_[cell], write_lane(bits)) &&
        report(touch, warp_of(write_[cell]), write_order_for(own, write_[cell], bits), touch.purpose == Purpose::write)) {
        return true;
    }
    if (touch.purpose == Purpose::read) {
        return false;
    }
    if (conflicts(touch, read_[cell], read_lane(bits))) {
        return report(touch, warp_of(read_[cell]), read_order(bits), false);
    }
    for (u32 reader = 0; reader < warps_ && bits & SEVERAL_WARPS; ++reader) {
        if (reader != own && readers_of(reader)[cell] > known_by(own)[reader]) {
            return report(touch, reader, read_order(bits), false);
        }
    }
    return false;
}

// The slow way, for one lane: granule by granule up to its first error.
void SharedShadow::inspect(Touch touch, u32 bytes, const u8* memory, const u8* values) {
    const u64 begin = touch.offset, end = begin + bytes;
    const u64 step = u64(1) << shift_;
    for (u64 at = begin; at < end && touch.purpose != Purpose::write; at += step) {
        if (clock_of(write_[at >> shift_]) <= base_) {
            fault(touch.warp, touch.instruction, FaultKind::uninitialised_shared, touch.lane, SHARED_WINDOW + begin);
            break;
        }
    }
    for (u64 at = begin; at < end; at += step) {
        touch.offset = at;
        touch.same_value = values && !std::memcmp(memory + at, values + (at - begin), step);
        if (judge(touch, at >> shift_)) {
            return;
        }
    }
}

// Lanes that may be wrong: they read what no warp wrote in this block, or touch what is not ordered before.
u32 SharedShadow::suspects(u32 warp, u32 lanes, const u64* offsets, u32 cells, Purpose purpose, u32 order) {
    const Clock safe = safe_[warp], first = purpose == Purpose::write ? 0 : base_ + 1;
    u32 quick = 0;  // by one comparison
    each_lane(lanes, [&](int lane) {
        bool bad = false;
        for (u64 cell = offsets[lane] >> shift_, end = cell + cells; cell < end; ++cell) {
            const Clock clock = clock_of(write_[cell]);
            const u32 bits = bits_[cell];
            const u32 weaker = std::min(order, write_order_for(warp, write_[cell], bits));
            bad |= (clock > safe && weaker < RELAXED) || clock < first;
            bad |= purpose != Purpose::read && (clock_of(read_[cell]) > safe || bits & SEVERAL_WARPS);
        }
        quick |= u32(bad) << lane;
    });
    const u32 own = now_[warp] << WARP_BITS | warp;
    u32 found = 0;
    each_lane(u32(quick), [&](int lane) {
        bool bad = false;
        for (u64 cell = offsets[lane] >> shift_, end = cell + cells; cell < end; ++cell) {
            const u32 write = write_[cell], read = read_[cell], bits = bits_[cell];
            bad |= clock_of(write) < first;
            bad |= late(write, warp) && (write != own || write_lane(bits) != u32(lane)) &&
                   std::min(order, write_order_for(warp, write, bits)) < RELAXED;
            bad |= purpose != Purpose::read && (bits & SEVERAL_WARPS || (late(read, warp) &&
                                                (read != own || read_lane(bits) != u32(lane))));
        }
        found |= u32(bad) << lane;
    });
    return found;
}

void SharedShadow::record_read(u64 cell, u32 warp, u32 lane, u32 order) {
    const u32 before = read_[cell], epoch = now_[warp] << WARP_BITS | warp;
    u32 bits = bits_[cell];
    const bool was_late = late(before, warp), unordered = was_late || bits & SEVERAL_WARPS;
    if (unordered && order > read_order(bits)) {
        return;
    }
    const bool joins = unordered && order == read_order(bits);
    if (joins && warp_of(before) != warp) {
        readers_of(warp_of(before))[cell] = clock_of(before);
        bits |= SEVERAL_WARPS;
    }
    if (joins && bits & SEVERAL_WARPS) {
        readers_of(warp)[cell] = now_[warp];
    }
    const bool shared = joins && was_late && warp_of(before) == warp && read_lane(bits) != lane;
    bits &= ~(joins ? OF_READ & ~SEVERAL_WARPS : OF_READ);
    bits_[cell] = bits | (shared ? SEVERAL_LANES : lane) << READ_LANE | order << READ_ORDER;
    read_[cell] = epoch;
}

void SharedShadow::access(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes,
                          Purpose purpose, const u8* memory, Gather gather) {
    const u32 own = warp.index, order = order_of(instruction, purpose), cells = bytes >> shift_;
    Row row;
    if (order == PLAIN && find_row(lanes, offsets, cells, row) && access_row(row, own, purpose, order)) {
        return;
    }
    if (const u64 tick = ticks(warp); tick != tick_ || &instruction != last_) {
        tick_ = tick;
        last_ = &instruction;
        peers_ = 0;
    }
    const u32 wrong = suspects(own, lanes, offsets, cells, purpose, order);
    alignas(16) u8 values[LANES * 64];
    if (wrong && gather) {
        gather(warp, instruction, values);
    }
    each_lane(u32(wrong), [&](int lane) {
        const u8* stored = gather ? values + u32(lane) * bytes : nullptr;
        inspect({warp, instruction, purpose, u32(lane), offsets[lane], order, false}, bytes, memory, stored);
    });
    if (releases(order)) {
        fence(own);
    }
    if (purpose == Purpose::read) {
        record_reads(own, lanes, offsets, cells, order);
    } else {
        const u32 epoch = now_[own] << WARP_BITS | own;
        each_lane(lanes, [&](int lane) {
            for (u64 cell = offsets[lane] >> shift_, end = cell + cells; cell < end; ++cell) {
                const bool hides = purpose == Purpose::update && hides_plain_write(write_[cell], bits_[cell], own);
                write_[cell] = epoch;
                read_[cell] = 0;
                bits_[cell] = u32(lane) | order << WRITE_ORDER | (hides ? AFTER_PLAIN : 0);
            }
        });
    }
    if (order >= VOLATILE && fenced_) {
        each_lane(lanes, [&](int lane) { exchange(own, offsets[lane], purpose, order); });
    }
    peers_ |= lanes;
}

void SharedShadow::record_reads(u32 own, u32 lanes, const u64* offsets, u32 cells, u32 order) {
    const u32 epoch = now_[own] << WARP_BITS | own;
    each_lane(lanes, [&](int lane) {
        for (u64 cell = offsets[lane] >> shift_, end = cell + cells; cell < end; ++cell) {
            const u32 before = read_[cell], bits = bits_[cell];
            if (clock_of(before) <= safe_[own] && !(bits & SEVERAL_WARPS)) {
                read_[cell] = epoch;
                bits_[cell] = (bits & ~OF_READ) | u32(lane) << READ_LANE | order << READ_ORDER;
            } else if (before != epoch || read_order(bits) != order ||
                       (read_lane(bits) != u32(lane) && read_lane(bits) != SEVERAL_LANES)) {
                record_read(cell, own, u32(lane), order);
            }
            if (order >= POLLING && write_order(bits_[cell]) >= VOLATILE) {
                write_[cell] = (base_ + 1) << WARP_BITS;  // it was waited for, so what follows comes after it
            }
        }
    });
}

void SharedShadow::access_from_away(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets,
                                    u32 bytes, Purpose purpose) {
    each_lane(lanes, [&](int lane) {
        bool written = true;
        for (u64 cell = offsets[lane] >> shift_; cell < (offsets[lane] + bytes) >> shift_; ++cell) {
            const bool before = clock_of(write_[cell]) > base_;
            written &= before;
            if (purpose != Purpose::read && !before) {
                write_[cell] = (base_ + 1) << WARP_BITS;
            }
        }
        if (purpose != Purpose::write && !written) {
            fault(warp, instruction, FaultKind::uninitialised_shared, lane, SHARED_WINDOW + offsets[lane]);
        }
    });
}

}  // namespace simt
