// cvt between pairs of 8-bit floating-point numbers (e4m3, e5m2) and pairs of f16 or two f32. The pairs take 16 bits;
// the first operand of two is the upper one. Conversions to 8 bits saturate to the largest finite number.
#include "convert.hpp"

namespace simt {
namespace {

struct E4M3 {
    static constexpr s32 FRACTION = 3, LEAST_EXPONENT = -6;
    static constexpr u32 MOST = 0x7e;  // 448; there is no infinity
};
struct E5M2 {
    static constexpr s32 FRACTION = 2, LEAST_EXPONENT = -14;
    static constexpr u32 MOST = 0x7b;  // 57344
};

// 2^power, for the powers of these formats.
inline f32 power_of_two(s32 power) {
    return bits_as<f32>(static_cast<u32>(power + 127) << 23);
}

template <class Format>
inline u16 encoded(f32 value) {
    const u32 bits = bits_as<u32>(value);
    const f32 size = __builtin_fabsf(value);
    const s32 exponent = most(static_cast<s32>(bits >> 23 & 255) - 127, Format::LEAST_EXPONENT);
    const s32 bounded = least(exponent, 16);  // beyond every format: saturates below
    const f32 units = __builtin_rintf(size * power_of_two(Format::FRACTION - bounded));
    const u32 steps = static_cast<u32>(least(units, 1024.0f));
    // Numbers in order of size have codes in order: a step of the exponent is 2^FRACTION codes.
    const u32 code = (static_cast<u32>(bounded - Format::LEAST_EXPONENT) << Format::FRACTION) + steps;
    const u32 limited = least(code, Format::MOST);
    return static_cast<u16>(value != value ? 0x7f : limited | (bits >> 24 & 0x80));
}

// The bits of an f16, which has every number of both formats.
template <class Format>
inline u16 decoded(u32 code) {
    const u32 sign = (code & 0x80) << 8, size = code & 0x7f;
    if (Format::FRACTION == E5M2::FRACTION) {
        return static_cast<u16>(size > 0x7c ? 0x7fff : sign | size << 8);
    }
    const u32 exponent = size >> 3, fraction = size & 7;
    if (size == 0x7f) {
        return 0x7fff;
    }
    if (exponent) {
        return static_cast<u16>(sign | (exponent + 8) << 10 | fraction << 7);
    }
    const f32 value = static_cast<f32>(fraction) * 0x1p-9f;  // subnormal here, not in f16
    const u32 bits = bits_as<u32>(value);
    return static_cast<u16>(fraction ? sign | ((bits >> 23) - 112) << 10 | (bits >> 13 & 0x3ff) : sign);
}

template <class Format>
void encode(Warp& warp, const Instruction& instruction, u32 lanes, f32* values) {
    limit_all<2 * LANES, f32>(values, modifiers_of(instruction));
    Result<u16> result(warp, instruction.d, lanes);
    u16* d = result.data();
    for (int lane = 0; lane < LANES; ++lane) {
        d[lane] = static_cast<u16>(encoded<Format>(values[2 * lane]) | encoded<Format>(values[2 * lane + 1]) << 8);
    }
}

template <class Format>
void encode_two(Warp& warp, const Instruction& instruction, u32 lanes) {
    f32 values[2 * LANES];
    read_two(warp, instruction, values);
    encode<Format>(warp, instruction, lanes, values);
}

template <class Format>
void encode_pair(Warp& warp, const Instruction& instruction, u32 lanes) {
    f32 values[2 * LANES];
    Half::read<2 * LANES>(lanes_of<u16>(warp.registers, instruction.a), values);
    encode<Format>(warp, instruction, lanes, values);
}

template <class Format>
void decode(Warp& warp, const Instruction& instruction, u32 lanes) {
    const u16* a = lanes_of<u16>(warp.registers, instruction.a);
    const bool relu = modifiers_of(instruction) & RELU;
    Result<u16, 2> result(warp, instruction.d, lanes);
    u16* d = result.data();
    for (int element = 0; element < 2 * LANES; ++element) {
        const u32 code = static_cast<u32>(a[element / 2]) >> (8 * (element & 1)) & 0xff;
        const u16 half = decoded<Format>(code);
        d[element] = relu && half & 0x8000 ? 0 : half;
    }
}

}  // namespace

#define FOR_EACH_FORMAT(type, Format) \
    OPERATION(cvt_##type##x2_f32) { encode_two<Format>(warp, instruction, lanes); } \
    OPERATION(cvt_##type##x2_f16x2) { encode_pair<Format>(warp, instruction, lanes); } \
    OPERATION(cvt_f16x2_##type##x2) { decode<Format>(warp, instruction, lanes); }
FOR_EACH_FORMAT(e4m3, E4M3)
FOR_EACH_FORMAT(e5m2, E5M2)

}  // namespace simt
