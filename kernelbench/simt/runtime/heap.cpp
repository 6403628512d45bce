// malloc and free on the device: first fit, in units of 16 bytes. Operands: lower/calls.py.
//
// Blocks run in order, so that they get the same addresses in every run. The heap keeps no data of its own among those of
// the kernel; `heap_units` has a byte for each unit.
#include <algorithm>
#include <cstring>

#include "access.hpp"
#include "lanes.hpp"

using namespace simt;

namespace {

constexpr u64 UNIT = 16;
enum UnitState : u8 { FREE, FIRST, MORE };

u64 frame_of(const Warp& warp, const Instruction& instruction, u32 lane) {
    return lanes_of<u64>(warp.registers, instruction.c)[lane];
}

u64 argument_of(const Warp& warp, const Instruction& instruction, u32 lane) {
    return read_local<u64>(warp, lane, frame_of(warp, instruction, lane) + instruction.a);
}

// New memory has no contents yet.
void forget(const Launch& launch, u64 begin, u64 bytes) {
    const Allocation* heap = allocation_at(launch, begin);
    if (heap && heap->states) {
        std::memset(heap->states + (begin - heap->begin), UNTOUCHED, bytes);
    }
}

u64 allocated(const Launch& launch, u64 bytes) {
    const u64 count = launch.heap_bytes / UNIT;
    if (!bytes || bytes > launch.heap_bytes) {
        return 0;
    }
    const u64 needed = (bytes + UNIT - 1) / UNIT;
    u8* const end = launch.heap_units + count;
    for (u8* first = std::find(launch.heap_units, end, FREE); u64(end - first) >= needed;) {
        u8* const taken = std::find_if(first, first + needed, [](u8 state) { return state != FREE; });
        if (taken == first + needed) {
            std::memset(first, MORE, needed);
            *first = FIRST;
            const u64 begin = launch.heap + u64(first - launch.heap_units) * UNIT;
            forget(launch, begin, needed * UNIT);
            return begin;
        }
        first = std::find(taken, end, FREE);
    }
    return 0;
}

bool release(const Launch& launch, u64 address) {
    const u64 offset = address - launch.heap;
    if (offset >= launch.heap_bytes || offset % UNIT || launch.heap_units[offset / UNIT] != FIRST) {
        return false;
    }
    u8* const end = launch.heap_units + launch.heap_bytes / UNIT;
    u8* unit = launch.heap_units + offset / UNIT;
    do {
        *unit++ = FREE;
    } while (unit != end && *unit == MORE);
    return true;
}

}  // namespace

OPERATION(malloc) {
    const Launch& launch = *warp.state->worker->launch;
    each_lane(lanes, [&](int lane) {
        const u64 found = allocated(launch, argument_of(warp, instruction, u32(lane)));
        write_local(warp, u32(lane), frame_of(warp, instruction, u32(lane)) + instruction.d, found);
    });
}

OPERATION(free) {
    const Launch& launch = *warp.state->worker->launch;
    each_lane(lanes, [&](int lane) {
        const u64 address = argument_of(warp, instruction, u32(lane));
        if (address && !release(launch, address)) {
            fault(warp, instruction, FaultKind::bad_free, u32(lane), address);
        }
    });
}
