// ex2, lg2, sin, cos and tanh of f32 without branches, so that lanes are computed side by side. Within 1 ulp of the
// exact value (sin and cos: 2^-24 from it), that is nearer than the manual promises of the .approx instructions.
#pragma once

#include "floats.hpp"

namespace simt {

// 2^a. The polynomial is 2^f on [-1/2, 1/2], its relative error below 2^-28; f = a - round(a) is exact.
inline f32 exp2_of(f32 a) {
    const f32 bounded = a < -152.0f ? -152.0f : a > 129.0f ? 129.0f : a;  // beyond: 0 and infinity; NaN stays
    const f32 whole = __builtin_rintf(bounded);
    const f32 f = bounded - whole;
    f32 sum = 0x1.41fbb8p-13f;
    sum = __builtin_fmaf(sum, f, 0x1.5f3e54p-10f);
    sum = __builtin_fmaf(sum, f, 0x1.3b2d4cp-7f);
    sum = __builtin_fmaf(sum, f, 0x1.c6aee8p-5f);
    sum = __builtin_fmaf(sum, f, 0x1.ebfbdcp-3f);
    sum = __builtin_fmaf(sum, f, 0x1.62e43p-1f);
    sum = __builtin_fmaf(sum, f, 1.0f);
    // Two factors, as 2^whole itself may be out of range; the first product is normal, so only the second rounds.
    const s32 exponent = static_cast<s32>(whole == whole ? whole : 0.0f);
    const s32 half = exponent >> 1;
    const f32 first = bits_as<f32>(static_cast<u32>(half + 127) << 23);
    const f32 second = bits_as<f32>(static_cast<u32>(exponent - half + 127) << 23);
    return sum * first * second;
}

// log2(a) in f64, where every f32 is normal: the exponent, plus the series of atanh for the mantissa, which is in
// [sqrt(1/2), sqrt(2)).
inline f32 log2_of(f32 a) {
    const u64 bits = bits_as<u64>(static_cast<f64>(a));
    const u64 above = bits - 0x3fe6a09e667f3bcdull;  // the bits of sqrt(1/2)
    const s32 exponent = static_cast<s32>(static_cast<s64>(above) >> 52);
    const f64 mantissa = bits_as<f64>(bits - (above & 0xfff0000000000000ull));
    const f64 s = (mantissa - 1.0) / (mantissa + 1.0), square = s * s;
    f64 sum = 1.0 / 13;
    sum = sum * square + 1.0 / 11;
    sum = sum * square + 1.0 / 9;
    sum = sum * square + 1.0 / 7;
    sum = sum * square + 1.0 / 5;
    sum = sum * square + 1.0 / 3;
    sum = sum * square + 1.0;
    const f64 result = exponent + s * sum * 2.8853900817779268;  // 2 / ln 2
    const f32 finite = static_cast<f32>(result);
    const f32 special = a == 0 ? -__builtin_inff() : a < 0 ? __builtin_nanf("") : a;
    return a > 0 && a < __builtin_inff() ? finite : special;
}

constexpr f32 LARGEST_REDUCED = 0x1p30f;  // above it the multiple of pi/2 does not fit s32

// sin(a), or cos(a) with `quarter` 1, for |a| <= LARGEST_REDUCED: series on [-pi/4, pi/4] of a less a multiple of pi/2.
inline f32 sine_of(f32 a, s32 quarter) {
    const f64 angle = a;
    const f64 multiple = __builtin_rint(angle * 0.63661977236758134);
    f64 r = __builtin_fma(-multiple, 1.5707963267948966, angle);
    r = __builtin_fma(-multiple, 6.123233995736766e-17, r);  // the bits of pi/2 that f64 leaves out
    const f64 square = r * r;
    f64 sine = 1.0 / 362880;
    sine = sine * square - 1.0 / 5040;
    sine = sine * square + 1.0 / 120;
    sine = sine * square - 1.0 / 6;
    sine = r + r * square * sine;
    f64 cosine = -1.0 / 3628800;
    cosine = cosine * square + 1.0 / 40320;
    cosine = cosine * square - 1.0 / 720;
    cosine = cosine * square + 1.0 / 24;
    cosine = cosine * square - 0.5;
    cosine = cosine * square + 1.0;
    const bool in_range = __builtin_fabs(multiple) < 0x1p30;
    const s32 quadrant = static_cast<s32>(in_range ? multiple : 0.0) + quarter;
    const f64 magnitude = quadrant & 1 ? cosine : sine;
    const f32 result = static_cast<f32>(quadrant & 2 ? -magnitude : magnitude);
    return a == 0 && quarter == 0 ? a : result;  // keeps -0
}

// tanh(a) = (t - 1) / (t + 1) with t = e^(2 a); near 0, where that cancels, its series.
inline f32 tanh_of(f32 a) {
    const f64 x = a;
    const f64 bounded = x < -10.0 ? -10.0 : x > 10.0 ? 10.0 : x;
    const f64 exponent = bounded * 2.8853900817779268;
    const f64 whole = __builtin_rint(exponent);
    const f64 f = (exponent - whole) * 0.69314718055994531;
    f64 sum = 1.0 / 40320;
    sum = sum * f + 1.0 / 5040;
    sum = sum * f + 1.0 / 720;
    sum = sum * f + 1.0 / 120;
    sum = sum * f + 1.0 / 24;
    sum = sum * f + 1.0 / 6;
    sum = sum * f + 0.5;
    sum = sum * f + 1.0;
    sum = sum * f + 1.0;
    const s32 power = static_cast<s32>(whole == whole ? whole : 0.0);
    const f64 t = sum * bits_as<f64>(static_cast<u64>(power + 1023) << 52);
    const f64 square = x * x;
    const f64 series = x * (1.0 - square * (1.0 / 3 - square * (2.0 / 15)));
    return static_cast<f32>(__builtin_fabs(x) < 0.01 ? series : (t - 1.0) / (t + 1.0));
}

}  // namespace simt
