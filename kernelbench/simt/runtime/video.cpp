// Video instructions: an operation on 32-bit numbers, two halves or four bytes, clamped, then combined with c.
// Operands: a, b, c; immediate: see Form.
#include "lanes.hpp"

using namespace simt;

namespace {

enum class Step : u32 { add, sub, average, difference, minimum, maximum, left, right, multiply, compare };
enum class Second : u32 { none, add, minimum, maximum };

// The fields of `immediate`, from the lowest bit on; lower/video.py packs them.
struct Form {
    Step step;
    u32 bits;  // of a part: 8, 16, 32
    bool signed_d, signed_a, signed_b, saturate;
    Second second;
    u32 number;  // compare: a Comparison; shifts: 1 to wrap; multiply: bits to shift right
    bool plus_one;

    explicit Form(u64 packed)
        : step(Step(packed & 15)), bits(8u << (packed >> 4 & 3)), signed_d(packed >> 6 & 1), signed_a(packed >> 7 & 1),
          signed_b(packed >> 8 & 1), saturate(packed >> 9 & 1), second(Second(packed >> 10 & 3)),
          number(u32(packed >> 12 & 15)), plus_one(packed >> 16 & 1) {}

    s64 limited(s64 value) const {
        const s64 above = s64(1) << (signed_d ? bits - 1 : bits);
        return saturate ? within<s64>(value, signed_d ? -above : 0, above - 1) : value;
    }
};

s64 extended(u32 value, u32 bits, bool is_signed) {
    const u32 unused = 32 - bits;
    return is_signed ? s64(s32(value << unused) >> unused) : s64(value << unused >> unused);
}

s64 first_step(const Form& form, s64 a, s64 b) {
    const s64 amount = form.number ? b & 31 : least<s64>(b, 32);
    switch (form.step) {
        case Step::add:
            return a + b;
        case Step::sub:
            return a - b;
        case Step::average:
            return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
        case Step::difference:
            return a < b ? b - a : a - b;
        case Step::minimum:
            return least(a, b);
        case Step::maximum:
            return most(a, b);
        case Step::left:
            return s64(u64(a) << amount);
        case Step::right:
            return a >> amount;
        default:
            return compares(Comparison(form.number), a, b);
    }
}

// Operations on whole words are those that ptxas 13.0 makes of them for sm_90, in 64 bits: no GPU since Volta has the
// instructions. They depart from the PTX ISA in the places marked so.

u32 multiplied(const Form& form, u32 a, u32 b, u32 c) {
    const s64 sum = s64(s32(a)) * s32(b) + s32(c) + form.plus_one;  // departs: u32 counts as s32
    return u32(form.limited(form.signed_d ? sum >> form.number : s64(u64(sum) >> form.number)));
}

s64 saturated(const Form& form, s64 value) {
    if (!form.saturate) return value;
    if (form.step == Step::left) return form.limited(s64(u64(value) << 30) >> 30);  // departs: of 34 bits only
    if (form.signed_d || form.step == Step::right) return form.limited(value);
    return most<s64>(value, 0);  // departs: beyond the largest u32 it wraps
}

u32 whole(const Form& form, u32 a, u32 b, u32 c) {
    if (form.step == Step::multiply) return multiplied(form, a, b, c);
    s64 first = first_step(form, extended(a, 32, form.signed_a), extended(b, 32, form.signed_b));
    first = saturated(form, first);
    const bool shifted = form.step == Step::left || form.step == Step::right;
    if (form.step == Step::add || form.step == Step::sub || (shifted && form.saturate)) {
        first = s32(first);  // departs: of u32 too, and minimum and maximum compare that with a larger c
    }
    const s64 third = extended(c, 32, form.signed_d);
    const bool below = form.signed_d ? first < third : u64(first) < u64(third);
    switch (form.second) {
        case Second::add:
            return u32(first + third);
        case Second::minimum:
            return u32(below ? first : third);
        case Second::maximum:
            return u32(below ? third : first);
        default:
            return u32(first);
    }
}

u32 in_parts(const Form& form, u32 a, u32 b, u32 c) {
    const u32 mask = (1u << form.bits) - 1;
    u32 result = form.second == Second::add ? c : 0;
    for (u32 shift = 0; shift < 32; shift += form.bits) {
        const s64 left = extended(a >> shift & mask, form.bits, form.signed_a);
        const s64 right = extended(b >> shift & mask, form.bits, form.signed_b);
        const s64 part = form.limited(first_step(form, left, right));
        result += form.second == Second::add ? u32(part) : (u32(part) & mask) << shift;
    }
    return result;
}

}  // namespace

OPERATION(video) {
    const Form form(u64(instruction.immediate));
    map<u32, u32, u32, u32>(warp, instruction, lanes, [&](u32 a, u32 b, u32 c) {
        return form.bits == 32 ? whole(form, a, b, c) : in_parts(form, a, b, c);
    });
}
