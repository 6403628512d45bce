// setp and set: comparisons into predicates and into numbers.
//
// setp: d the predicate that gets the result, e the one that gets the opposite (or NONE), a and b what is compared, c a
// predicate to combine with (or NONE), f how: Combine. `immediate` has the
// modifiers and, for the forms that do not have it in their name, the comparison from bit 16 on.
#include "floats.hpp"

namespace simt {
namespace {

template <Comparison HOW, class T>
u32 compare(const T* a, const T* b) {
    return lanes_that([&](int lane) { return compares(HOW, a[lane], b[lane]); });
}

template <class T>
u32 compare_by(Comparison how, const T* a, const T* b) {
    switch (how) {
        case Comparison::eq: return compare<Comparison::eq>(a, b);
        case Comparison::ne: return compare<Comparison::ne>(a, b);
        case Comparison::lt: return compare<Comparison::lt>(a, b);
        case Comparison::le: return compare<Comparison::le>(a, b);
        case Comparison::gt: return compare<Comparison::gt>(a, b);
        case Comparison::ge: return compare<Comparison::ge>(a, b);
        case Comparison::equ: return compare<Comparison::equ>(a, b);
        case Comparison::neu: return compare<Comparison::neu>(a, b);
        case Comparison::ltu: return compare<Comparison::ltu>(a, b);
        case Comparison::leu: return compare<Comparison::leu>(a, b);
        case Comparison::gtu: return compare<Comparison::gtu>(a, b);
        case Comparison::geu: return compare<Comparison::geu>(a, b);
        case Comparison::num: return compare<Comparison::num>(a, b);
        default: return compare<Comparison::nan>(a, b);
    }
}

Comparison comparison_of(const Instruction& instruction) {
    return static_cast<Comparison>(modifiers_of(instruction) >> COMPARISON_SHIFT);
}

u32 combined(const Warp& warp, const Instruction& instruction, u32 value) {
    const u32 other = instruction.c == NONE ? 0 : lanes_where(warp, instruction.c, instruction.f & NEGATED);
    switch (instruction.f & ~NEGATED) {
        case AND: return value & other;
        case OR: return value | other;
        case XOR: return value ^ other;
        default: return value;
    }
}

void set_both(Warp& warp, const Instruction& instruction, u32 lanes, u32 value) {
    const u32 result = combined(warp, instruction, value);
    const u32 opposite = instruction.e == NONE ? 0 : combined(warp, instruction, ~value);
    set_predicate(warp, instruction.d, result, lanes);
    set_predicate(warp, instruction.e, opposite, lanes);
}

template <Comparison HOW, class T>
void set_plain(Warp& warp, const Instruction& instruction, u32 lanes) {
    const T* a = lanes_of<T>(warp.registers, instruction.a);
    const T* b = lanes_of<T>(warp.registers, instruction.b);
    set_both(warp, instruction, lanes, compare<HOW>(a, b));
}

// Operands of a 16-bit format or of f32 with .ftz, as f32. Of pairs the lower numbers come first, then the upper.
template <class Format, int PER_LANE>
void read_operand(const Warp& warp, u32 offset, u32 modifiers, f32* to) {
    constexpr int COUNT = LANES * PER_LANE;
    f32 values[COUNT];
    Format::template read<COUNT>(lanes_of<typename Format::Element>(warp.registers, offset), values);
    if (modifiers & FTZ) {
        flush_all<COUNT, f32>(values, Format::LEAST_NORMAL);
    }
    for (int element = 0; element < COUNT; ++element) {
        to[element % PER_LANE * LANES + element / PER_LANE] = values[element];
    }
}

// Results for the lower (or only) and the upper numbers.
template <class Format, int PER_LANE>
void compare_formats(const Warp& warp, const Instruction& instruction, u32* found) {
    f32 a[LANES * PER_LANE], b[LANES * PER_LANE];
    read_operand<Format, PER_LANE>(warp, instruction.a, modifiers_of(instruction), a);
    read_operand<Format, PER_LANE>(warp, instruction.b, modifiers_of(instruction), b);
    for (int part = 0; part < PER_LANE; ++part) {
        found[part] = compare_by(comparison_of(instruction), a + part * LANES, b + part * LANES);
    }
}

template <class Format>
void set_one(Warp& warp, const Instruction& instruction, u32 lanes) {
    u32 found;
    compare_formats<Format, 1>(warp, instruction, &found);
    set_both(warp, instruction, lanes, found);
}

// Pairs have a predicate for each of their numbers: d the lower, e the upper.
template <class Format>
void set_pair(Warp& warp, const Instruction& instruction, u32 lanes) {
    u32 found[2];
    compare_formats<Format, 2>(warp, instruction, found);
    const u32 lower = combined(warp, instruction, found[0]), upper = combined(warp, instruction, found[1]);
    set_predicate(warp, instruction.d, lower, lanes);
    set_predicate(warp, instruction.e, upper, lanes);
}

// ---- set: x[0] has what stands for true (1.0 or all ones); e the bytes of the result ------------------

template <class T>
void write_truth(Warp& warp, const Instruction& instruction, u32 lanes, u32 truth) {
    Result<T> result(warp, instruction.d, lanes);
    T* d = result.data();
    const T yes = static_cast<T>(instruction.x[0]);
    for (int lane = 0; lane < LANES; ++lane) {
        d[lane] = has(truth, lane) ? yes : T(0);
    }
}

void write_number(Warp& warp, const Instruction& instruction, u32 lanes, u32 found) {
    const u32 truth = combined(warp, instruction, found);
    if (instruction.e == 2) {
        write_truth<u16>(warp, instruction, lanes, truth);
    } else {
        write_truth<u32>(warp, instruction, lanes, truth);
    }
}

template <class T>
void set_number(Warp& warp, const Instruction& instruction, u32 lanes) {
    const T* a = lanes_of<T>(warp.registers, instruction.a);
    const T* b = lanes_of<T>(warp.registers, instruction.b);
    write_number(warp, instruction, lanes, compare_by(comparison_of(instruction), a, b));
}

template <class Format>
void set_number_of_format(Warp& warp, const Instruction& instruction, u32 lanes) {
    u32 found;
    compare_formats<Format, 1>(warp, instruction, &found);
    write_number(warp, instruction, lanes, found);
}

template <class Format>
void set_numbers_of_pair(Warp& warp, const Instruction& instruction, u32 lanes) {
    u32 found[2];
    compare_formats<Format, 2>(warp, instruction, found);
    const u32 lower = combined(warp, instruction, found[0]), upper = combined(warp, instruction, found[1]);
    const u32 yes = instruction.x[0] & 0xffff;
    u32* d = lanes_of<u32>(warp.registers, instruction.d);
    each_lane(lanes, [&](int lane) { d[lane] = (has(lower, lane) ? yes : 0) | (has(upper, lane) ? yes << 16 : 0); });
}

}  // namespace

#define SETP(how, T) \
    OPERATION(setp_##how##_##T) { set_plain<Comparison::how, T>(warp, instruction, lanes); }
#define SETP_ORDER(T) SETP(lt, T) SETP(le, T) SETP(gt, T) SETP(ge, T)
#define SETP_EQUAL(T) SETP(eq, T) SETP(ne, T)
#define SETP_UNORDERED(T) \
    SETP(equ, T) SETP(neu, T) SETP(ltu, T) SETP(leu, T) SETP(gtu, T) SETP(geu, T) SETP(num, T) SETP(nan, T)
#define SETP_INTEGER(bits) SETP_EQUAL(u##bits) SETP_ORDER(u##bits) SETP_ORDER(s##bits)
#define SETP_FLOAT(T) SETP_EQUAL(T) SETP_ORDER(T) SETP_UNORDERED(T)
SETP_INTEGER(16)
SETP_INTEGER(32)
SETP_INTEGER(64)
SETP_FLOAT(f32)
SETP_FLOAT(f64)

#define FOR_EACH_FORMAT(type, Format) \
    OPERATION(setp_any_##type) { set_one<Format>(warp, instruction, lanes); } \
    OPERATION(set_##type) { set_number_of_format<Format>(warp, instruction, lanes); }
FOR_EACH_FORMAT(f32, Single)
FOR_EACH_FORMAT(f16, Half)
FOR_EACH_FORMAT(bf16, Bfloat)

#define FOR_EACH_PAIR(type, Format) \
    OPERATION(setp_any_##type) { set_pair<Format>(warp, instruction, lanes); } \
    OPERATION(set_##type) { set_numbers_of_pair<Format>(warp, instruction, lanes); }
FOR_EACH_PAIR(f16x2, Half)
FOR_EACH_PAIR(bf16x2, Bfloat)

#define FOR_EACH_TYPE(T) \
    OPERATION(set_##T) { set_number<T>(warp, instruction, lanes); }
FOR_EACH_TYPE(u16)
FOR_EACH_TYPE(s16)
FOR_EACH_TYPE(u32)
FOR_EACH_TYPE(s32)
FOR_EACH_TYPE(u64)
FOR_EACH_TYPE(s64)
FOR_EACH_TYPE(f64)

}  // namespace simt
