// Loads whose value a later instruction may drop (lower/chosen_loads.py), which strict launches check at that instruction.
#include "access.hpp"

namespace simt {

void keep_for_later(Warp& warp, const Access& access, u64 window) {
    u64* kept = lanes_of<u64>(warp.registers, access.later);
    each_lane(access.lanes, [&](int lane) { kept[lane] = window + access.at[lane]; });
}

// e: slot of the number of loads and, for each, its index, bytes, the number of its conditions and the conditions:
// 2 x predicate, + 1 if the predicate must be false.
void check_loads(Warp& warp, const Instruction& instruction) {
    const u32* word = lanes_of<u32>(warp.registers, instruction.e);
    for (u32 loads = *word++; loads; --loads) {
        const Instruction& load = warp.state->worker->launch->code[*word++];
        const u32 bytes = *word++;
        u32 lanes = warp.active;
        for (u32 conditions = *word++; conditions; --conditions, ++word) {
            lanes &= lanes_where(warp, *word >> 1, *word & 1);
        }
        const u64* kept = lanes_of<u64>(warp.registers, load.d);
        u64 offsets[LANES];
        each_lane(lanes, [&](int lane) {
            offsets[lane] = kept[lane] << (64 - WINDOW_SHIFT) >> (64 - WINDOW_SHIFT);
        });
        const u32 local = lanes_if(lanes, [&](int lane) { return kept[lane] >= LOCAL_WINDOW; });
        const u32 shared = lanes_if(lanes & ~local, [&](int lane) { return kept[lane] >= SHARED_WINDOW; });
        if (shared) {
            watch_shared(warp, load, shared, offsets, bytes, Purpose::read, *warp.state->block, nullptr);
        }
        if (local) {
            watch_local(warp, load, local, offsets, bytes, Purpose::read);
        }
    }
}

}  // namespace simt
