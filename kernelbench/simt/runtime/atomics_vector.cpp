// atom and red of vectors (sm_90): each element is one atomic operation. Global memory only.
// Operands: the address as in atomics.cpp; f elements, x their values, d a slot of the offsets of results or NONE.
#include <cstring>

#include "access.hpp"
#include "floats.hpp"

using namespace simt;

namespace {

enum class Rule { add, minimum, maximum };

template <Rule RULE>
f32 combined(f32 a, f32 b) {
    switch (RULE) {
        case Rule::add:
            return a + b;
        case Rule::minimum:
            return extreme<false>(a, b, false);
        default:
            return extreme<true>(a, b, false);
    }
}

// An f16 or bf16 in its 16 bits; the sum of two is exact enough in f32 to be rounded again.
template <Rule RULE, class Format>
u16 apply(u16 a, u16 b) {
    alignas(32) u16 halves[16] = {a, b};
    f32 values[16];
    Format::template read<16>(halves, values);
    values[0] = combined<RULE>(values[0], values[1]);
    Format::template write<16>(values, halves, 0);
    return halves[0];
}

template <class T, class Apply>
void update(Warp& warp, const Instruction& instruction, u32 lanes, Resolve resolve, Apply apply) {
    const u32 count = instruction.f;
    const u32* results = instruction.d == NONE ? nullptr : lanes_of<u32>(warp.registers, instruction.d);
    Access access;
    access.lanes = lanes;
    form_addresses(warp, instruction, access.at);
    resolve(warp, instruction, count * sizeof(T), Purpose::update, access);
    each_lane(lanes, [&](int lane) {
        for (u32 k = 0; k < count; ++k) {
            T old;
            std::memset(&old, POISON, sizeof(T));
            if (has(access.lanes, lane)) {
                u8* at = reinterpret_cast<u8*>(access.at[lane]) + k * sizeof(T);
                std::memcpy(&old, at, sizeof(T));
                const T changed = apply(old, lanes_of<T>(warp.registers, instruction.x[k])[lane]);
                warp.state->worker->changes += std::memcmp(&old, &changed, sizeof(T)) != 0;
                std::memcpy(at, &changed, sizeof(T));
            }
            if (results && results[k] != NONE) {
                lanes_of<T>(warp.registers, results[k])[lane] = old;
            }
        }
    });
}

template <Rule RULE, class Format>
u32 apply_pair(u32 a, u32 b) {
    const u32 low = apply<RULE, Format>(u16(a), u16(b)), high = apply<RULE, Format>(u16(a >> 16), u16(b >> 16));
    return low | high << 16;
}

}  // namespace

#define SIMT_VECTOR(space, name, type, T, ...)                                       \
    OPERATION(atom_##space##_vector_##name##_##type) {                               \
        update<T>(warp, instruction, lanes, access_##space, __VA_ARGS__);            \
    }
#define SIMT_HALVES(space, name, rule)                                               \
    SIMT_VECTOR(space, name, f16, u16, apply<rule, Half>)                            \
    SIMT_VECTOR(space, name, bf16, u16, apply<rule, Bfloat>)                         \
    SIMT_VECTOR(space, name, f16x2, u32, apply_pair<rule, Half>)                     \
    SIMT_VECTOR(space, name, bf16x2, u32, apply_pair<rule, Bfloat>)
#define SIMT_VECTORS(space)                                                          \
    SIMT_VECTOR(space, add, f32, f32, combined<Rule::add>)                           \
    SIMT_HALVES(space, add, Rule::add)                                               \
    SIMT_HALVES(space, min, Rule::minimum)                                           \
    SIMT_HALVES(space, max, Rule::maximum)

SIMT_VECTORS(global)
SIMT_VECTORS(generic)
