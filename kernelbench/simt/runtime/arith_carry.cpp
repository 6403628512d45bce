// Additions of many words: add.cc, addc, sub.cc, subc, mad.cc, madc. The carry is one bit per lane in warp.carry; the
// borrow of a subtraction is kept the same way. instruction.f: CarryUse.
#include "lanes.hpp"

namespace simt {
namespace {

// first + second + carry, where terms(lane, first, second) says what is added. The carry goes out
// where the sum passes the width of T.
template <class T, class Terms>
void add_with_carry(Warp& warp, const Instruction& instruction, u32 lanes, Terms terms) {
    T* d = lanes_of<T>(warp.registers, instruction.d);
    const bool reads = instruction.f & READS_CARRY;
    u32 carried = 0;
    each_lane(lanes, [&](int lane) {
        T first, second, sum;
        terms(lane, first, second);
        bool over = __builtin_add_overflow(first, second, &sum);
        over |= __builtin_add_overflow(sum, static_cast<T>(reads && has(warp.carry, lane)), &sum);
        d[lane] = sum;
        carried |= static_cast<u32>(over) << lane;
    });
    if (instruction.f & WRITES_CARRY) {
        warp.carry = (warp.carry & ~lanes) | carried;
    }
}

template <class T>
void subtract_with_borrow(Warp& warp, const Instruction& instruction, u32 lanes) {
    const T* a = lanes_of<T>(warp.registers, instruction.a);
    const T* b = lanes_of<T>(warp.registers, instruction.b);
    T* d = lanes_of<T>(warp.registers, instruction.d);
    const bool reads = instruction.f & READS_CARRY;
    u32 borrowed = 0;
    each_lane(lanes, [&](int lane) {
        T difference;
        bool under = __builtin_sub_overflow(a[lane], b[lane], &difference);
        under |= __builtin_sub_overflow(difference, static_cast<T>(reads && has(warp.carry, lane)), &difference);
        d[lane] = difference;
        borrowed |= static_cast<u32>(under) << lane;
    });
    if (instruction.f & WRITES_CARRY) {
        warp.carry = (warp.carry & ~lanes) | borrowed;
    }
}

template <class T>
void add(Warp& warp, const Instruction& instruction, u32 lanes) {
    const T* a = lanes_of<T>(warp.registers, instruction.a);
    const T* b = lanes_of<T>(warp.registers, instruction.b);
    add_with_carry<T>(warp, instruction, lanes, [&](int lane, T& first, T& second) {
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
    add_with_carry<T>(warp, instruction, lanes, [&](int lane, T& first, T& second) {
        const Wide product = static_cast<Wide>(a[lane]) * static_cast<Wide>(b[lane]);
        first = static_cast<T>(HIGH ? product >> (8 * sizeof(T)) : product);
        second = c[lane];
    });
}

}  // namespace

#define FOR_EACH_WIDTH(T) \
    OPERATION(add_carry_##T) { add<T>(warp, instruction, lanes); } \
    OPERATION(sub_carry_##T) { subtract_with_borrow<T>(warp, instruction, lanes); }
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
