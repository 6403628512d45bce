// Global memory: bounds, alignment, sectors, touched sectors and, if tracked, states of bytes.
#include <algorithm>
#include <cstring>

#include "asynchronous.hpp"

namespace simt {

namespace {

bool holds(const Allocation* allocation, u64 address, u64 bytes) {
    return allocation && address >= allocation->begin && address < allocation->end &&
           bytes <= allocation->end - address;
}

// The allocation that holds [address, address + bytes); the last one of this instruction is tried first.
Allocation* locate(Worker& worker, u32 position, u64 address, u64 bytes) {
    Allocation*& hint = worker.hints[position];
    if (holds(hint, address, bytes)) [[likely]] {
        return hint;
    }
    Allocation* found = allocation_at(*worker.launch, address);
    return holds(found, address, bytes) ? hint = found : nullptr;
}

// Inputs must not change, because all implementations of a case share them.
bool forbidden(const Allocation& allocation, Purpose purpose) {
    return purpose != Purpose::read && allocation.read_only;
}

void mark(u8* sectors, u8* pages, u64 first, u64 last) {
    std::memset(sectors + first, 1, last - first + 1);
    for (u64 page = first >> PAGE_SHIFT; page <= last >> PAGE_SHIFT; ++page) {
        pages[page] = 1;
    }
}

void mark(Allocation& allocation, u64 address, u64 bytes, Purpose purpose) {
    const u64 first = (address - allocation.begin) >> SECTOR_SHIFT;
    const u64 last = (address + bytes - 1 - allocation.begin) >> SECTOR_SHIFT;
    if (purpose != Purpose::write) {
        mark(allocation.read, allocation.read_pages, first, last);
    }
    if (purpose != Purpose::read) {
        mark(allocation.written, allocation.written_pages, first, last);
    }
    if (allocation.chunks) {
        generate(allocation, address, address + bytes);
    }
}

// Tracks the state of each byte: strict launches look for uninitialised bytes, sampled ones for values that depend on
// blocks that did not run.
class Tracker {
public:
    Tracker(Warp& warp, const Instruction& instruction)
        : warp_(warp), instruction_(instruction), launch_(*warp.state->worker->launch),
          block_(*warp.state->block) {}

    void touch(const Allocation& allocation, u64 address, u32 bytes, u32 lane, Purpose purpose) {
        if (!allocation.states) {
            return;
        }
        u8* states = allocation.states + (address - allocation.begin);
        const bool result_used = purpose == Purpose::read || instruction_.d != NONE;
        if (purpose != Purpose::write && result_used) {
            look(allocation, states, address, bytes, lane);
        }
        if (purpose != Purpose::read) {
            // In a sampled launch the updates of other blocks are missing.
            const bool unsound = block_.unsound || (launch_.sampled && purpose == Purpose::update);
            std::memset(states, unsound ? UNSOUND : SOUND, bytes);
        }
        block_.unsound |= launch_.sampled == SOME_BLOCKS && purpose == Purpose::update && result_used;
    }

private:
    void look(const Allocation& allocation, const u8* states, u64 address, u32 bytes, u32 lane) {
        bool untouched = false;
        for (u32 k = 0; k < bytes; ++k) {
            untouched |= states[k] == UNTOUCHED;
            block_.unsound |= states[k] == UNSOUND && launch_.sampled != FIRST_BLOCKS;
        }
        if (!untouched || allocation.defined) {
            return;
        }
        if (launch_.sampled) {
            block_.unsound = true;
        } else if (launch_.strict) {
            fault(warp_, instruction_, FaultKind::uninitialised_global, lane, address);
        }
    }

    Warp& warp_;
    const Instruction& instruction_;
    const Launch& launch_;
    Block& block_;
};

// Tracks an access to adjacent bytes; false if one of them needs a closer look.
bool track_span(const Warp& warp, const Allocation& allocation, u64 address, u64 bytes, Purpose purpose) {
    u8* states = allocation.states + (address - allocation.begin);
    if (purpose == Purpose::write) {
        std::memset(states, warp.state->block->unsound ? UNSOUND : SOUND, bytes);
        return true;
    }
    u8 any = 0, least = UNSOUND;
    for (u64 k = 0; k < bytes; ++k) {
        any |= states[k];
        least = std::min(least, states[k]);
    }
    return !(any & UNSOUND) && (least != UNTOUCHED || allocation.defined);
}

// Handles contiguous or uniform lanes of a full warp within one allocation; false if the access is not of this kind.
bool access_regular(Warp& warp, u32 bytes, Purpose purpose, Access& access, Counters& counters) {
    const u64 first = access.at[0];
    if (access.shape == Shape::scattered || first & (bytes - 1) || purpose == Purpose::update) {
        return false;
    }
    const u64 span = access.shape == Shape::uniform ? bytes : u64(bytes) * LANES;
    Allocation* allocation = locate(*warp.state->worker, warp.state->position, first, span);
    if (!allocation || forbidden(*allocation, purpose) ||
        (allocation->states && !track_span(warp, *allocation, first, span, purpose))) {
        return false;
    }
    counters.sectors += ((first + span - 1) >> SECTOR_SHIFT) - (first >> SECTOR_SHIFT) + 1;
    counters.ideal_sectors += (span + 31) >> SECTOR_SHIFT;
    counters.requested_bytes += span;
    mark(*allocation, first, span, purpose);
    warp.state->worker->changes += purpose == Purpose::write;
    return true;
}

// Lanes with an aligned address; the others get a fault.
u32 aligned(Warp& warp, const Instruction& instruction, u32 bytes, const Access& access) {
    const u32 crooked = lanes_if(access.lanes, [&](int lane) { return access.at[lane] & (bytes - 1); });
    each_lane(crooked, [&](int lane) { fault(warp, instruction, FaultKind::misaligned, lane, access.at[lane]); });
    return access.lanes & ~crooked;
}

}  // namespace

Allocation* allocation_at(const Launch& launch, u64 address) {
    Allocation* end = launch.allocations + launch.allocation_count;
    Allocation* after = std::upper_bound(launch.allocations, end, address,
                                         [](u64 value, const Allocation& one) { return value < one.begin; });
    return after != launch.allocations && address < after[-1].end ? after - 1 : nullptr;
}

u8* access_global_bytes(Warp& warp, const Instruction& instruction, u32 lane, u64 address, u32 bytes,
                        Purpose purpose) {
    Worker& worker = *warp.state->worker;
    Counters& counters = worker.counters[warp.state->position];
    const u64 sectors = bytes ? ((address + bytes - 1) >> SECTOR_SHIFT) - (address >> SECTOR_SHIFT) + 1 : 0;
    ++counters.requests;
    counters.sectors += sectors;
    counters.ideal_sectors += (bytes + 31) >> SECTOR_SHIFT;
    counters.requested_bytes += bytes;
    Allocation* allocation = locate(worker, warp.state->position, address, bytes);
    if (!allocation) {
        const Allocation* around = allocation_at(*worker.launch, address);
        fault(warp, instruction, outside(purpose), lane, around ? around->end : address);
        return nullptr;
    }
    if (forbidden(*allocation, purpose)) {
        fault(warp, instruction, FaultKind::input_write, lane, address);
        return nullptr;
    }
    if (bytes) {
        mark(*allocation, address, bytes, purpose);
        Tracker(warp, instruction).touch(*allocation, address, bytes, lane, purpose);
        worker.changes += purpose != Purpose::read;
    }
    return reinterpret_cast<u8*>(address);
}

void access_global(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access) {
    WarpState& state = *warp.state;
    Worker& worker = *state.worker;
    Counters& counters = worker.counters[state.position];
    ++counters.requests;
    access.shape = access.lanes == ALL ? shape_of(access.at, bytes) : Shape::scattered;
    if (access_regular(warp, bytes, purpose, access, counters)) [[likely]] {
        return;
    }
    const bool update = purpose == Purpose::update;
    worker.changes += purpose == Purpose::write;  // updates: atomics.cpp
    counters.sectors += update ? count_atomic_sectors(access.at, access.lanes)
                               : count_sectors(access.at, access.lanes);
    const u64 requested = u64(count_distinct(access.at, access.lanes)) * bytes;
    counters.ideal_sectors += (requested + 31) >> SECTOR_SHIFT;
    counters.requested_bytes += requested;
    u32 good = aligned(warp, instruction, bytes, access);
    Tracker tracker(warp, instruction);
    each_lane(good, [&](int lane) {
        Allocation* allocation = locate(worker, state.position, access.at[lane], bytes);
        if (!allocation) {
            fault(warp, instruction, outside(purpose), lane, access.at[lane]);
            good &= ~(1u << lane);
            return;
        }
        if (forbidden(*allocation, purpose)) {
            fault(warp, instruction, FaultKind::input_write, lane, access.at[lane]);
            good &= ~(1u << lane);
            return;
        }
        mark(*allocation, access.at[lane], bytes, purpose);
        tracker.touch(*allocation, access.at[lane], bytes, lane, purpose);
    });
    access.lanes = good;
    if (good != ALL) {
        access.shape = Shape::scattered;
    }
}

}  // namespace simt
