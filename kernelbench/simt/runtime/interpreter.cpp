// The interpreter loop of one warp: guards, branches and the stack of diverged paths.
#include "access.hpp"
#include "machine.hpp"

namespace simt {

namespace {

// Continues with the next path of the stack that has live lanes; false if there is none.
bool next_path(WarpState& state) {
    while (!state.stack.empty()) {
        const Path path = state.stack.back();
        state.stack.pop_back();
        state.position = path.position;
        state.reconverge = path.reconverge;
        state.warp.active = path.lanes & state.lanes & state.warp.live;
        if (state.warp.active && state.position != state.reconverge) {
            return true;
        }
    }
    return false;
}

// Defers `lanes` to `position`, unless that is their reconvergence point.
void push_path(WarpState& state, u32 position, u32 reconverge, u32 lanes) {
    if (position != reconverge) {
        state.stack.push_back({position, reconverge, lanes});
    }
}

// Opens a region that ends at `reconverge`, where all active lanes continue together. A region that ends with the
// enclosing one needs no entry, so loops do not grow the stack.
void open_region(WarpState& state, u32 reconverge) {
    if (reconverge != state.reconverge) {
        state.stack.push_back({reconverge, state.reconverge, state.warp.active});
        state.reconverge = reconverge;
    }
}

void branch(WarpState& state, const Instruction& instruction, u32 taken, Counters& counters) {
    Warp& warp = state.warp;
    const u32 stays = warp.active & ~taken;
    if (!taken) {
        ++state.position;
        return;
    }
    if (!stays) {
        state.position = instruction.target;
        return;
    }
    ++counters.divergences;
    const u32 next = state.position + 1;
    const u32 meet_at = instruction.reconverge;
    open_region(state, meet_at);
    // Backward branches first, so that a loop ends before the code after it runs.
    const bool target_first = instruction.target <= state.position;
    push_path(state, target_first ? next : instruction.target, meet_at, target_first ? stays : taken);
    warp.active = target_first ? taken : stays;
    state.position = target_first ? instruction.target : next;
}

// brx.idx: register a holds the index, b is the first entry in the table, c the number of entries.
void table_branch(WarpState& state, const Instruction& instruction, u32 lanes, Counters& counters) {
    Warp& warp = state.warp;
    const Launch& launch = *state.worker->launch;
    const u32* index = lanes_of<u32>(warp.registers, instruction.a);
    const u32 stays = warp.active & ~lanes;
    const u32 next = state.position + 1;
    u32 targets[LANES];
    each_lane(lanes, [&](int lane) {
        if (index[lane] >= instruction.c) {
            fault(warp, instruction, FaultKind::invalid_operand, lane, index[lane]);
        }
        targets[lane] = launch.table[instruction.b + (index[lane] < instruction.c ? index[lane] : 0)];
    });
    if (!lanes) {
        state.position = next;
        return;
    }
    const u32 meet_at = instruction.reconverge;
    const u32 before = warp.active;
    const u32 outer = state.reconverge;
    const size_t depth = state.stack.size();
    open_region(state, meet_at);
    u32 paths = 0;
    if (stays) {
        push_path(state, next, meet_at, stays);
        ++paths;
    }
    for (u32 left = lanes, same; left; left &= ~same) {
        const u32 target = targets[first_lane(left)];
        same = lanes_if(left, [&](int lane) { return targets[lane] == target; });
        push_path(state, target, meet_at, same);
        ++paths;
    }
    if (paths == 1) {  // no divergence
        state.stack.resize(depth);
        state.reconverge = outer;
        state.position = targets[first_lane(lanes)];
        warp.active = before;
        return;
    }
    ++counters.divergences;
    warp.active = 0;  // the loop takes the path pushed last
}

void trap(WarpState& state, const Instruction& instruction, u32 lanes) {
    const auto kind = instruction.f ? FaultKind::assertion : FaultKind::trapped;
    each_lane(lanes, [&](int lane) { fault(state.warp, instruction, kind, lane); });
    exit_lanes(state, lanes);
}

// Whether the warp repeats its last poll, or only sleeps.
bool polls_again(WarpState& state, const Instruction& instruction, u32 lanes) {
    if (!instruction.run || !lanes) {
        return true;
    }
    u64 addresses[LANES];
    form_addresses(state.warp, instruction, addresses);
    const u64 address = addresses[first_lane(lanes)];
    const bool again = state.polled_position == state.position && state.polled_address == address;
    state.polled_position = state.position;
    state.polled_address = address;
    return again;
}

// Kinds that are rare, out of the way of the loop.
[[gnu::noinline, gnu::cold]] void others(WarpState& state, const Instruction& instruction, u32 lanes) {
    if (instruction.kind == CALL) {
        call(state, instruction, lanes);
    } else if (instruction.kind == RETURN) {
        return_to_caller(state);
    } else {
        if (instruction.kind == CHOOSE && lanes) {
            instruction.run(state.warp, instruction, lanes);
            if (strict(state.warp)) {
                check_loads(state.warp, instruction);
            }
        }
        ++state.position;
    }
}

}  // namespace

void exit_lanes(WarpState& state, u32 lanes) {
    state.warp.live &= ~lanes;
    state.warp.active &= ~lanes;
    ++state.position;
}

void run_warp(WarpState& state) {
    Warp& warp = state.warp;
    if (!pick_split(state)) {
        state.idle = true;
        return;
    }
    const Instruction* code = state.worker->launch->code;
    Counters* all_counters = state.worker->counters.data();
    while (state.left) {
        if (state.position == state.reconverge || !warp.active) [[unlikely]] {
            if (!next_path(state)) {
                if (state.others.empty()) {
                    warp_done(state);
                    return;
                }
                state.lanes = 0;
                if (!next_split(state)) {
                    return;
                }
                continue;
            }
        }
        --state.left;
        const Instruction& instruction = code[state.position];
        Counters& counters = all_counters[state.position];
        u32 lanes = warp.active;
        if (instruction.guard != NONE) {
            lanes &= warp.predicates[instruction.guard] ^ (0u - instruction.negated);
        }
        ++counters.warps;
        counters.threads += count_lanes(lanes);
        if (instruction.kind == COMPUTE || (instruction.kind == CONVERGE && state.others.empty())) [[likely]] {
            if (lanes) {
                instruction.run(warp, instruction, lanes);
            }
            ++state.position;
            continue;
        }
        switch (instruction.kind) {
            case BRANCH: {
                const u32 before = state.position;
                branch(state, instruction, lanes, counters);
                if (state.position <= before && ++state.loops >= state.next_check && spins(state) &&
                    !part(state)) [[unlikely]] {
                    state.idle = true;
                    return;
                }
                break;
            }
            case CONVERGE:
                if (lanes) {
                    if (must_wait(state, instruction, lanes)) {
                        block_split(state, lanes);
                        if (!next_split(state)) {
                            return;
                        }
                        break;
                    }
                    instruction.run(warp, instruction, lanes);
                }
                ++state.position;
                break;
            case TABLE_BRANCH:
                table_branch(state, instruction, lanes, counters);
                break;
            case EXIT:
                exit_lanes(state, lanes);
                break;
            case TRAP:
                trap(state, instruction, lanes);
                break;
            case BARRIER:
                if (lanes && must_wait(state, instruction, lanes)) {
                    block_split(state, lanes);
                    if (!next_split(state)) {
                        return;
                    }
                    break;
                }
                ++state.position;
                if (lanes) {
                    arrive(state, instruction, lanes);
                    if (state.status != WarpStatus::ready) {
                        return;
                    }
                }
                break;
            case YIELD:
                state.idle = polls_again(state, instruction, lanes);
                if (lanes && instruction.run) {
                    instruction.run(warp, instruction, lanes);
                }
                ++state.position;
                return;
            default:
                others(state, instruction, lanes);
        }
    }
}

}  // namespace simt
