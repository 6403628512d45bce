// Shared memory (of the block and, in a cluster, of other blocks), local memory and parameters.
#include <algorithm>
#include <cstring>

#include "access.hpp"

namespace simt {

namespace {

// Wavefronts of 4-byte lanes at a constant stride, 0 for other patterns: the stride determines the bank conflicts.
u32 strided_wavefronts(const u64* offsets) {
    const u64 step = offsets[1] - offsets[0];
    if (!step || step % 4) {
        return 0;
    }
    u64 bend = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        bend |= offsets[lane] ^ (offsets[0] + u64(lane) * step);
    }
    return bend ? 0 : std::min<u32>(LANES, u32(step / 4) & (0u - u32(step / 4)));
}

void count_conflict(Counters& counters, u64 passes, u64 ideal) {
    if (ideal && passes > ideal) {
        const u64 ways = std::min((passes + ideal - 1) / ideal, WAYS_ABOVE - 1);
        counters.most_ways = std::max(counters.most_ways, ways);
        counters.least_ways = std::max(counters.least_ways, WAYS_ABOVE - ways);
    }
}

// The machine code makes several accesses as one: it counts once, for the one that begins it.
void count_joined(Counters& counters, Purpose purpose, const Access& access) {
    const u32 bytes = access.joined;
    if (!bytes || access.at[first_lane(access.lanes)] % bytes >= access.first) {
        return;
    }
    u64 at[LANES] = {};
    each_lane(access.lanes, [&](int lane) { at[lane] = access.at[lane] / bytes * bytes; });
    const u64 passes = count_wavefronts(at, access.lanes, bytes, purpose);
    const u64 ideal = count_ideal_wavefronts(at, access.lanes, bytes);
    ++counters.shared_requests;
    counters.wavefronts += passes;
    counters.ideal_wavefronts += ideal;
    count_conflict(counters, passes, ideal);
}

// Compare-and-swap takes two passes for each pass of other atomics. If an atomic only counts its lanes (f is 1, see
// lower/memory.py), lanes on one word are served together, as for a store.
void count_shared(Counters& counters, const Instruction& instruction, u32 bytes, Purpose purpose,
                  const Access& access) {
    const bool update = purpose == Purpose::update;
    if (access.joined != NONE) {
        count_joined(counters, purpose, access);
        return;
    }
    const u32 passes_each = update && instruction.e != NONE ? 2 : 1;
    const Purpose way = update && instruction.f == 1 ? Purpose::write : purpose;
    ++counters.shared_requests;
    if (access.lanes == ALL && bytes == 4) {
        const bool broadcast = access.shape == Shape::uniform && way != Purpose::update;
        if (const u32 passes = broadcast ? 1 : strided_wavefronts(access.at)) {
            counters.wavefronts += passes * passes_each;
            ++counters.ideal_wavefronts;
            count_conflict(counters, update ? 0 : passes, 1);
            return;
        }
    }
    const u64 passes = count_wavefronts(access.at, access.lanes, bytes, way);
    const u64 ideal = count_ideal_wavefronts(access.at, access.lanes, bytes);
    counters.wavefronts += passes * passes_each;
    counters.ideal_wavefronts += ideal;
    count_conflict(counters, update ? 0 : passes, ideal);
}

// Drops lanes that are misaligned or outside `size`; their faults show `window` + offset.
void keep_good(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access, u64 size,
               u64 window) {
    u64 highest = 0, bits = 0;
    each_lane(access.lanes, [&](int lane) {
        highest = std::max(highest, access.at[lane]);
        bits |= access.at[lane];
    });
    if (highest < size && size - highest >= bytes && !(bits & (bytes - 1))) [[likely]] {
        return;
    }
    each_lane(u32(access.lanes), [&](int lane) {
        const u64 offset = access.at[lane];
        const bool crooked = offset & (bytes - 1);
        if (crooked || offset >= size || size - offset < bytes) {
            fault(warp, instruction, crooked ? FaultKind::misaligned : outside(purpose), lane, window + offset);
            access.lanes &= ~(1u << lane);
        }
    });
    access.shape = Shape::scattered;
}

// Lanes of `access` in the shared memory of `owner`, as offsets.
void access_shared_of(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access,
                      Block& owner) {
    WarpState& state = *warp.state;
    const Launch& launch = *state.worker->launch;
    access.shape = access.lanes == ALL ? shape_of(access.at, bytes) : Shape::scattered;
    count_shared(state.worker->counters[state.position], instruction, bytes, purpose, access);
    keep_good(warp, instruction, bytes, purpose, access, launch.shared_bytes, SHARED_WINDOW);
    state.worker->changes += purpose == Purpose::write;
    if (launch.strict && access.later != NONE && &owner == state.block) [[unlikely]] {
        keep_for_later(warp, access, SHARED_WINDOW);
    } else if (launch.strict) {
        watch_shared(warp, instruction, access.lanes, access.at, bytes, purpose, owner, access.gather);
    }
    for (u64& at : access.at) {
        at += reinterpret_cast<u64>(owner.shared);
    }
}

// Accesses the memory of one block of the cluster after the other; ranks[lane] is the block's rank.
void access_cluster(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access,
                    const u32* ranks) {
    Block& own = *warp.state->block;
    u32 good = 0;
    for (u32 left = access.lanes, same; left; left &= ~same) {
        const u32 rank = ranks[first_lane(left)];
        same = lanes_if(left, [&](int lane) { return ranks[lane] == rank; });
        if (rank >= warp.state->worker->cluster_blocks) {
            each_lane(same, [&](int lane) {
                fault(warp, instruction, FaultKind::unwritten_window, lane,
                      SHARED_WINDOW + (u64(rank) << WINDOW_RANK_SHIFT) + access.at[lane]);
            });
            continue;
        }
        Access part = access;
        part.lanes = same;
        access_shared_of(warp, instruction, bytes, purpose, part, own.leader[rank]);
        each_lane(part.lanes, [&](int lane) { access.at[lane] = part.at[lane]; });
        good |= part.lanes;
    }
    access.lanes = good;
    access.shape = Shape::scattered;
}

void access_thread(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access,
                   bool watched) {
    WarpState& state = *warp.state;
    const u64 size = state.worker->launch->local_bytes;
    state.worker->changes += purpose != Purpose::read;
    access.shape = Shape::scattered;
    keep_good(warp, instruction, bytes, purpose, access, size, LOCAL_WINDOW);
    if (watched && access.later != NONE) {
        keep_for_later(warp, access, LOCAL_WINDOW);
    } else if (watched) {
        watch_local(warp, instruction, access.lanes, access.at, bytes, purpose);
    }
    for (int lane = 0; lane < LANES; ++lane) {
        access.at[lane] += reinterpret_cast<u64>(state.local) + u64(lane) * size;
    }
}

}  // namespace

void watch_shared(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes,
                  Purpose purpose, Block& owner, Gather gather) {
    if (&owner == warp.state->block) {
        owner.shadow->access(warp, instruction, lanes, offsets, bytes, purpose, owner.shared, gather);
    } else {
        owner.shadow->access_from_away(warp, instruction, lanes, offsets, bytes, purpose);
    }
}

void watch_local(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes,
                 Purpose purpose) {
    const u64 size = warp.state->worker->launch->local_bytes;
    each_lane(lanes, [&](int lane) {
        u8* states = warp.state->local_states + u64(lane) * size + offsets[lane];
        if (purpose != Purpose::write && std::find(states, states + bytes, 0) != states + bytes) {
            fault(warp, instruction, FaultKind::uninitialised_local, lane, LOCAL_WINDOW + offsets[lane]);
        }
        if (purpose != Purpose::read) {
            std::memset(states, 1, bytes);
        }
    });
}

void form_addresses(const Warp& warp, const Instruction& instruction, u64* addresses) {
    const u64 displacement = u64(instruction.immediate);
    if (instruction.a == NONE) {
        std::fill_n(addresses, LANES, displacement);
    } else if (instruction.b == 8) {
        const u64* base = lanes_of<u64>(warp.registers, instruction.a);
        for (int lane = 0; lane < LANES; ++lane) {
            addresses[lane] = base[lane] + displacement;
        }
    } else {
        const u32* base = lanes_of<u32>(warp.registers, instruction.a);
        for (int lane = 0; lane < LANES; ++lane) {
            addresses[lane] = u32(base[lane] + u32(displacement));
        }
    }
}

void access_shared(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access) {
    u64 high = 0;
    each_lane(access.lanes, [&](int lane) { high |= access.at[lane] >> RANK_SHIFT; });
    if (!high || (warp.state->worker->cluster_blocks == 1 && high != 1)) [[likely]] {
        access_shared_of(warp, instruction, bytes, purpose, access, *warp.state->block);
        return;
    }
    u32 ranks[LANES];
    each_lane(access.lanes, [&](int lane) {
        const u64 tag = access.at[lane] >> RANK_SHIFT;
        ranks[lane] = tag ? u32(tag - 1) : warp.state->block->rank;
        access.at[lane] &= RANK_OFFSET;
    });
    access_cluster(warp, instruction, bytes, purpose, access, ranks);
}

void access_local(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access) {
    WarpState& state = *warp.state;
    Counters& counters = state.worker->counters[state.position];
    ++counters.local_requests;
    counters.local_sectors += count_local_sectors(access.at, access.lanes, bytes);
    access_thread(warp, instruction, bytes, purpose, access, state.local_states);
}

// Compilers also copy the padding of structures, so reading it is not a fault.
void access_argument(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access) {
    const bool watched = warp.state->local_states && purpose != Purpose::read;
    access_thread(warp, instruction, bytes, purpose, access, watched);
}

void access_parameters(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access) {
    const Launch& launch = *warp.state->worker->launch;
    access.shape = access.lanes == ALL ? shape_of(access.at, bytes) : Shape::scattered;
    keep_good(warp, instruction, bytes, purpose, access, launch.parameter_bytes, PARAMETER_WINDOW);
    for (u64& at : access.at) {
        at += reinterpret_cast<u64>(launch.parameters);
    }
}

void access_generic(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access) {
    const auto in = [&](u64 window) {
        return lanes_if(access.lanes, [&](int lane) { return access.at[lane] >> WINDOW_SHIFT == window >> WINDOW_SHIFT; });
    };
    const u32 shared = in(SHARED_WINDOW), local = in(LOCAL_WINDOW), global = access.lanes & ~shared & ~local;
    if (global == access.lanes) {
        access_global(warp, instruction, bytes, purpose, access);
        return;
    }
    u32 ranks[LANES];
    each_lane(shared, [&](int lane) { ranks[lane] = u32((access.at[lane] - SHARED_WINDOW) >> WINDOW_RANK_SHIFT); });
    Access parts[3] = {access, access, access};
    parts[0].lanes = global;
    parts[1].lanes = shared;
    parts[2].lanes = local;
    if (global) {
        access_global(warp, instruction, bytes, purpose, parts[0]);
    }
    if (shared) {
        each_lane(shared, [&](int lane) { parts[1].at[lane] = u32(access.at[lane]); });
        access_cluster(warp, instruction, bytes, purpose, parts[1], ranks);
    }
    if (local) {
        each_lane(local, [&](int lane) { parts[2].at[lane] -= LOCAL_WINDOW; });
        access_local(warp, instruction, bytes, purpose, parts[2]);
    }
    access.lanes = 0;
    for (const Access& part : parts) {
        each_lane(part.lanes, [&](int lane) { access.at[lane] = part.at[lane]; });
        access.lanes |= part.lanes;
    }
    access.shape = Shape::scattered;
}

}  // namespace simt
