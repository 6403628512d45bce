// A warp as operations see it: its registers, predicates and masks, and how an operation reports a fault or a
// meeting of lanes. What the machine keeps beside that (stack, block, counters) is behind `state`.
#pragma once

#include "core.hpp"

namespace simt {

struct WarpState;  // machine.hpp: position, stack, block, worker

struct Warp {
    u8* registers;    // the register file; see lanes_of
    u32* predicates;  // 32 lanes per predicate
    u32 active;       // lanes on the path that runs now
    u32 live;         // lanes that have not exited
    u32 carry;        // condition code of add.cc and the like, one bit per lane
    u32 index;        // of the warp in its block
    WarpState* state;
};

// Records what `lane` did wrong at this instruction. The operation goes on: skip the access of that lane.
void fault(Warp& warp, const Instruction& instruction, FaultKind kind, u32 lane, u64 address = 0);

// Lanes meet here (bar.warp, shfl.sync, vote.sync, match.sync, redux.sync): what they wrote before is seen by each
// other after. Costs nothing unless hazards within a warp are watched.
void meet(Warp& warp, u32 lanes);

// Warp instructions that this worker has executed: what %clock and %globaltimer show. It only grows.
u64 ticks(const Warp& warp);

// Whether the launch asked for the strict checks.
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

// Lanes where predicate `index` holds; `negated` 1 turns it round. NONE holds everywhere.
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

// Calls body(lane) for each lane of `lanes`, in order; a full warp is a plain loop that the compiler can vectorise.
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

}  // namespace simt
