// Operands and results of cvt, whose registers may be wider than its types.
#pragma once

#include <limits>

#include "floats.hpp"

namespace simt {

// Types by number are in `e`.
inline Type source_type(const Instruction& instruction) {
    return static_cast<Type>(instruction.e);
}

template <class T, class Register, class To>
inline void read_as(const Warp& warp, u32 offset, To* to) {
    const Register* from = lanes_of<Register>(warp.registers, offset);
    for (int lane = 0; lane < LANES; ++lane) {
        to[lane] = static_cast<To>(static_cast<T>(from[lane]));
    }
}

// The low bits of registers of `bytes`, as T and then as To.
template <class T, class To>
inline void read_narrow(const Warp& warp, u32 offset, u32 bytes, To* to) {
    if (bytes == 2) {
        read_as<T, u16>(warp, offset, to);
    } else if (bytes == 4) {
        read_as<T, u32>(warp, offset, to);
    } else {
        read_as<T, u64>(warp, offset, to);
    }
}

// Integer sources (operand a, its register's bytes in b). u64 keeps its bits.
inline void read_integers(const Warp& warp, const Instruction& instruction, s64* to) {
    const u32 offset = instruction.a, bytes = instruction.b;
    switch (source_type(instruction)) {
        case Type::u8: return read_narrow<u8>(warp, offset, bytes, to);
        case Type::s8: return read_narrow<s8>(warp, offset, bytes, to);
        case Type::u16: return read_narrow<u16>(warp, offset, bytes, to);
        case Type::s16: return read_narrow<s16>(warp, offset, bytes, to);
        case Type::u32: return read_narrow<u32>(warp, offset, bytes, to);
        case Type::s32: return read_narrow<s32>(warp, offset, bytes, to);
        default: return read_narrow<s64>(warp, offset, bytes, to);
    }
}

// Floating-point sources, all exact in f64; .ftz is about f32 only.
inline void read_floats(const Warp& warp, const Instruction& instruction, f64* to) {
    f32 single[LANES];
    switch (source_type(instruction)) {
        case Type::f16:
            Half::read<LANES>(lanes_of<u16>(warp.registers, instruction.a), single);
            break;
        case Type::bf16:
            Bfloat::read<LANES>(lanes_of<u16>(warp.registers, instruction.a), single);
            break;
        case Type::f32:
            Single::read<LANES>(lanes_of<f32>(warp.registers, instruction.a), single);
            if (modifiers_of(instruction) & FTZ) {
                flush_all<LANES, f32>(single, Single::LEAST_NORMAL);
            }
            break;
        default:
            Double::read<LANES>(lanes_of<f64>(warp.registers, instruction.a), to);
            return;
    }
    for (int lane = 0; lane < LANES; ++lane) {
        to[lane] = single[lane];
    }
}

// Two operands of f32 as pairs, b the lower and a the upper one.
inline void read_two(const Warp& warp, const Instruction& instruction, f32* pairs) {
    const f32* upper = lanes_of<f32>(warp.registers, instruction.a);
    const f32* lower = lanes_of<f32>(warp.registers, instruction.b);
    for (int lane = 0; lane < LANES; ++lane) {
        pairs[2 * lane] = lower[lane];
        pairs[2 * lane + 1] = upper[lane];
    }
}

inline void round_to_whole(f64* values, u32 direction) {
    for (int lane = 0; lane < LANES; ++lane) {
        const f64 value = values[lane];
        values[lane] = direction == NEAREST       ? __builtin_rint(value)
                       : direction == TOWARD_ZERO ? __builtin_trunc(value)
                       : direction == DOWN        ? __builtin_floor(value)
                                                  : __builtin_ceil(value);
    }
}

template <class Register, class T>
inline void write_as(Warp& warp, u32 offset, u32 lanes, const T* values) {
    Result<Register> result(warp, offset, lanes);
    Register* to = result.data();
    for (int lane = 0; lane < LANES; ++lane) {
        to[lane] = static_cast<Register>(values[lane]);
    }
}

// Integers of type T into operand d, whose register has the bytes in f: extended by the sign of T.
template <class T>
inline void write_integers(Warp& warp, const Instruction& instruction, u32 lanes, const T* values) {
    if (instruction.f == 2) {
        write_as<u16>(warp, instruction.d, lanes, values);
    } else if (instruction.f == 4) {
        write_as<u32>(warp, instruction.d, lanes, values);
    } else {
        write_as<u64>(warp, instruction.d, lanes, values);
    }
}

}  // namespace simt
