// mma.sync and wmma.mma: D = A B + C of a warp. Products of f16, bf16, tf32 and 8-bit floats are summed in f64 and
// rounded once; tensor cores truncate in an order that nobody states. f64 is a chain of fused multiply-adds over k.
//
// Operands: a slot of 32 offsets: 8 registers each of D, A, B, C; immediate: see Product.
#include "matrix_elements.hpp"

using namespace simt;

namespace {

// The fields of `immediate`, from the lowest bit on; lower/matrix.py packs them.
struct Product {
    Shape3 shape;
    Operand a, b;
    bool half_c, half_d, saturate, with_and, quads, a_by_columns, b_by_rows;

    explicit Product(u64 bits)
        : shape{u32(bits & 63), u32(bits >> 6 & 63), u32(bits >> 12 & 511)}, a(Operand(bits >> 21 & 15)),
          b(Operand(bits >> 25 & 15)), half_c(bits >> 29 & 1), half_d(bits >> 30 & 1), saturate(bits >> 31 & 1),
          with_and(bits >> 32 & 1), quads(bits >> 33 & 1), a_by_columns(bits >> 34 & 1), b_by_rows(bits >> 35 & 1) {}
};

template <class T>
struct Matrices {
    T a[32][MOST_SIDE], b[MOST_SIDE][32], c[32][32];
};

const u32* offsets_of(const Warp& warp, const Instruction& instruction, u32 operand) {
    return lanes_of<u32>(warp.registers, instruction.a) + operand * MOST_REGISTERS;
}

template <class T, class Decode>
void read_factors(const Warp& warp, const Instruction& instruction, const Product& product, Matrices<T>& matrices,
                  Decode decode) {
    const u32 per_a = 32 / bits_of(product.a), per_b = 32 / bits_of(product.b);
    read_elements(
        warp, offsets_of(warp, instruction, 1), MOST_REGISTERS, bits_of(product.a),
        [&](u32 lane, u32 index, u32 element) { return place_in_a(product.shape, per_a, lane, index, element); },
        [&](u32 row, u32 k, u32 bits) { matrices.a[row][k] = decode(product.a, bits); });
    read_elements(
        warp, offsets_of(warp, instruction, 2), MOST_REGISTERS, bits_of(product.b),
        [&](u32 lane, u32 index, u32 element) { return place_in_b(product.shape, per_b, lane, index, element); },
        [&](u32 k, u32 column, u32 bits) { matrices.b[k][column] = decode(product.b, bits); });
}

void multiply_floats(Warp& warp, const Instruction& instruction, const Product& product) {
    static thread_local Matrices<f64> matrices;
    const Shape3& shape = product.shape;
    read_factors(warp, instruction, product, matrices, float_of);
    each_sum(shape, offsets_of(warp, instruction, 3), MOST_REGISTERS, product.half_c ? 2 : 1,
             [&](u32 offset, u32 lane, u32 element, Element at) {
                 matrices.c[at.row][at.column] = float_at(warp, product.half_c, offset, lane, element);
             });
    add_products(matrices, shape);
    each_sum(shape, offsets_of(warp, instruction, 0), MOST_REGISTERS, product.half_d ? 2 : 1,
             [&](u32 offset, u32 lane, u32 element, Element at) {
                 put_float(warp, product.half_d, offset, lane, element, matrices.c[at.row][at.column]);
             });
}

// Four products of 8 x 8 x 4, one after the other.
void multiply_quads(Warp& warp, const Instruction& instruction, const Product& product) {
    const u32* d = offsets_of(warp, instruction, 0);
    const u32* a = offsets_of(warp, instruction, 1);
    const u32* b = offsets_of(warp, instruction, 2);
    const u32* c = offsets_of(warp, instruction, 3);
    for (u32 quad = 0; quad < 4; ++quad) {
        f64 left[8][4], right[4][8], sum[8][8];
        const auto each = [quad](auto body) {
            for (u32 lane = 0; lane < LANES; ++lane) {
                for (u32 index = 0; index < (lane % 16 / 4 == quad ? 8 : 0); ++index) {
                    body(lane, index);
                }
            }
        };
        each([&](u32 lane, u32 index) {
            if (index < 4) {
                const Element in_a = place_in_quad_a(product.a_by_columns, lane, index);
                const Element in_b = place_in_quad_b(product.b_by_rows, lane, index);
                left[in_a.row][in_a.column] = float_at(warp, true, a[index / 2], lane, index % 2);
                right[in_b.row][in_b.column] = float_at(warp, true, b[index / 2], lane, index % 2);
            }
            const Element at = place_in_quad_c(product.half_c, lane, index);
            sum[at.row][at.column] = float_at(warp, product.half_c, c[product.half_c ? index / 2 : index], lane,
                                              index % 2);
        });
        for (u32 cell = 0; cell < 64; ++cell) {
            for (u32 k = 0; k < 4; ++k) {
                sum[cell / 8][cell % 8] += left[cell / 8][k] * right[k][cell % 8];
            }
        }
        each([&](u32 lane, u32 index) {
            const Element at = place_in_quad_c(product.half_d, lane, index);
            put_float(warp, product.half_d, d[product.half_d ? index / 2 : index], lane, index % 2,
                      sum[at.row][at.column]);
        });
    }
}

void multiply_doubles(Warp& warp, const Instruction& instruction, const Product& product) {
    static thread_local Matrices<f64> matrices;
    const Shape3& shape = product.shape;
    const auto each = [&](u32 operand, auto place, auto body) {
        const u32* offsets = offsets_of(warp, instruction, operand);
        for (u32 index = 0; index < MOST_REGISTERS && offsets[index] != NONE; ++index) {
            f64* values = lanes_of<f64>(warp.registers, offsets[index]);
            for (u32 lane = 0; lane < LANES; ++lane) {
                const Element at = place(shape, 1, lane, index, 0);
                body(values[lane], at.row, at.column);
            }
        }
    };
    each(1, place_in_a, [&](f64 value, u32 row, u32 k) { matrices.a[row][k] = value; });
    each(2, place_in_b, [&](f64 value, u32 k, u32 column) { matrices.b[k][column] = value; });
    each(3, place_in_c, [&](f64 value, u32 row, u32 column) { matrices.c[row][column] = value; });
    for (u32 row = 0; row < shape.m; ++row) {
        for (u32 column = 0; column < shape.n; ++column) {
            for (u32 k = 0; k < shape.k; ++k) {
                f64& sum = matrices.c[row][column];
                sum = __builtin_fma(matrices.a[row][k], matrices.b[k][column], sum);
            }
        }
    }
    each(0, place_in_c, [&](f64& value, u32 row, u32 column) { value = matrices.c[row][column]; });
}

// Integers, and bits: the number of ones in a ^ b or a & b.
void multiply_integers(Warp& warp, const Instruction& instruction, const Product& product) {
    static thread_local Matrices<s32> matrices;
    const Shape3& shape = product.shape;
    read_factors(warp, instruction, product, matrices, integer_of);
    each_sum(shape, offsets_of(warp, instruction, 3), MOST_REGISTERS, 1, [&](u32 offset, u32 lane, u32, Element at) {
        matrices.c[at.row][at.column] = lanes_of<s32>(warp.registers, offset)[lane];
    });
    const bool exclusive = product.a == Operand::b1 && !product.with_and;
    each_sum(shape, offsets_of(warp, instruction, 0), MOST_REGISTERS, 1, [&](u32 offset, u32 lane, u32, Element at) {
        s64 sum = matrices.c[at.row][at.column];
        for (u32 k = 0; k < shape.k; ++k) {
            const s32 a = matrices.a[at.row][k], b = matrices.b[k][at.column];
            sum += exclusive ? a ^ b : a * b;
        }
        const s64 limited = product.saturate ? within<s64>(sum, INT32_MIN, INT32_MAX) : sum;
        lanes_of<u32>(warp.registers, offset)[lane] = static_cast<u32>(limited);
    });
}

}  // namespace

OPERATION(mma) {
    need_whole_warp(warp, instruction, lanes);
    const Product product(u64(instruction.immediate));
    if (product.quads) {
        multiply_quads(warp, instruction, product);
    } else if (product.a == Operand::f64) {
        multiply_doubles(warp, instruction, product);
    } else if (product.a >= Operand::s8) {
        multiply_integers(warp, instruction, product);
    } else {
        multiply_floats(warp, instruction, product);
    }
}
