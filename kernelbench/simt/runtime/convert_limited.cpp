// cvt to integers that limits values to their range: from integers with .sat, from floating-point numbers; cvt.pack.
#include "convert.hpp"

namespace simt {
namespace {

// d (register bytes in f) = the integer in a (its bytes in b, its type in e) within the range of D.
template <class D>
void saturate(Warp& warp, const Instruction& instruction, u32 lanes) {
    constexpr s64 LOW = std::numeric_limits<D>::min();
    constexpr s64 HIGH = sizeof(D) == 8 ? INT64_MAX : static_cast<s64>(std::numeric_limits<D>::max());
    s64 values[LANES];
    D results[LANES];
    read_integers(warp, instruction, values);
    const bool unsigned_64 = source_type(instruction) == Type::u64;
    for (int lane = 0; lane < LANES; ++lane) {
        const s64 value = unsigned_64 && values[lane] < 0 ? INT64_MAX : values[lane];
        results[lane] = static_cast<D>(within<s64>(value, LOW, HIGH));
    }
    write_integers(warp, instruction, lanes, results);
}

// d = the number in a, rounded to a whole one and brought into the range of D.
template <class D>
void from_float(Warp& warp, const Instruction& instruction, u32 lanes) {
    constexpr D LEAST = std::numeric_limits<D>::min(), MOST = std::numeric_limits<D>::max();
    constexpr f64 low = static_cast<f64>(LEAST);
    constexpr f64 beyond = 2.0 * static_cast<f64>(MOST / 2 + 1);
    // What hardware gives for NaN: 0, or the highest bit alone where 64 bits are involved.
    const bool wide = sizeof(D) == 8 || source_type(instruction) == Type::f64;
    const D of_nan = wide ? static_cast<D>(u64(1) << (8 * sizeof(D) - 1)) : D(0);
    f64 values[LANES];
    D results[LANES];
    read_floats(warp, instruction, values);
    round_to_whole(values, modifiers_of(instruction) & ROUND_MASK);
    for (int lane = 0; lane < LANES; ++lane) {
        const f64 value = values[lane];
        const bool fits = value >= low && value < beyond;
        const D limited = value >= beyond ? MOST : value < low ? LEAST : of_nan;
        const D whole = static_cast<D>(fits ? value : 0.0);
        results[lane] = fits ? whole : limited;
    }
    write_integers(warp, instruction, lanes, results);
}

template <class T>
constexpr u32 pack(s32 upper, s32 lower, u32 rest) {
    constexpr u32 bits = 8 * sizeof(T);
    using Unsigned = std::make_unsigned_t<T>;
    const auto limited = [](s32 value) {
        return static_cast<u32>(static_cast<Unsigned>(
            within<s32>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max())));
    };
    const u32 both = limited(upper) << bits | limited(lower);
    return bits == 16 ? both : both | rest << 16;
}

}  // namespace

#define FOR_EACH_TYPE(T) \
    OPERATION(saturate_##T) { saturate<T>(warp, instruction, lanes); } \
    OPERATION(cvt_##T##_float) { from_float<T>(warp, instruction, lanes); }
FOR_EACH_TYPE(u8)
FOR_EACH_TYPE(s8)
FOR_EACH_TYPE(u16)
FOR_EACH_TYPE(s16)
FOR_EACH_TYPE(u32)
FOR_EACH_TYPE(s32)
FOR_EACH_TYPE(u64)
FOR_EACH_TYPE(s64)

TERNARY(cvt_pack_u16, u32, s32, s32, u32, pack<u16>(a, b, c))
TERNARY(cvt_pack_s16, u32, s32, s32, u32, pack<s16>(a, b, c))
TERNARY(cvt_pack_u8, u32, s32, s32, u32, pack<u8>(a, b, c))
TERNARY(cvt_pack_s8, u32, s32, s32, u32, pack<s8>(a, b, c))

}  // namespace simt
