// add, sub, mul, fma, neg, abs, min, max of f32, f64, f16, bf16 and pairs of them. Names without "any" are the plain
// forms, straight over the registers; the others read modifiers from `immediate`, see floats.hpp.
#include "floats.hpp"

namespace simt {
namespace {

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

}  // namespace

// ---- Plain forms ------------------------------------------------------------------------------------

#define FOR_EACH_PLAIN(T) \
    BINARY(add_##T, T, T, T, a + b) \
    BINARY(sub_##T, T, T, T, a - b) \
    BINARY(mul_##T, T, T, T, a * b) \
    UNARY(neg_##T, T, T, -a) \
    UNARY(abs_##T, T, T, __builtin_fabs(a)) \
    BINARY(min_##T, T, T, T, extreme<false>(a, b, false)) \
    BINARY(max_##T, T, T, T, extreme<true>(a, b, false))
FOR_EACH_PLAIN(f32)
FOR_EACH_PLAIN(f64)
TERNARY(fma_f32, f32, f32, f32, f32, __builtin_fmaf(a, b, c))
TERNARY(fma_f64, f64, f64, f64, f64, __builtin_fma(a, b, c))

BINARY(add_ftz_f32, f32, f32, f32, flushed(flushed(a) + flushed(b)))
BINARY(sub_ftz_f32, f32, f32, f32, flushed(flushed(a) - flushed(b)))
BINARY(mul_ftz_f32, f32, f32, f32, flushed(flushed(a) * flushed(b)))
TERNARY(fma_ftz_f32, f32, f32, f32, f32, flushed(__builtin_fmaf(flushed(a), flushed(b), flushed(c))))
UNARY(neg_ftz_f32, f32, f32, -flushed(a))
UNARY(abs_ftz_f32, f32, f32, __builtin_fabs(flushed(a)))
BINARY(min_ftz_f32, f32, f32, f32, extreme<false>(flushed(a), flushed(b), false))
BINARY(max_ftz_f32, f32, f32, f32, extreme<true>(flushed(a), flushed(b), false))

// ---- With modifiers ---------------------------------------------------------------------------------

#define FORM(operation, type, Format, PER_LANE, expression) \
    OPERATION(operation##_any_##type) { \
        using Value = Format::Value; \
        compute<Format, PER_LANE>(warp, instruction, lanes, [](Value a, Value b, Value c) -> Value { \
            static_cast<void>(b); \
            static_cast<void>(c); \
            return expression; \
        }); \
    }
#define FOR_EACH_FORMAT(type, Format, PER_LANE) \
    FORM(add, type, Format, PER_LANE, a + b) \
    FORM(sub, type, Format, PER_LANE, a - b) \
    FORM(mul, type, Format, PER_LANE, a * b) \
    FORM(fma, type, Format, PER_LANE, Format::fma(a, b, c)) \
    FORM(neg, type, Format, PER_LANE, -a) \
    FORM(abs, type, Format, PER_LANE, __builtin_fabs(a)) \
    OPERATION(min_any_##type) { compute_extreme<Format, PER_LANE, false>(warp, instruction, lanes); } \
    OPERATION(max_any_##type) { compute_extreme<Format, PER_LANE, true>(warp, instruction, lanes); }
FOR_EACH_FORMAT(f32, Single, 1)
FOR_EACH_FORMAT(f32x2, Single, 2)
FOR_EACH_FORMAT(f64, Double, 1)
FOR_EACH_FORMAT(f16, Half, 1)
FOR_EACH_FORMAT(f16x2, Half, 2)
FOR_EACH_FORMAT(bf16, Bfloat, 1)
FOR_EACH_FORMAT(bf16x2, Bfloat, 2)

}  // namespace simt
