// Finds and checks one lane's place in the shared memory of a cluster.
#include <algorithm>
#include <cstring>

#include "asynchronous.hpp"

namespace simt {

u64 address_of(const Warp& warp, u32 slot, u32 width, s64 displacement, u32 lane) {
    if (slot == NONE) {
        return u64(displacement);
    }
    return width == 8 ? lanes_of<u64>(warp.registers, slot)[lane] + u64(displacement)
                      : u32(lanes_of<u32>(warp.registers, slot)[lane] + u32(displacement));
}

Place shared_place(Warp& warp, const Instruction& instruction, u32 lane, u64 address) {
    const Block& own = *warp.state->block;
    const bool generic = address >> WINDOW_SHIFT == SHARED_WINDOW >> WINDOW_SHIFT;
    const u64 tag = address >> RANK_SHIFT;
    const u64 rank = generic ? (address - SHARED_WINDOW) >> WINDOW_RANK_SHIFT : tag ? tag - 1 : own.rank;
    const u32 offset = generic ? u32(address) : u32(address & RANK_OFFSET);
    if (rank >= warp.state->worker->cluster_blocks) {
        const u64 shown = std::min<u64>(rank, RANK_OFFSET);
        fault(warp, instruction, FaultKind::unwritten_window, lane, SHARED_WINDOW + (shown << WINDOW_RANK_SHIFT) + offset);
        return {nullptr, 0};
    }
    return {own.leader + rank, offset};
}

bool check_place(Warp& warp, const Instruction& instruction, u32 lane, const Place& place, u64 bytes,
                 Purpose purpose) {
    const u64 size = warp.state->worker->launch->shared_bytes;
    if (place.offset <= size && bytes <= size - place.offset) {
        return true;
    }
    fault(warp, instruction, outside(purpose), lane, SHARED_WINDOW + std::max<u64>(place.offset, size));
    return false;
}

void count_bulk(Warp& warp, u32 bytes) {
    constexpr u32 WAVEFRONT_BYTES = 128;
    Counters& counters = warp.state->worker->counters[warp.state->position];
    const u64 passes = (bytes + WAVEFRONT_BYTES - 1) / WAVEFRONT_BYTES;
    ++counters.shared_requests;
    counters.wavefronts += passes;
    counters.ideal_wavefronts += passes;
}

void watch_place(Warp& warp, const Instruction& instruction, u32 lane, const Place& place, u32 bytes,
                 Purpose purpose) {
    if (!strict(warp)) {
        return;
    }
    u64 offsets[LANES];
    offsets[lane] = place.offset;
    watch_shared(warp, instruction, 1u << lane, offsets, bytes, purpose, *place.owner, nullptr);
}

}  // namespace simt
