// Bits of integers: and, or, xor, not, cnot, shl, shr, shf, lop3, prmt, bfe, bfi, bfind, brev, popc, clz, bmsk, fns,
// szext. Shift counts are u32 whatever is shifted; what lies beyond the width is shifted out.
#include <type_traits>

#include "lanes.hpp"

namespace simt {
namespace {

template <class T>
constexpr u32 WIDTH = 8 * sizeof(T);

template <class T>
constexpr T shifted_left(T a, u32 count) {
    return count < WIDTH<T> ? static_cast<T>(static_cast<u64>(a) << (count & (WIDTH<T> - 1))) : T(0);
}

template <>
constexpr u32 shifted_left(u32 a, u32 count) {
    return count < 32 ? a << (count & 31) : 0;
}

template <class T>
constexpr T shifted_right(T a, u32 count) {  // unsigned
    return count < WIDTH<T> ? static_cast<T>(a >> (count & (WIDTH<T> - 1))) : T(0);
}

template <class T>
constexpr T shifted_right_signed(T a, u32 count) {
    return static_cast<T>(a >> least(count, WIDTH<T> - 1));
}

constexpr u64 joined(u32 low, u32 high) {
    return static_cast<u64>(high) << 32 | low;
}

// One of two by each bit of `which`.
constexpr u32 chosen(u32 which, u32 where_one, u32 where_zero) {
    return (which & where_one) | (~which & where_zero);
}

template <class T>
constexpr T reversed(T a) {
    T result = 0;
    for (u32 bit = 0; bit < WIDTH<T>; ++bit) {
        result = static_cast<T>(result << 1 | (a >> bit & 1));
    }
    return result;
}

constexpr u32 leading_zeros(u32 a) {
    return a ? __builtin_clz(a) : 32;
}

constexpr u32 leading_zeros(u64 a) {
    return a ? __builtin_clzll(a) : 64;
}

// Place of the highest bit that is not the sign; all ones if there is none. With `as_shift` how far it is from the top.
template <class T>
constexpr u32 highest_bit(T a, bool as_shift) {
    using Unsigned = std::conditional_t<sizeof(T) == 4, u32, u64>;
    const Unsigned bits = static_cast<Unsigned>(a < 0 ? ~a : a);
    if (bits == 0) {
        return NONE;
    }
    const u32 distance = leading_zeros(bits);
    return as_shift ? distance : WIDTH<T> - 1 - distance;
}

// The lowest `count` bits, for any count.
template <class T>
constexpr T low_bits(u32 count) {
    return count >= WIDTH<T> ? static_cast<T>(~T(0)) : static_cast<T>((T(1) << count) - 1);
}

// `count` bits of a from `place`; bits above the field repeat its top bit (at most the top of a) if T is signed.
template <class T>
constexpr T field(T a, u32 place, u32 count) {
    using Unsigned = std::conditional_t<sizeof(T) == 4, u32, u64>;
    place &= 255;
    count &= 255;
    const u32 top = least(place + count - 1, WIDTH<T> - 1);
    const bool negative = std::is_signed_v<T> && count != 0 && (a >> top & 1);
    const Unsigned bits = place < WIDTH<T> ? static_cast<Unsigned>(a) >> place : 0;
    const u32 present = place < WIDTH<T> ? least(count, WIDTH<T> - place) : 0;
    const Unsigned mask = low_bits<Unsigned>(present);
    return static_cast<T>((bits & mask) | (negative ? ~mask : 0));
}

template <class T>
constexpr T with_field(T field, T base, u32 place, u32 count) {
    place &= 255;
    count &= 255;
    if (place >= WIDTH<T>) {
        return base;
    }
    const T mask = static_cast<T>(low_bits<T>(count) << place);
    return (base & ~mask) | (field << place & mask);
}

constexpr u32 mask_of_bits(u32 start, u32 count, bool clamp) {
    if (!clamp) {
        start &= 31;
        count &= 31;
    }
    return shifted_left(low_bits<u32>(count), start);
}

constexpr u32 extended(u32 a, u32 count, bool clamp, bool is_signed) {
    if (count >= 32) {
        if (clamp) {
            return a;
        }
        count &= 31;
    }
    const u32 mask = low_bits<u32>(count);
    const bool negative = is_signed && count && (a >> (count - 1) & 1);
    return (a & mask) | (negative ? ~mask : 0);
}

// The place of the n-th set bit of `mask` from `base`: upwards if n > 0, downwards if n < 0, at base if n is 0.
constexpr u32 find_nth_set(u32 mask, u32 base, s32 n) {
    if (n == 0) {
        return base < 32 && (mask >> base & 1) ? base : NONE;
    }
    s64 left = n < 0 ? -static_cast<s64>(n) : n;
    for (s64 place = base; 0 <= place && place < 32; place += n < 0 ? -1 : 1) {
        if ((mask >> place & 1) && --left == 0) {
            return static_cast<u32>(place);
        }
    }
    return NONE;
}

// ---- prmt: each byte of the result is one of the eight of b:a ---------------------------------------

constexpr u32 chosen_byte(u32 a, u32 b, u32 choice) {
    const u32 word = choice & 4 ? b : a;
    const u32 byte = word >> (8 * (choice & 3)) & 0xff;
    const u32 sign = byte & 0x80 ? 0xff : 0;
    return choice & 8 ? sign : byte;
}

constexpr u32 permuted(u32 a, u32 b, u32 selector) {
    return chosen_byte(a, b, selector) | chosen_byte(a, b, selector >> 4) << 8 |
           chosen_byte(a, b, selector >> 8) << 16 | chosen_byte(a, b, selector >> 12) << 24;
}

// Selectors of the other modes, by the two low bits of c; the tables are those of the PTX manual.
enum PermuteMode : u32 { GENERAL, FORWARD_4, BACKWARD_4, REPLICATE_8, CLAMP_LEFT, CLAMP_RIGHT, REPLICATE_16 };
constexpr u32 SELECTORS[][4] = {
    {0, 0, 0, 0},
    {0x3210, 0x4321, 0x5432, 0x6543},
    {0x5670, 0x6701, 0x7012, 0x0123},
    {0x0000, 0x1111, 0x2222, 0x3333},
    {0x3210, 0x3211, 0x3222, 0x3333},
    {0x0000, 0x1110, 0x2210, 0x3210},
    {0x1010, 0x3232, 0x1010, 0x3232},
};

void permute(Warp& warp, const Instruction& instruction, u32 lanes, u32 mode) {
    const u32* a = lanes_of<u32>(warp.registers, instruction.a);
    const u32* b = lanes_of<u32>(warp.registers, instruction.b);
    const u32* c = lanes_of<u32>(warp.registers, instruction.c);
    u32 selectors[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
        selectors[lane] = mode == GENERAL ? c[lane] : SELECTORS[mode][c[lane] & 3];
    }
    Result<u32> result(warp, instruction.d, lanes);
    u32* d = result.data();
#pragma GCC ivdep
    for (int lane = 0; lane < LANES; ++lane) {
        d[lane] = permuted(a[lane], b[lane], selectors[lane]);
    }
}

}  // namespace

#define FOR_EACH_WIDTH(bits) \
    BINARY(and_b##bits, u##bits, u##bits, u##bits, a & b) \
    BINARY(or_b##bits, u##bits, u##bits, u##bits, a | b) \
    BINARY(xor_b##bits, u##bits, u##bits, u##bits, a ^ b) \
    UNARY(not_b##bits, u##bits, u##bits, ~a) \
    UNARY(cnot_b##bits, u##bits, u##bits, a == 0) \
    BINARY(shl_b##bits, u##bits, u##bits, u32, shifted_left(a, b)) \
    BINARY(shr_u##bits, u##bits, u##bits, u32, shifted_right(a, b)) \
    BINARY(shr_s##bits, s##bits, s##bits, u32, shifted_right_signed(a, b))
FOR_EACH_WIDTH(16)
FOR_EACH_WIDTH(32)
FOR_EACH_WIDTH(64)

#define FOR_32_AND_64(bits) \
    UNARY(brev_b##bits, u##bits, u##bits, reversed(a)) \
    OPERATION(popc_b##bits) { \
        map<u32, u##bits>(warp, instruction, lanes, [](u##bits a) -> u32 { return __builtin_popcountll(a); }); \
    } \
    UNARY(clz_b##bits, u32, u##bits, leading_zeros(a)) \
    UNARY(bfind_u##bits, u32, u##bits, highest_bit(a, false)) \
    UNARY(bfind_s##bits, u32, s##bits, highest_bit(a, false)) \
    UNARY(bfind_shiftamt_u##bits, u32, u##bits, highest_bit(a, true)) \
    UNARY(bfind_shiftamt_s##bits, u32, s##bits, highest_bit(a, true)) \
    TERNARY(bfe_u##bits, u##bits, u##bits, u32, u32, field(a, b, c)) \
    TERNARY(bfe_s##bits, s##bits, s##bits, u32, u32, field(a, b, c)) \
    OPERATION(bfi_b##bits) { \
        const u32* count = lanes_of<u32>(warp.registers, instruction.e); \
        const u##bits* a = lanes_of<u##bits>(warp.registers, instruction.a); \
        const u##bits* b = lanes_of<u##bits>(warp.registers, instruction.b); \
        const u32* place = lanes_of<u32>(warp.registers, instruction.c); \
        u##bits* d = lanes_of<u##bits>(warp.registers, instruction.d); \
        each_lane(lanes, [&](int lane) { d[lane] = with_field(a[lane], b[lane], place[lane], count[lane]); }); \
    }
FOR_32_AND_64(32)
FOR_32_AND_64(64)

TERNARY(shf_l_wrap_b32, u32, u32, u32, u32, joined(a, b) << (c & 31) >> 32)
TERNARY(shf_r_wrap_b32, u32, u32, u32, u32, joined(a, b) >> (c & 31))
TERNARY(shf_l_clamp_b32, u32, u32, u32, u32, joined(a, b) << least(c, 32u) >> 32)
TERNARY(shf_r_clamp_b32, u32, u32, u32, u32, joined(a, b) >> least(c, 32u))

BINARY(bmsk_clamp_b32, u32, u32, u32, mask_of_bits(a, b, true))
BINARY(bmsk_wrap_b32, u32, u32, u32, mask_of_bits(a, b, false))
BINARY(szext_clamp_u32, u32, u32, u32, extended(a, b, true, false))
BINARY(szext_clamp_s32, u32, u32, u32, extended(a, b, true, true))
BINARY(szext_wrap_u32, u32, u32, u32, extended(a, b, false, false))
BINARY(szext_wrap_s32, u32, u32, u32, extended(a, b, false, true))
TERNARY(fns_b32, u32, u32, u32, s32, find_nth_set(a, b, c))

OPERATION(prmt_b32) { permute(warp, instruction, lanes, GENERAL); }
OPERATION(prmt_f4e_b32) { permute(warp, instruction, lanes, FORWARD_4); }
OPERATION(prmt_b4e_b32) { permute(warp, instruction, lanes, BACKWARD_4); }
OPERATION(prmt_rc8_b32) { permute(warp, instruction, lanes, REPLICATE_8); }
OPERATION(prmt_ecl_b32) { permute(warp, instruction, lanes, CLAMP_LEFT); }
OPERATION(prmt_ecr_b32) { permute(warp, instruction, lanes, CLAMP_RIGHT); }
OPERATION(prmt_rc16_b32) { permute(warp, instruction, lanes, REPLICATE_16); }

// Any function of three bits: `immediate` has its value for each of the eight cases, a the highest of the three.
OPERATION(lop3_b32) {
    u32 table[8];
    for (u32 bits = 0; bits < 8; ++bits) {
        table[bits] = instruction.immediate >> bits & 1 ? ALL : 0;
    }
    map<u32, u32, u32, u32>(warp, instruction, lanes, [&](u32 a, u32 b, u32 c) {
        const u32 b0a0 = chosen(c, table[1], table[0]), b1a0 = chosen(c, table[3], table[2]);
        const u32 b0a1 = chosen(c, table[5], table[4]), b1a1 = chosen(c, table[7], table[6]);
        return chosen(a, chosen(b, b1a1, b0a1), chosen(b, b1a0, b0a0));
    });
}

}  // namespace simt
