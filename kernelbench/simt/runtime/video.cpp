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

    s128 limited(s128 value) const {
        const s128 above = s128(1) << (signed_d ? bits - 1 : bits);
        return saturate ? within<s128>(value, signed_d ? -above : 0, above - 1) : value;
    }
};

s64 extended(u32 value, u32 bits, bool is_signed) {
    const u32 unused = 32 - bits;
    return is_signed ? s64(s32(value << unused) >> unused) : s64(value << unused >> unused);
}

bool compared(Comparison comparison, s64 a, s64 b) {
    switch (comparison) {
        case Comparison::eq:
            return a == b;
        case Comparison::ne:
            return a != b;
        case Comparison::lt:
            return a < b;
        case Comparison::le:
            return a <= b;
        case Comparison::gt:
            return a > b;
        default:
            return a >= b;
    }
}

s128 first_step(const Form& form, s64 a, s64 b) {
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
            return s128(u128(s128(a)) << amount);
        case Step::right:
            return a >> amount;
        case Step::multiply:
            return s128(a) * b;
        default:
            return compared(Comparison(form.number), a, b);
    }
}

u32 whole(const Form& form, u32 a, u32 b, u32 c) {
    const s128 first = first_step(form, extended(a, 32, form.signed_a), extended(b, 32, form.signed_b));
    const s64 third = extended(c, 32, form.signed_d);
    if (form.step == Step::multiply) {
        return u32(form.limited((first + third + form.plus_one) >> form.number));
    }
    const s128 limited = form.limited(first);
    switch (form.second) {
        case Second::add:
            return u32(limited + third);
        case Second::minimum:
            return u32(least<s128>(limited, third));
        case Second::maximum:
            return u32(most<s128>(limited, third));
        default:
            return u32(limited);
    }
}

u32 in_parts(const Form& form, u32 a, u32 b, u32 c) {
    const u32 mask = (1u << form.bits) - 1;
    u32 result = form.second == Second::add ? c : 0;
    for (u32 shift = 0; shift < 32; shift += form.bits) {
        const s64 left = extended(a >> shift & mask, form.bits, form.signed_a);
        const s64 right = extended(b >> shift & mask, form.bits, form.signed_b);
        const s128 part = form.limited(first_step(form, left, right));
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
