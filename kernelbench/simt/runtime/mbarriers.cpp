// mbarriers, and st.async, whose bytes they count.
//
// A phase completes when no arrivals and no bytes are pending; the next phase expects the same number of arrivals.
// The address is that of memory operations: a, b, immediate.
#include <algorithm>
#include <cstring>

#include "asynchronous.hpp"
#include "lanes.hpp"

namespace simt {

namespace {

constexpr u32 MOST = (1u << 20) - 1;  // pending arrivals, and pending bytes
constexpr u32 PARITY_SHIFT = 2 * COUNT_BITS + TRANSACTION_BITS;

u32 parity_of(u64 bits) {
    return u32(bits >> PARITY_SHIFT) & 1;
}

void keep(Block& owner, const Mbarrier& one) {
    const u64 bits = one.bits();
    std::memcpy(owner.shared + one.offset, &bits, sizeof(bits));
}

// The place of an mbarrier; after a fault it has no owner.
Place mbarrier_place(Warp& warp, const Instruction& instruction, u32 lane, u64 address) {
    const Place place = shared_place(warp, instruction, lane, address);
    if (place.owner && place.offset % sizeof(u64)) {
        fault(warp, instruction, FaultKind::misaligned, lane, SHARED_WINDOW + place.offset);
        return {nullptr, 0};
    }
    return place.owner && check_place(warp, instruction, lane, place, sizeof(u64), Purpose::write) ? place
                                                                                                   : Place{nullptr, 0};
}

Mbarrier* find(Warp& warp, const Instruction& instruction, u32 lane, const Place& place) {
    std::vector<Mbarrier>& all = place.owner->mbarriers;
    auto found = std::find_if(all.begin(), all.end(), [&](const Mbarrier& one) { return one.offset == place.offset; });
    if (found != all.end()) {
        const u64 bits = found->bits();
        if (!std::memcmp(place.owner->shared + place.offset, &bits, sizeof(bits))) {
            return &*found;
        }
    }
    fault(warp, instruction, FaultKind::no_mbarrier, lane, SHARED_WINDOW + place.offset);
    return nullptr;
}

void forget(const Place& place) {
    std::vector<Mbarrier>& all = place.owner->mbarriers;
    all.erase(std::remove_if(all.begin(), all.end(), [&](const Mbarrier& one) { return one.offset == place.offset; }),
              all.end());
}

u32 lanes_over(WarpState& state, const Instruction& instruction, u32 lanes) {
    Warp& warp = state.warp;
    u64 at[LANES];
    form_addresses(warp, instruction, at);
    u32 over = 0;
    each_lane(lanes, [&](int lane) {
        const u32 bit = 1u << lane;
        const Place place = mbarrier_place(warp, instruction, lane, at[lane]);
        if (place.owner && place.owner != state.block) {
            fault(warp, instruction, FaultKind::mbarrier_elsewhere, lane, SHARED_WINDOW + place.offset);
            over |= bit;
            return;
        }
        const Mbarrier* one = place.owner ? find(warp, instruction, lane, place) : nullptr;
        const u32 asked = instruction.e ? parity_of(lanes_of<u64>(warp.registers, instruction.c)[lane])
                                        : lanes_of<u32>(warp.registers, instruction.c)[lane] & 1;
        over |= !one || (one->phase & 1) != asked ? bit : 0;  // an invalid wait ends, so that the kernel ends
    });
    return over;
}

// Ends the wait of a warp; `over`: lanes whose phase is complete, none of them after the time limit.
void end_wait(WarpState& state, const Instruction& instruction, u32 lanes, u32 over) {
    Warp& warp = state.warp;
    set_predicate(warp, instruction.d, over, lanes);
    if (over) {
        meet(warp, over);
    }
    if (state.block->shadow) {
        u64 at[LANES];
        form_addresses(warp, instruction, at);
        each_lane(over, [&](int lane) {
            const u32 offset = u32(at[lane]) & RANK_OFFSET;
            if (offset + sizeof(u64) <= state.worker->launch->shared_bytes) {
                state.block->shadow->acquire(warp.index, offset);
            }
        });
    }
}

void wake(Block& owner) {
    for (WarpState& state : owner.warps) {
        if (state.status != WarpStatus::waiting || state.barrier != MBARRIER) {
            continue;
        }
        const Instruction& instruction = *state.waiting_at;
        if (const u32 over = lanes_over(state, instruction, state.waiting_lanes)) {
            resume(state);
            end_wait(state, instruction, state.waiting_lanes, over);
        }
    }
}

// Counts `arrivals` and `bytes` (negative: they have arrived).
void count(Warp& warp, const Instruction& instruction, u32 lane, const Place& place, u32 arrivals, s64 bytes,
           u32 form = ARRIVAL) {
    Mbarrier& one = *find(warp, instruction, lane, place);
    const s64 outstanding = one.transactions + bytes;
    const bool too_many = arrivals > one.pending || (form == NO_COMPLETE && arrivals == one.pending);
    if (too_many || outstanding > s64(MOST) || outstanding < -s64(MOST)) {
        fault(warp, instruction, FaultKind::mbarrier_count, lane, SHARED_WINDOW + place.offset);
        return;
    }
    one.pending -= arrivals;
    one.expected -= form == DROP ? arrivals : 0;
    one.transactions = s32(outstanding);
    const bool over = !one.pending && !one.transactions;
    if (over) {
        ++one.phase;
        one.pending = one.expected;
    }
    keep(*place.owner, one);
    ++warp.state->worker->changes;
    if (SharedShadow* shadow = warp.state->block->shadow) {
        shadow->release(warp.index, place.offset, place.owner != warp.state->block);
    }
    if (over) {
        wake(*place.owner);
    }
}

// Calls body(lane, place) for each lane that names an mbarrier.
template <class Body>
void each_mbarrier(Warp& warp, const Instruction& instruction, u32 lanes, Body body) {
    u64 at[LANES];
    form_addresses(warp, instruction, at);
    each_lane(lanes, [&](int lane) {
        const Place place = mbarrier_place(warp, instruction, lane, at[lane]);
        if (place.owner && find(warp, instruction, lane, place)) {
            watch_place(warp, instruction, lane, place, sizeof(u64), Purpose::update);
            body(lane, place);
        }
    });
}

template <class T>
void store_async(Warp& warp, const Instruction& instruction, u32 lanes) {
    const u32 bytes = instruction.f * sizeof(T);
    const T* values[4];
    for (u32 k = 0; k < instruction.f; ++k) {
        values[k] = lanes_of<T>(warp.registers, instruction.x[k]);
    }
    Access access;
    access.lanes = lanes;
    form_addresses(warp, instruction, access.at);
    u64 targets[LANES];
    std::copy_n(access.at, LANES, targets);
    access_shared(warp, instruction, bytes, Purpose::write, access);
    each_lane(access.lanes, [&](int lane) {
        T* to = reinterpret_cast<T*>(access.at[lane]);
        for (u32 k = 0; k < instruction.f; ++k) {
            to[k] = values[k][lane];
        }
        const u64 mbarrier = address_of(warp, instruction.c, instruction.e, s32(instruction.d), lane);
        complete_bytes(warp, instruction, lane, mbarrier, shared_place(warp, instruction, lane, targets[lane]), bytes);
    });
}

}  // namespace

u64 Mbarrier::bits() const {
    return expected | u64(pending) << COUNT_BITS | u64(u32(transactions) & ((1u << TRANSACTION_BITS) - 1)) << 2 * COUNT_BITS |
           u64(phase & 1) << PARITY_SHIFT;
}

void complete_bytes(Warp& warp, const Instruction& instruction, u32 lane, u64 mbarrier, const Place& target,
                    u64 bytes) {
    const Place place = mbarrier_place(warp, instruction, lane, mbarrier);
    if (!place.owner || !find(warp, instruction, lane, place)) {
        return;
    }
    if (place.owner != target.owner) {
        fault(warp, instruction, FaultKind::mbarrier_elsewhere, lane, SHARED_WINDOW + place.offset);
        return;
    }
    count(warp, instruction, lane, place, 0, -s64(bytes));
}

void wait_for_mbarrier(WarpState& state, const Instruction& instruction, u32 lanes) {
    if (const u32 over = lanes_over(state, instruction, lanes)) {
        end_wait(state, instruction, lanes, over);
        return;
    }
    wait_at(state, instruction, lanes, MBARRIER);
    state.idle = true;
}

void give_up_waiting(WarpState& state) {
    resume(state);
    end_wait(state, *state.waiting_at, state.waiting_lanes, 0);
}

u64 awaited_bits(WarpState& state) {
    u64 at[LANES];
    form_addresses(state.warp, *state.waiting_at, at);
    const u32 offset = u32(at[first_lane(state.waiting_lanes)]) & RANK_OFFSET;
    return value_at<u64>(state.block->shared + offset);
}

// c: arrivals of each phase.
OPERATION(mbarrier_init) {
    const u32* counts = lanes_of<u32>(warp.registers, instruction.c);
    u64 at[LANES];
    form_addresses(warp, instruction, at);
    each_lane(lanes, [&](int lane) {
        const Place place = mbarrier_place(warp, instruction, lane, at[lane]);
        if (!place.owner) {
            return;
        }
        if (!counts[lane] || counts[lane] > MOST) {
            fault(warp, instruction, FaultKind::mbarrier_count, lane, SHARED_WINDOW + place.offset);
            return;
        }
        watch_place(warp, instruction, lane, place, sizeof(u64), Purpose::write);
        forget(place);
        place.owner->mbarriers.push_back({place.offset, 0, counts[lane], counts[lane], 0});
        keep(*place.owner, place.owner->mbarriers.back());
        ++warp.state->worker->changes;
    });
}

OPERATION(mbarrier_inval) {
    each_mbarrier(warp, instruction, lanes, [&](int, const Place& place) {
        forget(place);
    });
}

// d: its previous state, or NONE; c: arrivals, or NONE for one; e: expected bytes, or NONE; f: ArriveForm.
OPERATION(mbarrier_arrive) {
    const u32* counts = instruction.c == NONE ? nullptr : lanes_of<u32>(warp.registers, instruction.c);
    const u32* bytes = instruction.e == NONE ? nullptr : lanes_of<u32>(warp.registers, instruction.e);
    u64* states = instruction.d == NONE ? nullptr : lanes_of<u64>(warp.registers, instruction.d);
    each_mbarrier(warp, instruction, lanes, [&](int lane, const Place& place) {
        const u64 before = find(warp, instruction, lane, place)->bits();
        count(warp, instruction, lane, place, counts ? counts[lane] : 1, bytes ? bytes[lane] : 0, instruction.f);
        if (states) {
            states[lane] = before;
        }
    });
}

// c: bytes; f 1: they have arrived, 0: they are expected.
OPERATION(mbarrier_transactions) {
    const u32* bytes = lanes_of<u32>(warp.registers, instruction.c);
    each_mbarrier(warp, instruction, lanes, [&](int lane, const Place& place) {
        count(warp, instruction, lane, place, 0, instruction.f ? -s64(bytes[lane]) : s64(bytes[lane]));
    });
}

// Pending arrivals of the state a.
OPERATION(mbarrier_pending) {
    const u64* states = lanes_of<u64>(warp.registers, instruction.a);
    u32* d = lanes_of<u32>(warp.registers, instruction.d);
    u32 found[LANES];
    each_lane(lanes, [&](int lane) { found[lane] = u32(states[lane] >> COUNT_BITS) & MOST; });
    each_lane(lanes, [&](int lane) { d[lane] = found[lane]; });
}

// The address is that of the store, f elements x[]; c, e, d: the mbarrier's slot, its width and its displacement.
OPERATION(st_async_u32) { store_async<u32>(warp, instruction, lanes); }
OPERATION(st_async_u64) { store_async<u64>(warp, instruction, lanes); }

}  // namespace simt
