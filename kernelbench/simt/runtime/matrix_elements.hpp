// Elements of matrix products: decoded from registers and shared memory, and sums in registers.
#pragma once

#include "matrix.hpp"

namespace simt {

enum class Operand : u32 { f16, bf16, tf32, e4m3, e5m2, f64, s8, u8, s4, u4, b1 };

inline u32 bits_of(Operand type) {
    switch (type) {
        case Operand::f16: case Operand::bf16:
            return 16;
        case Operand::tf32:
            return 32;
        case Operand::f64:
            return 64;
        case Operand::s4: case Operand::u4:
            return 4;
        case Operand::b1:
            return 1;
        default:
            return 8;
    }
}

inline f64 small_float(u32 code, u32 fraction_bits, s32 bias) {
    const f64 sign = code & 0x80 ? -1.0 : 1.0;
    const u32 size = code & 0x7f;
    const s32 exponent = s32(size >> fraction_bits);
    const f64 fraction = f64(size & ((1u << fraction_bits) - 1)) / f64(1u << fraction_bits);
    if (fraction_bits == 2 ? exponent == 31 : size == 0x7f) {
        return fraction_bits == 2 && fraction == 0 ? sign * __builtin_inf() : __builtin_nan("");
    }
    return sign * (exponent ? __builtin_ldexp(1 + fraction, exponent - bias) : __builtin_ldexp(fraction, 1 - bias));
}

inline f64 float_of(Operand type, u32 bits) {
    switch (type) {
        case Operand::f16:
            return static_cast<f64>(bits_as<f16>(static_cast<u16>(bits)));
        case Operand::bf16:
            return bits_as<f32>(bits << 16);
        case Operand::tf32:  // the 13 lowest bits are ignored
            return bits_as<f32>(bits & 0xffffe000u);
        case Operand::e4m3:
            return small_float(bits, 3, 7);
        default:
            return small_float(bits, 2, 15);
    }
}

inline s32 integer_of(Operand type, u32 bits) {
    switch (type) {
        case Operand::s8:
            return static_cast<s8>(bits);
        case Operand::s4:
            return static_cast<s32>(bits << 28) >> 28;
        default:
            return static_cast<s32>(bits);
    }
}

inline f64 float_at(const Warp& warp, bool half, u32 offset, u32 lane, u32 element) {
    return half ? static_cast<f64>(lanes_of<f16>(warp.registers, offset)[2 * lane + element])
                : static_cast<f64>(lanes_of<f32>(warp.registers, offset)[lane]);
}

inline void put_float(Warp& warp, bool half, u32 offset, u32 lane, u32 element, f64 value) {
    if (half) {
        const u16 bits = value != value ? 0x7fff : bits_as<u16>(static_cast<f16>(value));
        lanes_of<u16>(warp.registers, offset)[2 * lane + element] = bits;
    } else {
        lanes_of<u32>(warp.registers, offset)[lane] = value != value ? NAN_32 : bits_as<u32>(static_cast<f32>(value));
    }
}

// Calls put(row, column, bits) for all elements of A or B in up to `count` registers; `place` tells the place of one.
template <class Place, class Put>
void read_elements(const Warp& warp, const u32* offsets, u32 count, u32 bits, Place place, Put put) {
    const u32 per_register = 32 / bits, mask = bits == 32 ? ALL : (1u << bits) - 1;
    for (u32 index = 0; index < count && offsets[index] != NONE; ++index) {
        const u32* values = lanes_of<u32>(warp.registers, offsets[index]);
        for (u32 lane = 0; lane < LANES; ++lane) {
            for (u32 element = 0; element < per_register; ++element) {
                const Element at = place(lane, index, element);
                put(at.row, at.column, values[lane] >> (element * bits) & mask);
            }
        }
    }
}

// Calls body(offset, lane, element, place) for the elements of C or D in up to `count` registers.
template <class Body>
void each_sum(const Shape3& shape, const u32* offsets, u32 count, u32 per_register, Body body) {
    for (u32 index = 0; index < count && offsets[index] != NONE; ++index) {
        for (u32 lane = 0; lane < LANES; ++lane) {
            for (u32 element = 0; element < per_register; ++element) {
                body(offsets[index], lane, element, place_in_c(shape, per_register, lane, index, element));
            }
        }
    }
}

// C += A B.
template <class Matrices>
void add_products(Matrices& matrices, const Shape3& shape) {
    for (u32 row = 0; row < shape.m; ++row) {
        for (u32 k = 0; k < shape.k; ++k) {
            for (u32 column = 0; column < shape.n; ++column) {
                matrices.c[row][column] += matrices.a[row][k] * matrices.b[k][column];
            }
        }
    }
}

}  // namespace simt
