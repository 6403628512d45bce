// What atomics and bulk reductions do to a value in memory.
#pragma once

#include "core.hpp"

namespace simt {

struct bf16 {
    u16 bits;
};
struct f16x2 {
    f16 low, high;
};
struct bf16x2 {
    bf16 low, high;
};

inline f32 widened(bf16 value) {
    return bits_as<f32>(u32(value.bits) << 16);
}

inline bf16 narrowed(f32 value) {
    if (value != value) {
        return {0x7fff};
    }
    const u32 bits = bits_as<u32>(value);
    return {u16((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
}

struct Add {
    template <class T>
    static T apply(T a, T b) { return T(a + b); }
    static bf16 apply(bf16 a, bf16 b) { return narrowed(widened(a) + widened(b)); }
    static f16x2 apply(f16x2 a, f16x2 b) { return {f16(a.low + b.low), f16(a.high + b.high)}; }
    static bf16x2 apply(bf16x2 a, bf16x2 b) { return {apply(a.low, b.low), apply(a.high, b.high)}; }
};
struct Minimum {
    template <class T>
    static T apply(T a, T b) { return b < a ? b : a; }
    static bf16 apply(bf16 a, bf16 b) { return widened(b) < widened(a) || widened(a) != widened(a) ? b : a; }
};
struct Maximum {
    template <class T>
    static T apply(T a, T b) { return a < b ? b : a; }
    static bf16 apply(bf16 a, bf16 b) { return widened(a) < widened(b) || widened(a) != widened(a) ? b : a; }
};
struct And {
    template <class T>
    static T apply(T a, T b) { return a & b; }
};
struct Or {
    template <class T>
    static T apply(T a, T b) { return a | b; }
};
struct Xor {
    template <class T>
    static T apply(T a, T b) { return a ^ b; }
};
struct Exchange {
    template <class T>
    static T apply(T, T b) { return b; }
};
struct Increment {  // wraps to 0 above b
    template <class T>
    static T apply(T a, T b) { return a >= b ? T(0) : T(a + 1); }
};
struct Decrement {
    template <class T>
    static T apply(T a, T b) { return a == 0 || a > b ? b : T(a - 1); }
};

}  // namespace simt
