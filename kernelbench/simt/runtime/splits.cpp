// Independent progress of the lanes of a warp, as on sm_70 and later.
//
// Diverged lanes normally run one path after the other. Where a path spins until the lanes of another path do something
// (a lock, a flag), it becomes a split, and the others go on. Splits take turns. They wait for each other where an
// instruction needs all of their lanes, and become one again if their paths are the same.
#include <algorithm>
#include <cstring>

#include "machine.hpp"

namespace simt {

namespace {

// Backward branches until the first check. Intervals between checks are multiples of it, so that loops of the most
// common periods repeat their state.
constexpr u32 FIRST_CHECK = 60;

void restart_checks(Split& split) {
    split.loops = 0;
    split.next_check = FIRST_CHECK;
    split.seen_changes = NEVER;
}

u64 mixed(u64 state, const void* memory, size_t bytes) {
    const char* from = static_cast<const char*>(memory);
    for (size_t k = 0; k + sizeof(u64) <= bytes; k += sizeof(u64)) {
        state = (state ^ value_at<u64>(from + k)) * 0x9e3779b97f4a7c15ull;
        state ^= state >> 29;
    }
    return state;
}

// All that the next instructions depend on, besides memory.
u64 state_of(const WarpState& state) {
    const Launch& launch = *state.worker->launch;
    const u64 place[] = {state.position, state.warp.active, state.warp.carry, state.stack.size()};
    u64 found = mixed(1, place, sizeof(place));
    found = mixed(found, state.warp.predicates, (launch.predicate_count * sizeof(u32) + 7) / 8 * 8);
    return mixed(found, state.warp.registers, launch.register_bytes);
}

void save(WarpState& state) {
    if (state.lanes) {
        state.active = state.warp.active;
        state.others.push_back(state);
        state.lanes = state.warp.active = 0;
    }
}

void load(WarpState& state, size_t index) {
    static_cast<Split&>(state) = std::move(state.others[index]);
    state.others.erase(state.others.begin() + std::ptrdiff_t(index));
    state.warp.active = state.active & state.warp.live;
}

bool can_run(const Split& split, const Worker& worker) {
    return !split.blocked && split.stuck_at != worker.changes;
}

// Lanes that an instruction needs together.
u32 needed(const WarpState& state, const Instruction& instruction, u32 lanes) {
    if (instruction.kind == BARRIER) {
        return instruction.f == MBARRIER_WAIT ? lanes : state.warp.live;
    }
    const u32* masks = lanes_of<u32>(state.warp.registers, instruction.e);
    u32 found = lanes;
    each_lane(lanes, [&](int lane) { found |= masks[lane]; });
    return found & state.warp.live;
}

bool alike(const Split& a, const Split& b) {
    return a.position == b.position && a.reconverge == b.reconverge && a.frames.empty() && b.frames.empty() &&
           std::equal(a.stack.begin(), a.stack.end(), b.stack.begin(), b.stack.end(), [](const Path& x, const Path& y) {
               return x.position == y.position && x.reconverge == y.reconverge;
           });
}

void unite(std::vector<Split>& splits) {
    for (size_t first = 0; first < splits.size(); ++first) {
        for (size_t other = splits.size() - 1; other > first; --other) {
            Split &into = splits[first], &from = splits[other];
            if (into.blocked || from.blocked || !alike(into, from)) {
                continue;
            }
            into.lanes |= from.lanes;
            into.active |= from.active;
            for (size_t k = 0; k < into.stack.size(); ++k) {
                into.stack[k].lanes |= from.stack[k].lanes;
            }
            splits.erase(splits.begin() + std::ptrdiff_t(other));
        }
    }
}

// Executes the instruction that the splits at `position` wait at, all of them together.
void execute(WarpState& state, u32 position) {
    const Instruction& instruction = state.worker->launch->code[position];
    u32 lanes = 0;
    for (Split& split : state.others) {
        if (split.blocked && split.position == position) {
            lanes |= split.blocked;
            split.blocked = 0;
            ++split.position;
        }
    }
    lanes &= state.warp.live;
    state.position = position;  // where counters and faults are recorded
    if (instruction.kind == BARRIER) {
        arrive(state, instruction, lanes);
    } else {
        instruction.run(state.warp, instruction, lanes);
    }
    unite(state.others);
}

// Lets splits that wait for each other go on; false if none can.
bool converge(WarpState& state) {
    const Split* first = nullptr;
    bool stuck = false;
    for (const Split& split : state.others) {
        stuck |= !split.blocked;
        if (!split.blocked) {
            continue;
        }
        u32 together = 0;
        for (const Split& other : state.others) {
            together |= other.position == split.position ? other.blocked : 0;
        }
        if (!(needed(state, state.worker->launch->code[split.position], together) & ~together)) {
            execute(state, split.position);
            return true;
        }
        first = first ? first : &split;
    }
    if (!first || stuck) {
        return false;
    }
    execute(state, first->position);  // lanes that it needs wait elsewhere: a fault
    return true;
}

}  // namespace

void start_splits(WarpState& state) {
    static_cast<Split&>(state) = {0, NONE, state.warp.live, 0, 0, NEVER, 0, FIRST_CHECK, NEVER, 0, {}, {}};
    state.others.clear();
}

bool next_split(WarpState& state) {
    do {
        if (state.status != WarpStatus::ready) {
            return false;
        }
        if (state.lanes) {
            return true;  // the rest of a split that parted
        }
        for (size_t index = 0; index < state.others.size(); ++index) {
            if (can_run(state.others[index], *state.worker)) {
                load(state, index);
                return true;
            }
        }
    } while (converge(state));
    return false;
}

bool pick_split(WarpState& state) {
    if (state.others.empty()) {
        return state.stuck_at != state.worker->changes;
    }
    save(state);
    return next_split(state);
}

bool must_wait(const WarpState& state, const Instruction& instruction, u32 lanes) {
    if (state.others.empty()) [[likely]] {
        return false;
    }
    u32 elsewhere = 0;
    for (const Split& split : state.others) {
        elsewhere |= split.lanes;
    }
    return needed(state, instruction, lanes) & elsewhere & ~lanes;
}

void block_split(WarpState& state, u32 lanes) {
    state.blocked = lanes;
    save(state);
}

bool spins(WarpState& state) {
    if (state.seen_changes != state.worker->changes) {
        restart_checks(state);
        state.seen_changes = state.worker->changes;
        state.seen_state = state_of(state);
        return false;
    }
    state.next_check *= 2;
    const u64 before = state.seen_state;
    state.seen_state = state_of(state);
    return before == state.seen_state;
}

bool part(WarpState& state) {
    const u32 spinning = state.warp.active;
    const u32 rest = state.lanes & state.warp.live & ~spinning;
    state.stuck_at = state.worker->changes;
    restart_checks(state);
    if (!rest && state.others.empty()) {
        return false;
    }
    const std::vector<Path> stack = state.stack;
    const std::vector<Frame> frames = state.frames;
    state.lanes = spinning;
    save(state);
    if (rest) {  // it goes on with the stack
        state.stack = stack;
        state.frames = frames;
        state.lanes = rest;
        state.stuck_at = NEVER;
    }
    return next_split(state);
}

}  // namespace simt
