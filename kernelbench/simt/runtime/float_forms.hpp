// The forms of add, sub, mul, fma, neg, abs, min and max that read modifiers from `immediate`, see floats.hpp.
#pragma once

#include "floats.hpp"

namespace simt {

// min and max of two or three operands with .NaN, .abs and .xorsign.abs.
template <class Format, int PER_LANE, bool LARGER, bool KEEP>
void compute_extreme(Warp& warp, const Instruction& instruction, u32 lanes) {
    using Value = typename Format::Value;
    const u32 modifiers = modifiers_of(instruction);
    const bool third = instruction.c != NONE, xor_sign = modifiers & XOR_SIGN;
    const bool magnitudes = modifiers & (ABSOLUTE | XOR_SIGN);
    if (!third && !magnitudes) {
        compute<Format, PER_LANE>(warp, instruction, lanes, [](Value a, Value b, Value) {
            return extreme<LARGER>(a, b, KEEP);
        });
        return;
    }
    compute<Format, PER_LANE>(warp, instruction, lanes, [=](Value a, Value b, Value c) {
        const Value sign = __builtin_copysign(Value(1), a) * __builtin_copysign(Value(1), b);
        const Value left = magnitudes ? __builtin_fabs(a) : a, right = magnitudes ? __builtin_fabs(b) : b;
        const Value last = magnitudes ? __builtin_fabs(c) : c;
        const Value of_two = extreme<LARGER>(left, right, KEEP);
        const Value result = third ? extreme<LARGER>(of_two, last, KEEP) : of_two;
        return xor_sign ? __builtin_copysign(result, sign) : result;
    });
}

template <class Format, int PER_LANE, bool LARGER>
void compute_extreme(Warp& warp, const Instruction& instruction, u32 lanes) {
    if (modifiers_of(instruction) & KEEP_NAN) {
        compute_extreme<Format, PER_LANE, LARGER, true>(warp, instruction, lanes);
    } else {
        compute_extreme<Format, PER_LANE, LARGER, false>(warp, instruction, lanes);
    }
}

}  // namespace simt

#define FOR_EACH_FORMAT(type, Format, PER_LANE) \
    FORM(add, type, Format, PER_LANE, a + b) \
    FORM(sub, type, Format, PER_LANE, a - b) \
    FORM(mul, type, Format, PER_LANE, a * b) \
    FORM(fma, type, Format, PER_LANE, Format::fma(a, b, c)) \
    FORM(neg, type, Format, PER_LANE, -a) \
    FORM(abs, type, Format, PER_LANE, __builtin_fabs(a)) \
    OPERATION(min_any_##type) { compute_extreme<Format, PER_LANE, false>(warp, instruction, lanes); } \
    OPERATION(max_any_##type) { compute_extreme<Format, PER_LANE, true>(warp, instruction, lanes); }
