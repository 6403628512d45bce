// A warp as operations see it: registers, predicates and masks, and functions to report faults and the
// synchronisation of lanes. `state` has the rest: stack, block, counters.
#pragma once

#include "core.hpp"

namespace simt {

struct WarpState;  // machine.hpp: position, stack, block, worker

struct Warp {
    u8* registers;    // the register file; see lanes_of
    u32* predicates;  // 32 lanes per predicate
    u32 active;       // lanes on the running path
    u32 live;         // lanes that have not exited
    u32 carry;        // condition code of add.cc etc., one bit per lane
    u32 index;        // of the warp in its block
    WarpState* state;
};

// Records a fault of `lane` at this instruction. The operation continues without the access of that lane.
void fault(Warp& warp, const Instruction& instruction, FaultKind kind, u32 lane, u64 address = 0);

// Lanes synchronise (bar.warp, shfl.sync, vote.sync, match.sync, redux.sync), for the detection of hazards.
void meet(Warp& warp, u32 lanes);

// Warp instructions that this worker has executed: the value of %clock and %globaltimer. It is monotonic.
u64 ticks(const Warp& warp);

// Whether the launch is strict.
bool strict(const Warp& warp);

// ---- Flags: predicates and lane masks -------------------------------------------------------------

inline bool has(u32 lanes, int lane) {
    return (lanes >> lane) & 1u;
}

inline int first_lane(u32 lanes) {
    return __builtin_ctz(lanes);
}

inline int count_lanes(u32 lanes) {
    return __builtin_popcount(lanes);
}

// Lanes where predicate `index`, negated if `negated` is 1, is true. NONE is true for all lanes.
inline u32 lanes_where(const Warp& warp, u32 index, u32 negated) {
    if (index == NONE) {
        return ALL;
    }
    return negated ? ~warp.predicates[index] : warp.predicates[index];
}

// Sets predicate `index` for `lanes` only; NONE discards.
inline void set_predicate(Warp& warp, u32 index, u32 value, u32 lanes) {
    if (index != NONE) {
        warp.predicates[index] = (warp.predicates[index] & ~lanes) | (value & lanes);
    }
}

// Calls body(lane) for each lane of `lanes` in order. For a full warp the compiler can vectorise the loop.
template <class Body>
inline void each_lane(u32 lanes, Body body) {
    if (lanes == ALL) {
        for (int lane = 0; lane < LANES; ++lane) {
            body(lane);
        }
        return;
    }
    for (u32 left = lanes; left; left &= left - 1) {
        body(first_lane(left));
    }
}

// Those of `lanes` for which holds(lane).
template <class Holds>
inline u32 lanes_if(u32 lanes, Holds holds) {
    u32 found = 0;
    each_lane(lanes, [&](int lane) { found |= u32(bool(holds(lane))) << lane; });
    return found;
}

}  // namespace simt
