// Integer arithmetic: add, sub, mul, mad, div, rem, abs, neg, min, max, sad, mul24, dp2a, dp4a, and pairs of 16 bits.
// Names say the width (b32) where signs do not matter, else the type (s32).
#include <type_traits>

#include "lanes.hpp"

namespace simt {
namespace {

template <class T>
struct WiderOf;
template <>
struct WiderOf<u16> { using type = u32; };
template <>
struct WiderOf<s16> { using type = s32; };
template <>
struct WiderOf<u32> { using type = u64; };
template <>
struct WiderOf<s32> { using type = s64; };
template <>
struct WiderOf<u64> { using type = u128; };
template <>
struct WiderOf<s64> { using type = s128; };

template <class T>
using Wider = typename WiderOf<T>::type;

// Unsigned of at least 32 bits, in which sums and products of T wrap instead of overflowing.
template <class T>
using Modular = decltype(1u * std::make_unsigned_t<T>(0));

template <class T>
constexpr Modular<T> modular(T value) {
    return static_cast<Modular<T>>(value);
}

template <class T>
constexpr Wider<T> product(T a, T b) {
    return static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b);
}

template <class T>
constexpr T high_product(T a, T b) {
    return static_cast<T>(product(a, b) >> (8 * sizeof(T)));
}

template <class T>
constexpr T absolute(T a) {
    return static_cast<T>(a < 0 ? 0 - modular(a) : modular(a));
}

template <class T>
constexpr T distance(T a, T b) {
    return static_cast<T>(a < b ? modular(b) - modular(a) : modular(a) - modular(b));
}

constexpr s32 saturated(s64 value) {
    return static_cast<s32>(within<s64>(value, INT32_MIN, INT32_MAX));
}

// PTX leaves division by zero open; hardware gives all ones, as quotient and as remainder.
template <class T>
constexpr T quotient(T a, T b) {
    if (b == 0) {
        return static_cast<T>(~T(0));
    }
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
        return static_cast<T>(0 - modular(a));  // the least number has no opposite: it wraps
    }
    return static_cast<T>(a / b);
}

template <class T>
constexpr T remainder(T a, T b) {
    if (b == 0) {
        return static_cast<T>(~T(0));
    }
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
        return 0;
    }
    return static_cast<T>(a % b);
}

template <class T, class F>
void each(Warp& warp, const Instruction& instruction, u32 lanes, F f) {
    const T* a = lanes_of<T>(warp.registers, instruction.a);
    const T* b = lanes_of<T>(warp.registers, instruction.b);
    T* d = lanes_of<T>(warp.registers, instruction.d);
    each_lane(lanes, [&](int lane) { d[lane] = f(a[lane], b[lane]); });
}

constexpr s32 low_24(s32 a) {
    return static_cast<s32>(static_cast<u32>(a) << 8) >> 8;
}

constexpr u32 low_24(u32 a) {
    return a & 0xffffffu;
}

template <class T>
constexpr Wider<T> product_24(T a, T b) {
    return product(low_24(a), low_24(b));
}

// c plus the products of elements: four bytes with four bytes, or two halves of a with two bytes of b.
template <class A, class B>
constexpr u32 dot_4(u32 a, u32 b, u32 c) {
    for (int byte = 0; byte < 4; ++byte) {
        c += static_cast<u32>(static_cast<A>(a >> (8 * byte)) * static_cast<B>(b >> (8 * byte)));
    }
    return c;
}

template <class A, class B, int HIGH>
constexpr u32 dot_2(u32 a, u32 b, u32 c) {
    for (int half = 0; half < 2; ++half) {
        c += static_cast<u32>(static_cast<A>(a >> (16 * half)) * static_cast<B>(b >> (8 * half + 16 * HIGH)));
    }
    return c;
}

}  // namespace

#define FOR_EACH_WIDTH(T) \
    BINARY(add_##T, T, T, T, modular(a) + modular(b)) \
    BINARY(sub_##T, T, T, T, modular(a) - modular(b)) \
    BINARY(mul_lo_##T, T, T, T, modular(a) * modular(b)) \
    TERNARY(mad_lo_##T, T, T, T, T, modular(a) * modular(b) + modular(c))
FOR_EACH_WIDTH(u16)
FOR_EACH_WIDTH(u32)
FOR_EACH_WIDTH(u64)

#define FOR_EACH_TYPE(T) \
    BINARY(mul_hi_##T, T, T, T, high_product(a, b)) \
    TERNARY(mad_hi_##T, T, T, T, T, modular(high_product(a, b)) + modular(c)) \
    BINARY(min_##T, T, T, T, least(a, b)) \
    BINARY(max_##T, T, T, T, most(a, b)) \
    TERNARY(sad_##T, T, T, T, T, modular(distance(a, b)) + modular(c)) \
    OPERATION(div_##T) { each<T>(warp, instruction, lanes, quotient<T>); } \
    OPERATION(rem_##T) { each<T>(warp, instruction, lanes, remainder<T>); }
FOR_EACH_TYPE(u16)
FOR_EACH_TYPE(s16)
FOR_EACH_TYPE(u32)
FOR_EACH_TYPE(s32)
FOR_EACH_TYPE(u64)
FOR_EACH_TYPE(s64)

#define FOR_EACH_SIGNED(T) \
    UNARY(abs_##T, T, T, absolute(a)) \
    UNARY(neg_##T, T, T, 0 - modular(a)) \
    BINARY(min_relu_##T, T, T, T, most<T>(least(a, b), 0)) \
    BINARY(max_relu_##T, T, T, T, most<T>(most(a, b), 0))
FOR_EACH_SIGNED(s16)
FOR_EACH_SIGNED(s32)
FOR_EACH_SIGNED(s64)

#define FOR_EACH_THAT_WIDENS(T) \
    BINARY(mul_wide_##T, Wider<T>, T, T, product(a, b)) \
    TERNARY(mad_wide_##T, Wider<T>, T, T, Wider<T>, modular(product(a, b)) + modular(c))
FOR_EACH_THAT_WIDENS(u16)
FOR_EACH_THAT_WIDENS(s16)
FOR_EACH_THAT_WIDENS(u32)
FOR_EACH_THAT_WIDENS(s32)

BINARY(add_sat_s32, s32, s32, s32, saturated(static_cast<s64>(a) + b))
BINARY(sub_sat_s32, s32, s32, s32, saturated(static_cast<s64>(a) - b))
TERNARY(mad_hi_sat_s32, s32, s32, s32, s32, saturated(static_cast<s64>(high_product(a, b)) + c))

#define FOR_24_BITS(T) \
    BINARY(mul24_lo_##T, T, T, T, product_24(a, b)) \
    BINARY(mul24_hi_##T, T, T, T, product_24(a, b) >> 16) \
    TERNARY(mad24_lo_##T, T, T, T, T, modular(product_24(a, b)) + modular(c)) \
    TERNARY(mad24_hi_##T, T, T, T, T, modular(product_24(a, b) >> 16) + modular(c))
FOR_24_BITS(u32)
FOR_24_BITS(s32)
TERNARY(mad24_hi_sat_s32, s32, s32, s32, s32, saturated((product_24(a, b) >> 16) + c))

#define DOT_PRODUCTS(a_type, b_type, A4, A2, B) \
    TERNARY(dp4a_##a_type##_##b_type, u32, u32, u32, u32, dot_4<A4, B>(a, b, c)) \
    TERNARY(dp2a_lo_##a_type##_##b_type, u32, u32, u32, u32, dot_2<A2, B, 0>(a, b, c)) \
    TERNARY(dp2a_hi_##a_type##_##b_type, u32, u32, u32, u32, dot_2<A2, B, 1>(a, b, c))
DOT_PRODUCTS(u32, u32, u8, u16, u8)
DOT_PRODUCTS(u32, s32, u8, u16, s8)
DOT_PRODUCTS(s32, u32, s8, s16, u8)
DOT_PRODUCTS(s32, s32, s8, s16, s8)

BINARY_PAIRS(add_u16x2, u16, a + b)
BINARY_PAIRS(min_u16x2, u16, least(a, b))
BINARY_PAIRS(max_u16x2, u16, most(a, b))
BINARY_PAIRS(min_s16x2, s16, least(a, b))
BINARY_PAIRS(max_s16x2, s16, most(a, b))
BINARY_PAIRS(min_relu_s16x2, s16, most<s16>(least(a, b), 0))
BINARY_PAIRS(max_relu_s16x2, s16, most<s16>(most(a, b), 0))

}  // namespace simt
