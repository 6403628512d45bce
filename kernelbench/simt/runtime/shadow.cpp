// Hazards in shared memory: between warps by vector clocks, between lanes of a warp by its last synchronisation.
#include "shadow.hpp"

#include <algorithm>

#include "machine.hpp"

namespace simt {

SharedShadow::SharedShadow(u32 bytes, u32 warps)
    : warps_(warps),
      bytes_(bytes),
      clocks_(size_t(warps) * warps),
      published_(size_t(warps) * warps),
      told_(warps),
      learned_(size_t(warps) * warps),
      exchanges_(bytes / 4 + 1) {}

void SharedShadow::start_block() {
    base_ = latest_;
    std::fill(clocks_.begin(), clocks_.end(), base_);
    std::fill(published_.begin(), published_.end(), base_);
    std::fill(told_.begin(), told_.end(), base_);
    std::fill(learned_.begin(), learned_.end(), base_);
    if (!exchanged_.empty()) {
        std::fill(exchanges_.begin(), exchanges_.end(), 0);
    }
    readers_.clear();
    exchanged_.clear();
    for (u32 warp = 0; warp < warps_; ++warp) {
        clocks_of(warp)[warp] = base_ + 1;
    }
    latest_ = base_ + 1;
}

void SharedShadow::tick(u32 warp) {
    Clock& own = clocks_of(warp)[warp];
    ++own;
    latest_ = std::max(latest_, own);
}

void SharedShadow::join(Clock* into, const Clock* from) {
    for (u32 warp = 0; warp < warps_; ++warp) {
        into[warp] = std::max(into[warp], from[warp]);
    }
}

void SharedShadow::synchronise(u64 arrived, u64 waited) {
    std::vector<Clock> all(warps_);
    for (u32 warp = 0; warp < warps_; ++warp) {
        if (arrived >> warp & 1) {
            join(all.data(), clocks_of(warp));
        }
    }
    for (u32 warp = 0; warp < warps_; ++warp) {
        if (waited >> warp & 1) {
            join(clocks_of(warp), all.data());
        }
        if ((arrived | waited) >> warp & 1) {
            tick(warp);
        }
    }
}

void SharedShadow::fence(u32 warp) {
    Clock* learned = &learned_[size_t(warp) * warps_];
    join(clocks_of(warp), learned);
    std::copy_n(clocks_of(warp), warps_, &published_[size_t(warp) * warps_]);
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
    join(away ? told_.data() : exchanged_at(offset), clocks_of(warp));
    tick(warp);
}

void SharedShadow::acquire(u32 warp, u64 offset) {
    join(clocks_of(warp), exchanged_at(offset));
    join(clocks_of(warp), told_.data());
}

// An atomic on a word hands on what was published before it, in both directions.
void SharedShadow::exchange(u32 warp, u64 offset) {
    Clock* word = exchanged_at(offset);
    join(&learned_[size_t(warp) * warps_], word);
    join(word, &published_[size_t(warp) * warps_]);
}

bool SharedShadow::report(Warp& warp, const Instruction& instruction, u32 lane, u64 offset, const Touch& touch) {
    if (touch.clock <= base_) {
        return false;
    }
    if (touch.warp != warp.index) {
        if (ordered(touch, warp.index)) {
            return false;
        }
        fault(warp, instruction, FaultKind::shared_race, lane, SHARED_WINDOW + offset);
        return true;
    }
    if (touch.lane == lane || touch.tick <= warp.state->met || touch.tick == ticks(warp)) {
        return false;
    }
    fault(warp, instruction, FaultKind::warp_race, lane, SHARED_WINDOW + offset);
    return true;
}

bool SharedShadow::check(Warp& warp, const Instruction& instruction, u32 lane, u64 offset, const Byte& byte,
                         Purpose purpose) {
    const bool both_atomic = byte.atomic && purpose == Purpose::update;
    if (!both_atomic && report(warp, instruction, lane, offset, byte.write)) {
        return true;
    }
    if (purpose == Purpose::read) {
        return false;
    }
    Touch read = byte.read;
    if (byte.many_lanes && read.lane == lane) {
        read.lane = LANES;  // some other lane read, too
    }
    if (report(warp, instruction, lane, offset, read)) {
        return true;
    }
    if (byte.readers && byte.read.clock > base_) {
        const Clock* clocks = &readers_[size_t(byte.readers - 1) * warps_];
        for (u32 reader = 0; reader < warps_; ++reader) {
            if (reader != warp.index && clocks[reader] > clocks_of(warp.index)[reader]) {
                fault(warp, instruction, FaultKind::shared_race, lane, SHARED_WINDOW + offset);
                return true;
            }
        }
    }
    return false;
}

void SharedShadow::add_reader(Byte& byte, const Touch& now) {
    const Touch before = byte.read;
    const bool fresh = before.clock <= base_;
    if (fresh) {
        byte.readers = 0;
    }
    const bool same_warp = !fresh && before.warp == now.warp;
    const bool others_matter = !fresh && !same_warp && !ordered(before, now.warp);
    byte.many_lanes = same_warp && (byte.many_lanes || before.lane != now.lane);
    if (others_matter && !byte.readers) {
        readers_.resize(readers_.size() + warps_, base_);
        byte.readers = u32(readers_.size() / warps_);
        readers_[size_t(byte.readers - 1) * warps_ + before.warp] = before.clock;
    }
    if (byte.readers) {
        readers_[size_t(byte.readers - 1) * warps_ + now.warp] = now.clock;
    }
    byte.read = now;
}

void SharedShadow::record(Warp& warp, u32 lane, u64 offset, Byte& byte, Purpose purpose) {
    const Touch now = {clocks_of(warp.index)[warp.index], u8(warp.index), u8(lane), ticks(warp)};
    if (purpose == Purpose::read) {
        add_reader(byte, now);
        return;
    }
    byte.write = now;
    byte.atomic = purpose == Purpose::update;
    byte.read = {};
    byte.readers = 0;
    byte.many_lanes = false;
    if (purpose == Purpose::update && offset % 4 == 0) {
        exchange(warp.index, offset);
    }
}

void SharedShadow::access(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes,
                          Purpose purpose) {
    each_lane(lanes, [&](int lane) {
        u64 at = offsets[lane];
        const u64 end = at + bytes;
        while (at < end && !check(warp, instruction, lane, at, bytes_[at], purpose)) {
            ++at;  // up to the first report of a lane
        }
    });
    each_lane(lanes, [&](int lane) {
        for (u32 k = 0; k < bytes; ++k) {
            record(warp, lane, offsets[lane] + k, bytes_[offsets[lane] + k], purpose);
        }
    });
}

}  // namespace simt
