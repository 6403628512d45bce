// Barriers of a block (bar, barrier.cta) and of a cluster; mbarriers.cpp has mbarriers.
//
// BARRIER: f the form (BarrierForm), a register of the number, b register of the number of threads or NONE (all),
// c predicate that a reduction reads, e 1 if it is negated, d its result: a register (count) or predicate.
#include "machine.hpp"
#include "shadow.hpp"

namespace simt {

namespace {

void store_result(WarpState& state, const Barrier& barrier) {
    const Instruction& instruction = *state.waiting_at;
    Warp& warp = state.warp;
    if (instruction.f == REDUCE_COUNT) {
        u32* result = lanes_of<u32>(warp.registers, instruction.d);
        each_lane(state.waiting_lanes, [&](int lane) { result[lane] = barrier.count; });
    } else if (instruction.f == REDUCE_AND) {
        set_predicate(warp, instruction.d, barrier.count == barrier.lanes ? ALL : 0, state.waiting_lanes);
    } else if (instruction.f == REDUCE_OR) {
        set_predicate(warp, instruction.d, barrier.count ? ALL : 0, state.waiting_lanes);
    }
}

// Releases the waiting warps if enough warps have arrived.
void complete(Block& block, u32 number) {
    Barrier& barrier = block.barriers[number];
    const u32 needed = barrier.expected ? barrier.expected : block.running;
    if (!barrier.arrived || barrier.arrived < needed) {
        return;
    }
    u64 waited = 0, ended = 0;  // a warp that ends has arrived at barriers of all threads
    for (WarpState& state : block.warps) {
        ended |= u64(state.status == WarpStatus::done && !barrier.expected) << state.warp.index;
        if (state.status == WarpStatus::waiting && state.barrier == number) {
            store_result(state, barrier);
            waited |= u64(1) << state.warp.index;
            resume(state);
        }
    }
    if (block.shadow) {
        block.shadow->synchronise(barrier.participants | ended, waited);
    }
    barrier = {};
}

void complete_cluster(Block& leader) {
    Block* blocks = &leader;
    const u32 count = leader.worker->cluster_blocks;
    u32 running = 0;
    for (u32 k = 0; k < count; ++k) {
        running += blocks[k].running;
    }
    if (!leader.cluster_arrived || leader.cluster_arrived < running) {
        return;
    }
    leader.cluster_arrived = 0;
    ++leader.cluster_phase;
    for (u32 k = 0; k < count; ++k) {
        u64 all = 0, left = 0;
        for (WarpState& state : blocks[k].warps) {
            all |= u64(1) << state.warp.index;
            left |= u64(state.status != WarpStatus::done) << state.warp.index;
            if (state.status == WarpStatus::waiting && state.barrier == CLUSTER_BARRIER) {
                resume(state);
            }
        }
        if (blocks[k].shadow) {
            blocks[k].shadow->synchronise(all, left);
        }
    }
}

void arrive_at_cluster(WarpState& state, const Instruction& instruction, u32 lanes) {
    Block& leader = *state.block->leader;
    if (instruction.f == CLUSTER_ARRIVE) {
        state.cluster_phase = leader.cluster_phase + 1;
        ++leader.cluster_arrived;
        complete_cluster(leader);
    } else if (leader.cluster_phase < state.cluster_phase) {
        wait_at(state, instruction, lanes, CLUSTER_BARRIER);
    } else {
        meet(state.warp, lanes);  // the last warp to arrive does not wait, but its lanes synchronise too
    }
}

// The number of the barrier, or BARRIERS after a fault.
u32 number_of(WarpState& state, const Instruction& instruction, u32 lanes) {
    const u32 lane = first_lane(lanes);
    const u32 number = lanes_of<u32>(state.warp.registers, instruction.a)[lane];
    if (number >= BARRIERS) {
        fault(state.warp, instruction, FaultKind::invalid_operand, lane, number);
        return BARRIERS;
    }
    return number;
}

}  // namespace

void wait_at(WarpState& state, const Instruction& instruction, u32 lanes, u32 barrier) {
    state.status = WarpStatus::waiting;
    state.barrier = barrier;
    state.waiting_at = &instruction;
    state.waiting_lanes = lanes;
}

void resume(WarpState& state) {
    state.status = WarpStatus::ready;
    state.loops = 0;
}

void arrive(WarpState& state, const Instruction& instruction, u32 lanes) {
    Warp& warp = state.warp;
    Block& block = *state.block;
    if (instruction.f == MBARRIER_WAIT) {
        wait_for_mbarrier(state, instruction, lanes);
        return;
    }
    ++state.worker->changes;
    if (lanes != warp.live) {
        // The lanes that are here continue without waiting, so that the kernel ends.
        fault(warp, instruction, FaultKind::divergent_barrier, first_lane(lanes));
        return;
    }
    if (instruction.f == CLUSTER_ARRIVE || instruction.f == CLUSTER_WAIT) {
        arrive_at_cluster(state, instruction, lanes);
        return;
    }
    const u32 number = number_of(state, instruction, lanes);
    if (number == BARRIERS) {
        return;
    }
    Barrier& barrier = block.barriers[number];
    if (instruction.b != NONE) {
        const u32 threads = lanes_of<u32>(warp.registers, instruction.b)[first_lane(lanes)];
        barrier.expected = (threads + LANES - 1) / LANES;
    }
    ++barrier.arrived;
    barrier.participants |= u64(1) << warp.index;
    barrier.lanes += count_lanes(lanes);
    if (instruction.f >= REDUCE_COUNT) {
        barrier.count += count_lanes(lanes_where(warp, instruction.c, instruction.e) & lanes);
    }
    if (instruction.f != ARRIVE) {
        wait_at(state, instruction, lanes, number);
    }
    complete(block, number);
}

void warp_done(WarpState& state) {
    Block& block = *state.block;
    state.status = WarpStatus::done;
    ++state.worker->changes;
    --block.running;
    for (u32 number = 0; number < BARRIERS; ++number) {
        if (block.barriers[number].arrived && !block.barriers[number].expected) {
            complete(block, number);
        }
    }
    if (block.leader->cluster_arrived) {
        complete_cluster(*block.leader);
    }
}

}  // namespace simt
