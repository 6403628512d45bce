// Additions of many words: add.cc, addc, sub.cc, subc, mad.cc, madc. The carry is one bit per lane in warp.carry; the
// borrow of a subtraction is kept the same way. instruction.f: CarryUse.
#include "lanes.hpp"

namespace simt {
namespace {

// d = first and second and the carry, combined by `step`; terms(lane, first, second) says what the two are. The carry
// goes out where step(a, b, &result) passes the width of T.
template <class T, class Step, class Terms>
void combine_with_carry(Warp& warp, const Instruction& instruction, u32 lanes, Step step, Terms terms) {
    T* d = lanes_of<T>(warp.registers, instruction.d);
    const bool reads = instruction.f & READS_CARRY;
    u32 carried = 0;
    each_lane(lanes, [&](int lane) {
        T first, second, result;
        terms(lane, first, second);
        bool over = step(first, second, &result);
        over |= step(result, static_cast<T>(reads && has(warp.carry, lane)), &result);
        d[lane] = result;
        carried |= static_cast<u32>(over) << lane;
    });
    if (instruction.f & WRITES_CARRY) {
        warp.carry = (warp.carry & ~lanes) | carried;
    }
}

constexpr auto ADD = [](auto a, auto b, auto* sum) { return __builtin_add_overflow(a, b, sum); };
constexpr auto SUBTRACT = [](auto a, auto b, auto* difference) { return __builtin_sub_overflow(a, b, difference); };

template <class T, class Step>
void combine(Warp& warp, const Instruction& instruction, u32 lanes, Step step) {
    const T* a = lanes_of<T>(warp.registers, instruction.a);
    const T* b = lanes_of<T>(warp.registers, instruction.b);
    combine_with_carry<T>(warp, instruction, lanes, step, [&](int lane, T& first, T& second) {
        first = a[lane];
        second = b[lane];
    });
}

// The low or high half of a * b, plus c. Operand is signed or not, which matters to the high half.
template <class Operand, class Wide, class T, bool HIGH>
void multiply_add(Warp& warp, const Instruction& instruction, u32 lanes) {
    const Operand* a = lanes_of<Operand>(warp.registers, instruction.a);
    const Operand* b = lanes_of<Operand>(warp.registers, instruction.b);
    const T* c = lanes_of<T>(warp.registers, instruction.c);
    combine_with_carry<T>(warp, instruction, lanes, ADD, [&](int lane, T& first, T& second) {
        const Wide product = static_cast<Wide>(a[lane]) * static_cast<Wide>(b[lane]);
        first = static_cast<T>(HIGH ? product >> (8 * sizeof(T)) : product);
        second = c[lane];
    });
}

}  // namespace

#define FOR_EACH_WIDTH(T) \
    OPERATION(add_carry_##T) { combine<T>(warp, instruction, lanes, ADD); } \
    OPERATION(sub_carry_##T) { combine<T>(warp, instruction, lanes, SUBTRACT); }
FOR_EACH_WIDTH(u32)
FOR_EACH_WIDTH(u64)

#define FOR_EACH_TYPE(T, Wide, Unsigned) \
    OPERATION(mad_lo_carry_##T) { multiply_add<T, Wide, Unsigned, false>(warp, instruction, lanes); } \
    OPERATION(mad_hi_carry_##T) { multiply_add<T, Wide, Unsigned, true>(warp, instruction, lanes); }
FOR_EACH_TYPE(u32, u64, u32)
FOR_EACH_TYPE(s32, s64, u32)
FOR_EACH_TYPE(u64, u128, u64)
FOR_EACH_TYPE(s64, s128, u64)

}  // namespace simt
