// atom and red: lanes in ascending order, so that floating-point sums are deterministic.
#include <cstring>

#include "access.hpp"
#include "update_rules.hpp"

using namespace simt;

namespace {

// Replaces the value at each lane's address by next(lane, old), and writes the old value to d.
template <class T, class Next>
void exchange_with(Warp& warp, const Instruction& instruction, u32 lanes, Resolve resolve, Next next) {
    Access access;
    access.lanes = lanes;
    form_addresses(warp, instruction, access.at);
    resolve(warp, instruction, sizeof(T), Purpose::update, access);
    T* result = instruction.d == NONE ? nullptr : lanes_of<T>(warp.registers, instruction.d);
    each_lane(access.lanes, [&](int lane) {
        u8* at = reinterpret_cast<u8*>(access.at[lane]);
        const T old = value_at<T>(at), changed = next(lane, old);
        warp.state->worker->changes += std::memcmp(&old, &changed, sizeof(T)) != 0;
        std::memcpy(at, &changed, sizeof(T));
        if (result) {
            result[lane] = old;
        }
    });
    if (result) {
        each_lane(lanes & ~access.lanes, [&](int lane) { std::memset(&result[lane], POISON, sizeof(T)); });
    }
}

template <class Rule, class T>
void atomic(Warp& warp, const Instruction& instruction, u32 lanes, Resolve resolve) {
    const T* operand = lanes_of<T>(warp.registers, instruction.c);
    exchange_with<T>(warp, instruction, lanes, resolve,
                     [=](int lane, T old) { return Rule::apply(old, operand[lane]); });
}

template <class T>
void compare_and_swap(Warp& warp, const Instruction& instruction, u32 lanes, Resolve resolve) {
    const T* expected = lanes_of<T>(warp.registers, instruction.c);
    const T* wanted = lanes_of<T>(warp.registers, instruction.e);
    exchange_with<T>(warp, instruction, lanes, resolve,
                     [=](int lane, T old) { return old == expected[lane] ? wanted[lane] : old; });
}

}  // namespace

#define SIMT_ATOMIC_IN(space, name, type, rule)                                                                  \
    extern "C" void op_atom_##space##_##name##_##type(Warp& warp, const Instruction& instruction, u32 lanes) { \
        atomic<rule, type>(warp, instruction, lanes, access_##space);                                            \
    }
#define SIMT_ATOMIC(name, type, rule)         \
    SIMT_ATOMIC_IN(global, name, type, rule) \
    SIMT_ATOMIC_IN(shared, name, type, rule) \
    SIMT_ATOMIC_IN(generic, name, type, rule)
#define SIMT_CAS_IN(space, type)                                                                             \
    extern "C" void op_atom_##space##_cas_##type(Warp& warp, const Instruction& instruction, u32 lanes) { \
        compare_and_swap<type>(warp, instruction, lanes, access_##space);                                    \
    }
#define SIMT_CAS(type) SIMT_CAS_IN(global, type) SIMT_CAS_IN(shared, type) SIMT_CAS_IN(generic, type)
#define SIMT_INTEGER(type) \
    SIMT_ATOMIC(add, type, Add) SIMT_ATOMIC(min, type, Minimum) SIMT_ATOMIC(max, type, Maximum)
#define SIMT_BITS(type)                                                                         \
    SIMT_ATOMIC(and, type, And) SIMT_ATOMIC(or, type, Or) SIMT_ATOMIC(xor, type, Xor) \
    SIMT_ATOMIC(exch, type, Exchange) SIMT_CAS(type)

SIMT_INTEGER(u32) SIMT_INTEGER(s32) SIMT_INTEGER(u64) SIMT_INTEGER(s64)
SIMT_BITS(u32) SIMT_BITS(u64)
SIMT_ATOMIC(inc, u32, Increment) SIMT_ATOMIC(dec, u32, Decrement)
SIMT_CAS(u16) SIMT_CAS(u128) SIMT_ATOMIC(exch, u128, Exchange)
SIMT_ATOMIC(add, f32, Add) SIMT_ATOMIC(add, f64, Add)
SIMT_ATOMIC(add, f16, Add) SIMT_ATOMIC(add, bf16, Add) SIMT_ATOMIC(add, f16x2, Add) SIMT_ATOMIC(add, bf16x2, Add)

// fence and membar: memory is always coherent here; only the detection of hazards needs them.
extern "C" void op_fence(Warp& warp, const Instruction&, u32) {
    if (warp.state->block->shadow) {
        warp.state->block->shadow->fence(warp.index);
    }
}
