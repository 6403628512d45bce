// Warp-level operations: shfl, vote, match, redux, elect, activemask, bar.warp; and clocks.
//
// All but activemask have a mask of participating lanes, in the slot `e`. Lanes with different masks may execute one
// instruction together (tiles of cooperative groups); each mask is a group. Faults are: a mask with a live lane that
// does not execute the instruction, an executing lane that is not in its own mask, and a value read from a lane that
// does not execute.
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "floats.hpp"

namespace simt {
namespace {

// Lanes of the group with a valid mask; the others get a fault.
u32 check_members(Warp& warp, const Instruction& instruction, u32 lanes, u32 group, u32 mask) {
    const u32 wrong = mask & warp.live & ~lanes ? group : group & ~mask;
    each_lane(wrong, [&](int lane) { fault(warp, instruction, FaultKind::inactive_lane, lane, mask); });
    return group & ~wrong;
}

// Calls body(group) for the lanes of each mask; returns the lanes with a valid mask.
template <class Body>
u32 each_group(Warp& warp, const Instruction& instruction, u32 lanes, Body body) {
    const u32* masks = lanes_of<u32>(warp.registers, instruction.e);
    u32 right = 0;
    meet(warp, lanes);
    for (u32 left = lanes; left;) {
        const u32 mask = masks[first_lane(left)];
        const u32 group = left & lanes_that([&](int lane) { return masks[lane] == mask; });
        right |= check_members(warp, instruction, lanes, group, mask);
        body(group);
        left &= ~group;
    }
    return right;
}

template <class T>
void write_all(Warp& warp, const Instruction& instruction, u32 lanes, T value) {
    Result<T> result(warp, instruction.d, lanes);
    T* d = result.data();
    for (int lane = 0; lane < LANES; ++lane) {
        d[lane] = value;
    }
}

// ---- shfl: b is the offset or lane, c the clamp in bits 0..4 and the mask of segments in 8..12 -------

enum class Shuffle { up, down, butterfly, index };

template <Shuffle MODE>
constexpr s32 shuffle_source(s32 lane, s32 operand, s32 first, s32 segments) {
    switch (MODE) {
        case Shuffle::up:
            return lane - operand;
        case Shuffle::down:
            return lane + operand;
        case Shuffle::butterfly:
            return lane ^ operand;
        default:
            return first | (operand & ~segments);
    }
}

void gather(const u32* from, const s32* sources, u32* to) {
#if defined(__AVX512F__)
    const __m512i low = _mm512_loadu_si512(from), high = _mm512_loadu_si512(from + 16);
    for (int lane = 0; lane < LANES; lane += 16) {
        _mm512_storeu_si512(to + lane, _mm512_permutex2var_epi32(low, _mm512_loadu_si512(sources + lane), high));
    }
#else
    for (int lane = 0; lane < LANES; ++lane) {
        to[lane] = from[sources[lane] & 31];
    }
#endif
}

template <Shuffle MODE>
void shuffle(Warp& warp, const Instruction& instruction, u32 lanes) {
    const u32* b = lanes_of<u32>(warp.registers, instruction.b);
    const u32* c = lanes_of<u32>(warp.registers, instruction.c);
    const u32* a = lanes_of<u32>(warp.registers, instruction.a);
    s32 sources[LANES];
    u32 inside[LANES];
    const u32 right = each_group(warp, instruction, lanes, [](u32) {});
#pragma GCC ivdep
    for (s32 lane = 0; lane < LANES; ++lane) {
        const s32 segments = static_cast<s32>(c[lane] >> 8 & 31), clamp = static_cast<s32>(c[lane] & 31);
        const s32 first = lane & segments, last = first | (clamp & ~segments);
        const s32 source = shuffle_source<MODE>(lane, static_cast<s32>(b[lane] & 31), first, segments);
        const bool reached = MODE == Shuffle::up ? source >= last : source <= last;
        sources[lane] = reached ? source : lane;
        inside[lane] = reached;
    }
    if (lanes != ALL) {
        each_lane(lanes, [&](int lane) {
            if (!has(lanes, sources[lane])) {
                if (has(right, lane)) {
                    fault(warp, instruction, FaultKind::inactive_lane, lane, sources[lane]);
                }
                sources[lane] = lane;
            }
        });
    }
    u32 values[LANES];
    gather(a, sources, values);
    u32* d = lanes_of<u32>(warp.registers, instruction.d);
    blend(d, values, d, lanes);
    if (instruction.f != NONE) {
        set_predicate(warp, instruction.f, lanes_that([&](int lane) { return inside[lane]; }), lanes);
    }
}

// ---- vote: the predicate in a, its negation in b ------------------------------------------------------

template <class F>
void vote(Warp& warp, const Instruction& instruction, u32 lanes, F holds) {
    const u32 votes = lanes_where(warp, instruction.a, instruction.b);
    each_group(warp, instruction, lanes, [&](u32 group) {
        set_predicate(warp, instruction.d, holds(votes & group, group) ? ALL : 0, group);
    });
}

template <class T>
void match_any(Warp& warp, const Instruction& instruction, u32 lanes) {
    const T* a = lanes_of<T>(warp.registers, instruction.a);
    u32 found[LANES];
    each_group(warp, instruction, lanes, [&](u32 group) {
        for (u32 left = group; left;) {
            const T value = a[first_lane(left)];
            const u32 same = left & lanes_that([&](int lane) { return a[lane] == value; });
            each_lane(same, [&](int lane) { found[lane] = same; });
            left &= ~same;
        }
    });
    u32* d = lanes_of<u32>(warp.registers, instruction.d);
    each_lane(lanes, [&](int lane) { d[lane] = found[lane]; });
}

template <class T>
void match_all(Warp& warp, const Instruction& instruction, u32 lanes) {
    const T* a = lanes_of<T>(warp.registers, instruction.a);
    u32 found[LANES];
    u32 agreed = 0;
    each_group(warp, instruction, lanes, [&](u32 group) {
        const T value = a[first_lane(group)];
        const bool all = (group & ~lanes_that([&](int lane) { return a[lane] == value; })) == 0;
        each_lane(group, [&](int lane) { found[lane] = all ? group : 0; });
        agreed |= all ? group : 0;
    });
    u32* d = lanes_of<u32>(warp.registers, instruction.d);
    each_lane(lanes, [&](int lane) { d[lane] = found[lane]; });
    set_predicate(warp, instruction.f, agreed, lanes);
}

// d = all values of the group combined, then finished.
template <class T, class F, class G>
void reduce(Warp& warp, const Instruction& instruction, u32 lanes, F combine, G finish) {
    const T* a = lanes_of<T>(warp.registers, instruction.a);
    T* d = lanes_of<T>(warp.registers, instruction.d);
    T values[LANES];
    each_group(warp, instruction, lanes, [&](u32 group) {
        T total = a[first_lane(group)];
        each_lane(group & (group - 1), [&](int lane) { total = combine(total, a[lane]); });
        each_lane(group, [&](int lane) { values[lane] = finish(total); });
    });
    each_lane(lanes, [&](int lane) { d[lane] = values[lane]; });
}

// min and max of f32, with .abs and .NaN among the modifiers.
template <bool LARGER>
void reduce_floats(Warp& warp, const Instruction& instruction, u32 lanes) {
    const u32 kept = modifiers_of(instruction) & ABSOLUTE ? ~SIGN_32 : ALL;
    const bool keep_nan = modifiers_of(instruction) & KEEP_NAN;
    const auto combine = [=](u32 a, u32 b) {
        return bits_as<u32>(extreme<LARGER>(bits_as<f32>(a & kept), bits_as<f32>(b & kept), keep_nan));
    };
    reduce<u32>(warp, instruction, lanes, combine, [=](u32 total) { return combine(total, total); });
}

}  // namespace

OPERATION(shfl_up) { shuffle<Shuffle::up>(warp, instruction, lanes); }
OPERATION(shfl_down) { shuffle<Shuffle::down>(warp, instruction, lanes); }
OPERATION(shfl_bfly) { shuffle<Shuffle::butterfly>(warp, instruction, lanes); }
OPERATION(shfl_idx) { shuffle<Shuffle::index>(warp, instruction, lanes); }

OPERATION(vote_any) { vote(warp, instruction, lanes, [](u32 votes, u32) { return votes != 0; }); }
OPERATION(vote_all) { vote(warp, instruction, lanes, [](u32 votes, u32 group) { return votes == group; }); }
OPERATION(vote_uni) {
    vote(warp, instruction, lanes, [](u32 votes, u32 group) { return votes == group || votes == 0; });
}
OPERATION(vote_ballot) {
    const u32 votes = lanes_where(warp, instruction.a, instruction.b);
    each_group(warp, instruction, lanes, [&](u32 group) { write_all(warp, instruction, group, votes & group); });
}

OPERATION(match_any_b32) { match_any<u32>(warp, instruction, lanes); }
OPERATION(match_any_b64) { match_any<u64>(warp, instruction, lanes); }
OPERATION(match_all_b32) { match_all<u32>(warp, instruction, lanes); }
OPERATION(match_all_b64) { match_all<u64>(warp, instruction, lanes); }

#define REDUCTION(name, T, ...) \
    OPERATION(redux_##name) { \
        const auto combine = [](T a, T b) -> T { return __VA_ARGS__; }; \
        reduce<T>(warp, instruction, lanes, combine, [](T total) { return total; }); \
    }
REDUCTION(add_u32, u32, a + b)
REDUCTION(and_b32, u32, a & b)
REDUCTION(or_b32, u32, a | b)
REDUCTION(xor_b32, u32, a ^ b)
REDUCTION(min_u32, u32, least(a, b))
REDUCTION(max_u32, u32, most(a, b))
REDUCTION(min_s32, s32, least(a, b))
REDUCTION(max_s32, s32, most(a, b))
OPERATION(redux_min_f32) { reduce_floats<false>(warp, instruction, lanes); }
OPERATION(redux_max_f32) { reduce_floats<true>(warp, instruction, lanes); }

OPERATION(activemask) { write_all(warp, instruction, lanes, lanes); }
OPERATION(bar_warp) { each_group(warp, instruction, lanes, [](u32) {}); }

// The lowest lane of each group is elected: its number in d, true in predicate f for it alone.
OPERATION(elect) {
    each_group(warp, instruction, lanes, [&](u32 group) {
        if (instruction.d != NONE) {
            write_all(warp, instruction, group, static_cast<u32>(first_lane(group)));
        }
        set_predicate(warp, instruction.f, group & -group, group);
    });
}

// %clock, %clock64 and %globaltimer: the number of warp instructions executed so far.
OPERATION(clock_32) { write_all(warp, instruction, lanes, static_cast<u32>(ticks(warp))); }
OPERATION(clock_upper) { write_all(warp, instruction, lanes, static_cast<u32>(ticks(warp) >> 32)); }
OPERATION(clock_64) { write_all(warp, instruction, lanes, ticks(warp)); }

}  // namespace simt
