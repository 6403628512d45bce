// cvt to floating-point numbers: f16, bf16, tf32, f32, f64, from integers and from each other, and pairs of f32 to
// pairs of 16 bits. Names without "integer" or "float" are plain forms of two types, rounded to nearest.
#include "convert.hpp"

namespace simt {
namespace {

// Integers as f64, rounded to odd at 53 bits where they are longer, so that rounding them further is right.
template <class Integer>
void widen(const s64* from, f64* to) {
    constexpr s64 EXACT = s64(1) << 53;
    for (int lane = 0; lane < LANES; ++lane) {
        const Integer value = static_cast<Integer>(from[lane]);
        const Integer cut = value >> 11 | Integer((value & 2047) != 0);
        const bool is_low = std::is_signed_v<Integer> && from[lane] <= -EXACT;
        const bool is_long = value >= static_cast<Integer>(EXACT) || is_low;
        to[lane] = is_long ? static_cast<f64>(cut) * 2048.0 : static_cast<f64>(value);
    }
}

void round_all_to_odd(const f64* from, f32* to) {
    for (int lane = 0; lane < LANES; ++lane) {
        to[lane] = rounded_to_odd(from[lane]);
    }
}

template <int COUNT, class Value>
void limit_magnitude(Value* values, Value most) {
    for (int element = 0; element < COUNT; ++element) {
        const Value value = values[element];
        values[element] = value > most ? most : value < -most ? -most : value;
    }
}

// ---- From f64 to each format, in the direction of the modifiers -------------------------------------

struct ToSingle {
    using Element = f32;
    static constexpr f64 MOST = 0x1.fffffep127;

    static void write(const f64* from, f32* to, u32 modifiers) {
        const Rounding rounding(modifiers & TO_INTEGER ? u32(NEAREST) : modifiers & ROUND_MASK);
        pinned(from);
        for (int lane = 0; lane < LANES; ++lane) {
            to[lane] = static_cast<f32>(from[lane]);
        }
        pinned(to);
    }
};

struct ToDouble {
    using Element = f64;
    static constexpr f64 MOST = 0x1.fffffffffffffp1023;

    static void write(const f64* from, f64* to, u32) { std::memcpy(to, from, LANES * sizeof(f64)); }
};

template <class Format>
struct To16Bits {
    using Element = u16;
    static constexpr f64 MOST = std::is_same_v<Format, Half> ? 65504.0 : 0x1.fep127;

    static void write(const f64* from, u16* to, u32 modifiers) {
        f32 single[LANES];
        round_all_to_odd(from, single);
        const Rounding rounding(modifiers & ROUND_MASK);
        pinned(single);
        Format::template write<LANES>(single, to, modifiers);
        pinned(to);
    }
};

// ---- cvt --------------------------------------------------------------------------------------------

template <class To>
void write_floats(Warp& warp, const Instruction& instruction, u32 lanes, f64* values) {
    const u32 modifiers = modifiers_of(instruction);
    limit_all<LANES, f64>(values, modifiers);
    if (modifiers & SATURATE_FINITE) {
        limit_magnitude<LANES, f64>(values, To::MOST);
    }
    Result<typename To::Element> result(warp, instruction.d, lanes);
    typename To::Element* to = result.data();
    To::write(values, to, modifiers);
    if constexpr (std::is_same_v<To, ToSingle>) {
        if (modifiers & FTZ) {
            flush_results<Single, LANES>(to);
        }
    }
}

template <class To>
void from_float(Warp& warp, const Instruction& instruction, u32 lanes) {
    const u32 modifiers = modifiers_of(instruction);
    f64 values[LANES];
    read_floats(warp, instruction, values);
    if (modifiers & TO_INTEGER) {
        round_to_whole(values, modifiers & ROUND_MASK);
    }
    write_floats<To>(warp, instruction, lanes, values);
}

// Through f64 and, for long integers, rounded to odd.
template <class To>
void from_integer(Warp& warp, const Instruction& instruction, u32 lanes) {
    s64 integers[LANES];
    f64 values[LANES];
    read_integers(warp, instruction, integers);
    if (source_type(instruction) == Type::u64) {
        widen<u64>(integers, values);
    } else {
        widen<s64>(integers, values);
    }
    write_floats<To>(warp, instruction, lanes, values);
}

// To f64 itself in one step, in the direction of the modifiers.
void double_from_integer(Warp& warp, const Instruction& instruction, u32 lanes) {
    s64 integers[LANES];
    f64 values[LANES];
    read_integers(warp, instruction, integers);
    {
        const bool is_unsigned = source_type(instruction) == Type::u64;
        const Rounding rounding(modifiers_of(instruction) & ROUND_MASK);
        pinned(integers);
        for (int lane = 0; lane < LANES; ++lane) {
            const s64 value = integers[lane];
            values[lane] = is_unsigned ? static_cast<f64>(static_cast<u64>(value)) : static_cast<f64>(value);
        }
        pinned(values);
    }
    write_floats<ToDouble>(warp, instruction, lanes, values);
}

// d = {lower: b, upper: a}.
template <class Format>
void pack(Warp& warp, const Instruction& instruction, u32 lanes, f32 most) {
    const u32 modifiers = modifiers_of(instruction);
    f32 values[2 * LANES];
    read_two(warp, instruction, values);
    limit_all<2 * LANES, f32>(values, modifiers);
    if (modifiers & SATURATE_FINITE) {
        limit_magnitude<2 * LANES, f32>(values, most);
    }
    Result<u16, 2> result(warp, instruction.d, lanes);
    const Rounding rounding(modifiers & ROUND_MASK);
    pinned(values);
    Format::template write<2 * LANES>(values, result.data(), modifiers);
    pinned(result.data());
}

// ---- tf32: f32 with 10 bits of fraction; the 13 low bits of the register are zeros, except those of NAN_32 ----

constexpr u32 INFINITY_32 = 0x7f800000u, TENSOR_UNIT = 0x2000u;

// Machine code does it on the bits: infinities and NaN only lose their low bits (a NaN without others becomes an
// infinity), and with .satfinite whatever is not finite then loses a unit.
constexpr u32 tensor_ties_away(u32 bits, bool saturate) {
    const bool is_finite = (bits & ~SIGN_32) < INFINITY_32;
    const u32 rounded = (bits + (is_finite ? TENSOR_UNIT / 2 : 0)) & ~(TENSOR_UNIT - 1);
    return rounded - (saturate && (rounded & ~SIGN_32) >= INFINITY_32 ? TENSOR_UNIT : 0);
}

constexpr u32 tensor_rounded(u32 bits, bool to_nearest) {
    const u32 nearest = TENSOR_UNIT / 2 - 1 + (bits / TENSOR_UNIT & 1);
    const bool is_nan = (bits & ~SIGN_32) > INFINITY_32;
    return is_nan ? NAN_32 : (bits + (to_nearest ? nearest : 0)) & ~(TENSOR_UNIT - 1);
}

void to_tensor(Warp& warp, const Instruction& instruction, u32 lanes) {
    const u32 modifiers = modifiers_of(instruction);
    f32 values[LANES];
    std::memcpy(values, lanes_of<f32>(warp.registers, instruction.a), sizeof(values));
    Result<u32> result(warp, instruction.d, lanes);
    u32* to = result.data();
    if (modifiers & TIES_AWAY) {
        for (int lane = 0; lane < LANES; ++lane) {
            to[lane] = tensor_ties_away(bits_as<u32>(values[lane]), modifiers & SATURATE_FINITE);
        }
        return;
    }
    limit_all<LANES, f32>(values, modifiers);
    if (modifiers & SATURATE_FINITE) {
        limit_magnitude<LANES, f32>(values, 0x1.ffcp127f);
    }
    for (int lane = 0; lane < LANES; ++lane) {
        to[lane] = tensor_rounded(bits_as<u32>(values[lane]), (modifiers & ROUND_MASK) == NEAREST);
    }
}

template <class Format>
void widen_16_bits(Warp& warp, const Instruction& instruction, u32 lanes) {
    Result<f32> result(warp, instruction.d, lanes);
    Format::template read<LANES>(lanes_of<u16>(warp.registers, instruction.a), result.data());
}

template <class Format>
void narrow_to_16_bits(Warp& warp, const Instruction& instruction, u32 lanes) {
    Result<u16> result(warp, instruction.d, lanes);
    Format::template write<LANES>(lanes_of<f32>(warp.registers, instruction.a), result.data(), NEAREST);
}

}  // namespace

#define FOR_EACH_FLOAT(type, To) \
    OPERATION(cvt_##type##_float) { from_float<To>(warp, instruction, lanes); }
FOR_EACH_FLOAT(f16, To16Bits<Half>)
FOR_EACH_FLOAT(bf16, To16Bits<Bfloat>)
FOR_EACH_FLOAT(f32, ToSingle)
FOR_EACH_FLOAT(f64, ToDouble)
OPERATION(cvt_f16_integer) { from_integer<To16Bits<Half>>(warp, instruction, lanes); }
OPERATION(cvt_bf16_integer) { from_integer<To16Bits<Bfloat>>(warp, instruction, lanes); }
OPERATION(cvt_f32_integer) { from_integer<ToSingle>(warp, instruction, lanes); }
OPERATION(cvt_f64_integer) { double_from_integer(warp, instruction, lanes); }

OPERATION(cvt_tf32_f32) { to_tensor(warp, instruction, lanes); }
OPERATION(cvt_f16x2_f32) { pack<Half>(warp, instruction, lanes, 65504.0f); }
OPERATION(cvt_bf16x2_f32) { pack<Bfloat>(warp, instruction, lanes, 0x1.fep127f); }

OPERATION(cvt_f32_f16) { widen_16_bits<Half>(warp, instruction, lanes); }
OPERATION(cvt_f32_bf16) { widen_16_bits<Bfloat>(warp, instruction, lanes); }
OPERATION(cvt_f16_f32) { narrow_to_16_bits<Half>(warp, instruction, lanes); }
OPERATION(cvt_bf16_f32) { narrow_to_16_bits<Bfloat>(warp, instruction, lanes); }
UNARY(cvt_f64_f32, f64, f32, a)
UNARY(cvt_f32_f64, f32, f64, a)

#define FROM_INTEGER(T) \
    UNARY(cvt_f32_##T, f32, T, a) \
    UNARY(cvt_f64_##T, f64, T, a)
FROM_INTEGER(u32)
FROM_INTEGER(s32)
FROM_INTEGER(u64)
FROM_INTEGER(s64)

}  // namespace simt
