// Runs the blocks of a group (one block, a cluster, or co-resident blocks) concurrently: in each round, every warp that
// does not wait has a turn, until all have exited or none can proceed.
#include <algorithm>
#include <ctime>

#include "machine.hpp"

namespace simt {

namespace {

constexpr u64 TURN = 1u << 16;      // instructions until the next warp runs, so that a spinning warp does not block it
constexpr u64 GROUP_TURN = 1u << 10;
constexpr u64 PATIENCE = 1u << 8;    // rounds until mbarrier.try_wait returns false, which it may do at any time
constexpr u64 QUIET = 1u << 12;      // rounds of only polls and waits without a change that count as a deadlock

constexpr u64 LONG = 1u << 22;       // instructions of a block, after which it may take no longer than
constexpr u64 LONG_NS = 4'000'000'000;

u64 cpu_time_ns() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return u64(now.tv_sec) * 1'000'000'000 + u64(now.tv_nsec);
}

// Whether a block has run for so long that it is taken for endless: for all of its budget, or for seconds.
bool exhausted(Worker& worker, const Block& block) {
    if (!block.budget || worker.launch->budget - block.budget <= LONG) {
        return !block.budget;
    }
    const u64 now = cpu_time_ns();  // a system call, without which most groups end
    worker.long_since_ns = worker.long_since_ns ? worker.long_since_ns : now;
    return now - worker.long_since_ns > LONG_NS;
}

// One turn of a warp; false if its block does not end.
bool take_turn(Worker& worker, Block& block, WarpState& state, u64 turn) {
    const u64 given = block.budget < turn ? block.budget : turn;
    state.left = given;
    state.idle = false;
    worker.running = &state;
    worker.executed += given;
    run_warp(state);
    worker.executed -= state.left;
    block.budget -= given - state.left;
    state.left = 0;
    return !exhausted(worker, block);
}

bool waits_for_mbarrier(const WarpState& state) {
    return state.status == WarpStatus::waiting && state.barrier == MBARRIER;
}

void blame(WarpState& state, FaultKind kind) {
    const Launch& launch = *state.worker->launch;
    if (waits_for_mbarrier(state)) {
        const u32 lane = first_lane(state.waiting_lanes);
        fault(state.warp, *state.waiting_at, FaultKind::mbarrier_deadlock, lane, awaited_bits(state));
        return;
    }
    const auto stuck = std::find_if(state.others.begin(), state.others.end(),
                                    [](const Split& one) { return !one.blocked; });
    u32 position = stuck == state.others.end() ? state.position : stuck->position;
    if (kind == FaultKind::deadlock && state.polled_position != NONE) {
        position = state.polled_position;
    }
    position = std::min(position, launch.code_count - 1);
    const Instruction& at = state.status == WarpStatus::waiting ? *state.waiting_at : launch.code[position];
    const u32 lanes = state.warp.active ? state.warp.active : 1;
    fault(state.warp, at, kind, first_lane(lanes));
}

void cut_short(Worker& worker, WarpState& state, FaultKind kind) {
    blame(state, kind);
    worker.cut_short = true;
    u64 seen = worker.last_block->load();
    while (state.block->index < seen && !worker.last_block->compare_exchange_weak(seen, state.block->index)) {
    }
}

// One turn for each warp that does not wait. `ran`: there was one; `busy`: one did more than repeat a poll. False if
// the group is cut short.
bool run_round(Worker& worker, u32 count, bool& ran, bool& busy) {
    const u64 turn = count > 1 ? GROUP_TURN : TURN;
    for (u32 place = 0; place < count; ++place) {
        Block& block = worker.group[place];
        for (WarpState& state : block.warps) {
            if (state.status != WarpStatus::ready) {
                continue;
            }
            ran = true;
            if (!take_turn(worker, block, state, turn)) {
                cut_short(worker, state, FaultKind::endless);
                return false;
            }
            busy |= !state.idle;
        }
        if (*static_cast<const volatile u32*>(worker.launch->stop)) {
            worker.stopped = true;
            return false;
        }
    }
    return true;
}

// Ends all waits for mbarriers; false if there are none.
bool end_waits(Worker& worker, u32 count) {
    bool any = false;
    for (u32 place = 0; place < count; ++place) {
        for (WarpState& state : worker.group[place].warps) {
            if (waits_for_mbarrier(state)) {
                give_up_waiting(state);
                any = true;
            }
        }
    }
    return any;
}

// The warp that explains best why the group is stuck: one that waits for an mbarrier, else polls, else is at a barrier.
WarpState* stuck(Worker& worker, u32 count) {
    WarpState* found = nullptr;
    for (u32 place = 0; place < count; ++place) {
        for (WarpState& state : worker.group[place].warps) {
            if (waits_for_mbarrier(state)) {
                return &state;
            }
            const bool polls = state.status == WarpStatus::ready;
            if (polls ? !found || found->status != WarpStatus::ready : !found && state.status != WarpStatus::done) {
                found = &state;
            }
        }
    }
    return found;
}

}  // namespace

void run_group(Worker& worker, const u64* blocks, u32 count) {
    for (u32 place = 0; place < count; ++place) {
        start_block(worker, worker.group[place], blocks[place], place);
    }
    worker.long_since_ns = 0;
    for (u64 round = 1, quiet = 0; quiet < QUIET; ++round) {
        const u64 before = worker.changes;
        bool ran = false, busy = false;
        if (!run_round(worker, count, ran, busy)) {
            return;
        }
        quiet = busy || worker.changes != before ? 0 : quiet + 1;
        if (quiet < QUIET && (!ran || round % PATIENCE == 0) && !end_waits(worker, count) && !ran) {
            break;
        }
    }
    if (WarpState* state = stuck(worker, count)) {
        cut_short(worker, *state, FaultKind::deadlock);
        return;
    }
    worker.blocks_run += count;
    for (u32 place = 0; place < count; ++place) {
        worker.unsound_blocks += worker.group[place].unsound;
    }
}

}  // namespace simt
