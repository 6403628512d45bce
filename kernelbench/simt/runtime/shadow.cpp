#include "shadow.hpp"

#include <algorithm>
#include <cstring>

#include "machine.hpp"

namespace simt {

namespace {

constexpr u32 RESTART = 1u << 26;  // clocks begin again above this, at the start of a block

u32 order_of(const Instruction& instruction, Purpose purpose) {
    const u32 order = instruction.target == NONE ? u32(PLAIN) : instruction.target;
    return purpose == Purpose::update ? std::max<u32>(order, RELAXED) : order;
}

bool releases(u32 order) {
    return order == RELEASE || order == ACQUIRE_RELEASE;
}

bool acquires(u32 order) {
    return order == ACQUIRE || order == ACQUIRE_RELEASE;
}

}  // namespace

SharedShadow::SharedShadow(u32 bytes, u32 warps, u32 granule_shift)
    : warps_(warps),
      shift_(granule_shift),
      cells_((bytes >> granule_shift) + 1),
      now_(warps),
      known_(size_t(warps) * warps),
      published_(size_t(warps) * warps),
      told_(warps),
      learned_(size_t(warps) * warps),
      exchanges_(bytes / 4 + 1) {}

void SharedShadow::start_block() {
    if (latest_ > RESTART) {
        latest_ = 0;
        std::fill(cells_.begin(), cells_.end(), Cell{});
    }
    base_ = latest_;
    std::fill(known_.begin(), known_.end(), base_ + 1);
    std::fill(published_.begin(), published_.end(), base_);
    std::fill(told_.begin(), told_.end(), base_);
    std::fill(learned_.begin(), learned_.end(), base_);
    if (!exchanged_.empty()) {
        std::fill(exchanges_.begin(), exchanges_.end(), 0);
        exchanged_.clear();
    }
    fenced_ = false;
    latest_ = base_ + 2;  // base_ + 1: writes of other blocks, which every warp knows
    std::fill(now_.begin(), now_.end(), latest_);
}

void SharedShadow::tick(u32 warp) {
    now_[warp] = std::min(now_[warp] + 1, LAST);
    latest_ = std::max(latest_, now_[warp]);
}

void SharedShadow::join(Clock* into, const Clock* from) {
    for (u32 warp = 0; warp < warps_; ++warp) {
        into[warp] = std::max(into[warp], from[warp]);
    }
}

void SharedShadow::meet(u32 warp) {
    known_by(warp)[warp] = now_[warp];
    tick(warp);
}

void SharedShadow::synchronise(u64 arrived, u64 waited) {
    Clock all[LANES] = {};
    for (u32 warp = 0; warp < warps_; ++warp) {
        if (arrived >> warp & 1) {
            join(all, known_by(warp));
            all[warp] = now_[warp];
        }
    }
    for (u32 warp = 0; warp < warps_; ++warp) {
        if (waited >> warp & 1) {
            join(known_by(warp), all);
        }
        if ((arrived | waited) >> warp & 1) {
            tick(warp);
        }
    }
}

void SharedShadow::fence(u32 warp) {
    join(known_by(warp), &learned_[size_t(warp) * warps_]);
    Clock* published = &published_[size_t(warp) * warps_];
    std::copy_n(known_by(warp), warps_, published);
    published[warp] = now_[warp];
    fenced_ = true;
    tick(warp);
}

SharedShadow::Clock* SharedShadow::exchanged_at(u64 offset) {
    u32& slot = exchanges_[offset / 4];
    if (!slot) {
        exchanged_.resize(exchanged_.size() + warps_, base_);
        slot = u32(exchanged_.size() / warps_);
    }
    return &exchanged_[size_t(slot - 1) * warps_];
}

void SharedShadow::release(u32 warp, u64 offset, bool away) {
    Clock* told = away ? told_.data() : exchanged_at(offset);
    join(told, known_by(warp));
    told[warp] = std::max(told[warp], now_[warp]);
    fenced_ = true;
    tick(warp);
}

void SharedShadow::acquire(u32 warp, u64 offset) {
    join(known_by(warp), exchanged_at(offset));
    join(known_by(warp), told_.data());
}

// A strong access to a word hands on what was published before it: a write tells, a read learns.
void SharedShadow::exchange(u32 warp, u64 offset, Purpose purpose, u32 order) {
    if (!fenced_ || offset % 4) {
        return;
    }
    Clock* word = exchanged_at(offset);
    if (purpose != Purpose::write) {
        join(acquires(order) ? known_by(warp) : &learned_[size_t(warp) * warps_], word);
    }
    if (purpose != Purpose::read) {
        join(word, &published_[size_t(warp) * warps_]);
    }
}

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

// Whether an access before is unordered with this one. Lanes that execute one instruction together do not race.
bool SharedShadow::conflicts(const Touch& touch, u32 epoch, u32 lane) const {
    const u32 own = touch.warp.index;
    if (!late(epoch, &known_[size_t(own) * warps_])) {
        return false;
    }
    const bool same_warp = (epoch & (LANES - 1)) == own;
    return !same_warp || (lane != touch.lane && !(lane < SEVERAL && has(peers_, int(lane))));
}

// Reports what is wrong between this access and those before; true for an error.
bool SharedShadow::judge(const Touch& touch, const Cell& cell) {
    if (conflicts(touch, cell.write, cell.write_lane) &&
        report(touch, cell.write & (LANES - 1), cell.write_order(), touch.purpose == Purpose::write)) {
        return true;
    }
    if (touch.purpose == Purpose::read) {
        return false;
    }
    if (conflicts(touch, cell.read, cell.read_lane)) {
        return report(touch, cell.read & (LANES - 1), cell.read_order(), false);
    }
    if (cell.several) {
        const Clock* clocks = &readers_[size_t(cell.readers - 1) * warps_];
        const Clock* known = known_by(touch.warp.index);
        for (u32 reader = 0; reader < warps_; ++reader) {
            if (reader != touch.warp.index && clocks[reader] > known[reader]) {
                return report(touch, reader, cell.read_order(), false);
            }
        }
    }
    return false;
}

// The slow way, for one lane: granule by granule up to its first error.
void SharedShadow::inspect(Touch touch, u32 bytes, const u8* memory, const u8* values) {
    const u64 begin = touch.offset, end = begin + bytes;
    const u64 step = u64(1) << shift_;
    for (u64 at = begin; at < end && touch.purpose != Purpose::write; at += step) {
        if (cells_[at >> shift_].write >> WARP_BITS <= base_) {
            fault(touch.warp, touch.instruction, FaultKind::uninitialised_shared, touch.lane, SHARED_WINDOW + begin);
            break;
        }
    }
    for (u64 at = begin; at < end; at += step) {
        touch.offset = at;
        touch.same_value = values && !std::memcmp(memory + at, values + (at - begin), step);
        if (judge(touch, cells_[at >> shift_])) {
            return;
        }
    }
}

// Lanes that may be wrong: they read what no warp wrote in this block, or touch what is not ordered before.
u32 SharedShadow::suspects(u32 warp, u32 lanes, const u64* offsets, u32 cells, Purpose purpose) {
    const Clock* known = known_by(warp);
    const bool reads = purpose != Purpose::write, writes = purpose != Purpose::read;
    u32 found = 0;
    each_lane(lanes, [&](int lane) {
        const Cell* cell = &cells_[offsets[lane] >> shift_];
        bool bad = false;
        for (u32 k = 0; k < cells; ++k) {
            bad |= late(cell[k].write, known) | (reads & (cell[k].write >> WARP_BITS <= base_)) |
                   (writes & (late(cell[k].read, known) | cell[k].several));
        }
        found |= u32(bad) << lane;
    });
    return found;
}

// Of reads that are not ordered, those of the weakest order are kept: they make errors, others notes.
void SharedShadow::record_read(Cell& cell, u32 warp, u32 lane, u32 order) {
    const Clock now = now_[warp];
    const bool unordered = late(cell.read, known_by(warp)) || cell.several;
    if (unordered && order > cell.read_order()) {
        return;
    }
    const bool joins = unordered && order == cell.read_order();
    const u32 before = cell.read & (LANES - 1);
    if (joins && before != warp && !cell.several) {
        if (!cell.readers) {
            readers_.resize(readers_.size() + warps_);
            cell.readers = u32(readers_.size() / warps_);
        }
        Clock* clocks = &readers_[size_t(cell.readers - 1) * warps_];
        std::fill_n(clocks, warps_, 0);
        clocks[before] = cell.read >> WARP_BITS;
        cell.several = true;
    }
    cell.several &= joins;
    if (cell.several) {
        readers_[size_t(cell.readers - 1) * warps_ + warp] = now;
    }
    const bool shares = joins && before == warp && cell.read_lane != lane && late(cell.read, known_by(warp));
    cell.read_lane = u8(shares ? SEVERAL : lane);
    cell.orders = u8(cell.write_order() | order << 4);
    cell.read = now << WARP_BITS | warp;
}

void SharedShadow::access(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes,
                          Purpose purpose, const u8* memory, const u8* values) {
    const u32 own = warp.index, order = order_of(instruction, purpose), cells = bytes >> shift_;
    if (const u64 tick = ticks(warp); tick != tick_) {
        tick_ = tick;
        peers_ = 0;
    }
    each_lane(suspects(own, lanes, offsets, cells, purpose), [&](int lane) {
        const u8* stored = values ? values + u32(lane) * bytes : nullptr;
        inspect({warp, instruction, purpose, u32(lane), offsets[lane], order, false}, bytes, memory, stored);
    });
    if (releases(order)) {
        fence(own);
    }
    const u32 epoch = now_[own] << WARP_BITS | own;
    each_lane(lanes, [&](int lane) {
        Cell* cell = &cells_[offsets[lane] >> shift_];
        for (u32 k = 0; k < cells; ++k) {
            if (purpose == Purpose::read) {
                record_read(cell[k], own, u32(lane), order);
                if (order >= POLLING && cell[k].write_order() >= VOLATILE) {
                    cell[k].write = (base_ + 1) << WARP_BITS;  // it was waited for, so what follows comes after it
                }
            } else {
                cell[k] = {epoch, 0, cell[k].readers, u8(lane), 0, u8(order), false};
            }
        }
        if (order >= VOLATILE) {
            exchange(own, offsets[lane], purpose, order);
        }
    });
    peers_ |= lanes;
}

void SharedShadow::access_from_away(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets,
                                    u32 bytes, Purpose purpose) {
    each_lane(lanes, [&](int lane) {
        bool written = true;
        for (u64 at = offsets[lane] >> shift_; at < (offsets[lane] + bytes) >> shift_; ++at) {
            Cell& cell = cells_[at];
            const bool before = cell.write >> WARP_BITS > base_;
            written &= before;
            if (purpose != Purpose::read && !before) {
                cell.write = (base_ + 1) << WARP_BITS;
            }
        }
        if (purpose != Purpose::write && !written) {
            fault(warp, instruction, FaultKind::uninitialised_shared, lane, SHARED_WINDOW + offsets[lane]);
        }
    });
}

}  // namespace simt
