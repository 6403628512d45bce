// Predicates, masks of 32 lanes: and, or, xor, not, mov, and what they choose (selp) or are made of (testp); slct.
// A predicate operand is an index in a, b or c with its negation (0 or 1) in x[0], x[1], x[2].
#include "floats.hpp"

namespace simt {
namespace {

u32 first_operand(const Warp& warp, const Instruction& instruction) {
    return lanes_where(warp, instruction.a, instruction.x[0]);
}

u32 second_operand(const Warp& warp, const Instruction& instruction) {
    return lanes_where(warp, instruction.b, instruction.x[1]);
}

template <class T>
void select(Warp& warp, const Instruction& instruction, u32 lanes) {
    const T* a = lanes_of<T>(warp.registers, instruction.a);
    const T* b = lanes_of<T>(warp.registers, instruction.b);
    const u32 first = lanes_where(warp, instruction.c, instruction.x[2]);
    Result<T> result(warp, instruction.d, lanes);
    blend(result.data(), a, b, first);
}

// testp: `F` says of the bits of a number without its sign whether it is of the kind asked for. Zeros are normal.
template <class Bits, class F>
void test(Warp& warp, const Instruction& instruction, u32 lanes, F is) {
    const Bits* a = lanes_of<Bits>(warp.registers, instruction.a);
    const u32 found = lanes_that([&](int lane) { return is(static_cast<Bits>(a[lane] << 1) >> 1); });
    set_predicate(warp, instruction.d, found, lanes);
}

}  // namespace

OPERATION(mov_pred) { set_predicate(warp, instruction.d, first_operand(warp, instruction), lanes); }
OPERATION(not_pred) { set_predicate(warp, instruction.d, ~first_operand(warp, instruction), lanes); }
OPERATION(and_pred) {
    set_predicate(warp, instruction.d, first_operand(warp, instruction) & second_operand(warp, instruction), lanes);
}
OPERATION(or_pred) {
    set_predicate(warp, instruction.d, first_operand(warp, instruction) | second_operand(warp, instruction), lanes);
}
OPERATION(xor_pred) {
    set_predicate(warp, instruction.d, first_operand(warp, instruction) ^ second_operand(warp, instruction), lanes);
}

// slct: a where c >= 0, else b; a subnormal c is 0 with ftz.
#define FOR_EACH_WIDTH(T) \
    OPERATION(selp_##T) { select<T>(warp, instruction, lanes); } \
    TERNARY(slct_##T##_s32, T, T, T, s32, c >= 0 ? a : b) \
    TERNARY(slct_##T##_f32, T, T, T, f32, c >= 0 ? a : b) \
    TERNARY(slct_ftz_##T##_f32, T, T, T, f32, flushed(c) >= 0 ? a : b)
FOR_EACH_WIDTH(u16)
FOR_EACH_WIDTH(u32)
FOR_EACH_WIDTH(u64)

#define FOR_EACH_FLOAT(type, Bits, least_normal, infinity) \
    OPERATION(testp_finite_##type) { test<Bits>(warp, instruction, lanes, [](Bits a) { return a < infinity; }); } \
    OPERATION(testp_infinite_##type) { test<Bits>(warp, instruction, lanes, [](Bits a) { return a == infinity; }); } \
    OPERATION(testp_number_##type) { test<Bits>(warp, instruction, lanes, [](Bits a) { return a <= infinity; }); } \
    OPERATION(testp_notanumber_##type) { test<Bits>(warp, instruction, lanes, [](Bits a) { return a > infinity; }); } \
    OPERATION(testp_normal_##type) { \
        test<Bits>(warp, instruction, lanes, [](Bits a) { return (a >= least_normal && a < infinity) || a == 0; }); \
    } \
    OPERATION(testp_subnormal_##type) { \
        test<Bits>(warp, instruction, lanes, [](Bits a) { return a < least_normal && a != 0; }); \
    }
FOR_EACH_FLOAT(f32, u32, 0x00800000u, 0x7f800000u)
FOR_EACH_FLOAT(f64, u64, 0x0010000000000000ull, 0x7ff0000000000000ull)

}  // namespace simt
