// Floating-point numbers of PTX: modifiers, subnormals, rounding, and the 16-bit formats.
//
// Most operations read their operands into arrays of f32 (f64 for .f64), compute there and write back in the format
// of the instruction. Results of f16 and bf16 are then rounded twice, which for + - * / and sqrt gives the same as
// once: f32 has 24 bits, at least 2 p + 2 for p = 11 (f16) and p = 8 (bf16). fma needs more: see `fused`.
#pragma once

#include <cfenv>
#include <cstring>
#include <type_traits>

#include "lanes.hpp"

namespace simt {

// The modifiers of an instruction are in `immediate`.
inline u32 modifiers_of(const Instruction& instruction) {
    return static_cast<u32>(instruction.immediate);
}

constexpr u32 SIGN_32 = 0x80000000u;
constexpr u32 NAN_32 = 0x7fffffffu;  // the NaN that operations of PTX make
constexpr u64 NAN_64 = 0x7fffffffffffffffull;

inline f32 flushed(f32 a) {
    const u32 bits = bits_as<u32>(a);
    return bits_as<f32>((bits & 0x7f800000u) == 0 ? bits & SIGN_32 : bits);
}

// ---- Rounding ---------------------------------------------------------------------------------------

// While it lives the processor rounds in this direction. What is computed meanwhile must go through `pinned`.
class Rounding {
public:
    explicit Rounding(u32 direction) : changed_(direction != NEAREST) {
        if (changed_) {
            static constexpr int MODES[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
            std::fesetround(MODES[direction]);
        }
    }
    Rounding(const Rounding&) = delete;
    Rounding& operator=(const Rounding&) = delete;
    ~Rounding() {
        if (changed_) {
            std::fesetround(FE_TONEAREST);
        }
    }

private:
    bool changed_;
};

// Keeps the compiler from moving work on this array to the other side of this point.
inline void pinned(const void* array) {
    asm volatile("" : : "r"(array) : "memory");
}

// f64 to f32 such that a further rounding to fewer bits is right: truncated, with the last bit set if inexact.
inline f32 rounded_to_odd(f64 a) {
    const f32 nearest = static_cast<f32>(a);
    const u32 bits = bits_as<u32>(nearest);
    const f64 back = nearest;
    const u32 truncated = bits - (__builtin_fabs(back) > __builtin_fabs(a) ? 1u : 0u);
    const bool inexact = back < a || back > a;  // false for NaN
    return bits_as<f32>(inexact ? truncated | 1u : bits);
}

// a * b + c of 16-bit formats, rounded to odd at 24 bits. The product is exact in f64. The sum may not be (bf16: a
// product on a midpoint and a tiny c), so the error of the sum, which is exact, turns it to odd at 53 bits first.
inline f32 fused(f32 a, f32 b, f32 c) {
    const f64 product = static_cast<f64>(a) * static_cast<f64>(b), addend = c;
    const f64 sum = product + addend;
    const f64 part = sum - product;
    const f64 error = (product - (sum - part)) + (addend - part);
    const bool inexact = error < 0 || error > 0;  // false for NaN, which infinities give
    const u64 bits = bits_as<u64>(sum);
    const u64 truncated = bits - ((error < 0) != (sum < 0) ? 1u : 0u);
    return rounded_to_odd(bits_as<f64>(inexact ? truncated | 1u : bits));
}

// ---- Formats: how the elements of a register become f32 or f64, and back ----------------------------

template <class T>
struct Unconverted {
    using Element = T;
    using Value = T;

    template <int COUNT>
    static void read(const T* from, T* to) {
        std::memcpy(to, from, COUNT * sizeof(T));
    }
    template <int COUNT>
    static void write(const T* from, T* to, u32) {
        std::memcpy(to, from, COUNT * sizeof(T));
    }
};

struct Single : Unconverted<f32> {
    static constexpr f32 LEAST_NORMAL = 0x1p-126f;
    static constexpr u32 EXPONENT = 0x7f800000u, SIGN = SIGN_32;
    static f32 fma(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
};

struct Double : Unconverted<f64> {
    static constexpr f64 LEAST_NORMAL = 0;  // there is no .ftz
    static constexpr u64 EXPONENT = ~0ull, SIGN = 0;
    static f64 fma(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
};

// A multiple of 8 elements. In halves.cpp, because g++ takes 0.4 s to read the header of vector instructions.
void read_halves(const u16* from, f32* to, int count);
void write_halves(const f32* from, u16* to, int count);

struct Half {
    using Element = u16;
    using Value = f32;
    static constexpr f32 LEAST_NORMAL = 0x1p-14f;
    static constexpr u16 EXPONENT = 0x7c00u, SIGN = 0x8000u;

    template <int COUNT>
    static void read(const u16* from, f32* to) {
        read_halves(from, to, COUNT);
    }

    // In the direction of the processor, which is that of `modifiers` where it can be given.
    template <int COUNT>
    static void write(const f32* from, u16* to, u32) {
        write_halves(from, to, COUNT);
    }
    static f32 fma(f32 a, f32 b, f32 c) { return fused(a, b, c); }
};

struct Bfloat {
    using Element = u16;
    using Value = f32;
    static constexpr f32 LEAST_NORMAL = 0x1p-126f;
    static constexpr u16 EXPONENT = 0x7f80u, SIGN = 0x8000u;

    template <int COUNT>
    static void read(const u16* from, f32* to) {
        for (int element = 0; element < COUNT; ++element) {
            to[element] = bits_as<f32>(static_cast<u32>(from[element]) << 16);
        }
    }

    template <int COUNT>
    static void write(const f32* from, u16* to, u32 modifiers) {
        const u32 direction = modifiers & ROUND_MASK;
        const u32 positive = direction == UP ? 0xffffu : direction == NEAREST ? 0x7fffu : 0u;
        const u32 negative = direction == DOWN ? 0xffffu : direction == NEAREST ? 0x7fffu : 0u;
        const u32 even = direction == NEAREST ? 1u : 0u;
        for (int element = 0; element < COUNT; ++element) {
            const u32 bits = bits_as<u32>(from[element]);
            const u32 rounded = bits + (bits & SIGN_32 ? negative : positive) + (bits >> 16 & even);
            const bool is_nan = (bits & ~SIGN_32) > 0x7f800000u;
            to[element] = static_cast<u16>(is_nan ? 0x7fffu : rounded >> 16);
        }
    }
    static f32 fma(f32 a, f32 b, f32 c) { return fused(a, b, c); }
};

// ---- Modifiers on arrays ----------------------------------------------------------------------------

template <int COUNT, class Value>
inline void flush_all(Value* values, Value least_normal) {
    for (int element = 0; element < COUNT; ++element) {
        const Value value = values[element];
        values[element] = __builtin_fabs(value) < least_normal ? value * 0 : value;
    }
}

// The same for results, in their format: after rounding.
template <class Format, int COUNT>
inline void flush_results(typename Format::Element* elements) {
    using Bits = std::remove_const_t<decltype(Format::SIGN)>;
    for (int element = 0; element < COUNT; ++element) {
        const Bits bits = bits_as<Bits>(elements[element]);
        const Bits kept = (bits & Format::EXPONENT) == 0 ? bits & Format::SIGN : bits;
        elements[element] = bits_as<typename Format::Element>(kept);
    }
}

// .relu and .sat, before a result is rounded to its format.
template <int COUNT, class Value>
inline void limit_all(Value* values, u32 modifiers) {
    if (modifiers & RELU) {
        for (int element = 0; element < COUNT; ++element) {
            const Value value = values[element];
            values[element] = value <= 0 ? Value(0) : value;  // NaN stays
        }
    }
    if (modifiers & SAT) {
        for (int element = 0; element < COUNT; ++element) {
            const Value value = values[element];
            values[element] = value > 0 ? least(value, Value(1)) : Value(0);  // NaN to 0
        }
    }
}

// ---- min and max ------------------------------------------------------------------------------------

// The larger of two, -0 < +0; of a number and a NaN the number (a NaN with KEEP_NAN).
template <bool LARGER, class T>
inline T extreme(T a, T b, bool keep_nan) {
    using Bits = std::conditional_t<sizeof(T) == sizeof(u32), u32, u64>;
    constexpr Bits NAN_BITS = sizeof(T) == sizeof(u32) ? NAN_32 : NAN_64;
    const Bits left = bits_as<Bits>(a), right = bits_as<Bits>(b);
    const Bits equal = LARGER ? left & right : left | right;  // differ by the sign of zero, if at all
    const bool first = LARGER ? a > b : a < b;
    const Bits ordered = a == b ? equal : first ? left : right;
    const bool left_nan = a != a, right_nan = b != b;
    const bool none = keep_nan ? left_nan | right_nan : left_nan & right_nan;
    const Bits number = left_nan ? right : right_nan ? left : ordered;
    return bits_as<T>(none ? NAN_BITS : number);
}

// ---- An operation on elements of a format -----------------------------------------------------------

// Reading and writing are functions of their own, which an operation's many forms share: that halves g++'s time.
template <class Format, int COUNT>
[[gnu::noinline]] void read_operands(const Warp& warp, const Instruction& instruction,
                                     typename Format::Value (*values)[COUNT]) {
    const u32 offsets[] = {instruction.a, instruction.b, instruction.c};
    for (int operand = 0; operand < 3; ++operand) {
        if (offsets[operand] == NONE) {
            std::memset(values[operand], 0, sizeof(values[operand]));
            continue;
        }
        Format::template read<COUNT>(lanes_of<typename Format::Element>(warp.registers, offsets[operand]),
                                     values[operand]);
        if (modifiers_of(instruction) & FTZ) {
            flush_all<COUNT, typename Format::Value>(values[operand], Format::LEAST_NORMAL);
        }
    }
}

template <class Format, int PER_LANE>
[[gnu::noinline]] void write_result(Warp& warp, const Instruction& instruction, u32 lanes,
                                    typename Format::Value* values) {
    constexpr int COUNT = LANES * PER_LANE;
    const u32 modifiers = modifiers_of(instruction);
    limit_all<COUNT, typename Format::Value>(values, modifiers);
    Result<typename Format::Element, PER_LANE> result(warp, instruction.d, lanes);
    Format::template write<COUNT>(values, result.data(), modifiers);
    if (modifiers & FTZ) {
        flush_results<Format, COUNT>(result.data());
    }
}

// d = f(a, b, c) with the modifiers of the instruction; operands that are NONE are passed as zeros.
template <class Format, int PER_LANE, class F>
inline void compute(Warp& warp, const Instruction& instruction, u32 lanes, F f) {
    constexpr int COUNT = LANES * PER_LANE;
    typename Format::Value values[3][COUNT];
    read_operands<Format, COUNT>(warp, instruction, values);
    auto *a = values[0], *b = values[1], *c = values[2];
    {
        const Rounding rounding(modifiers_of(instruction) & ROUND_MASK);
        pinned(values);
#pragma GCC ivdep
        for (int element = 0; element < COUNT; ++element) {
            a[element] = f(a[element], b[element], c[element]);
        }
        pinned(values);
    }
    write_result<Format, PER_LANE>(warp, instruction, lanes, a);
}

}  // namespace simt

// The form of an operation that reads modifiers from `immediate`.
#define FORM(operation, type, Format, PER_LANE, expression) \
    OPERATION(operation##_any_##type) { \
        using Value = Format::Value; \
        compute<Format, PER_LANE>(warp, instruction, lanes, [](Value a, Value b, Value c) -> Value { \
            static_cast<void>(b); \
            static_cast<void>(c); \
            return expression; \
        }); \
    }
