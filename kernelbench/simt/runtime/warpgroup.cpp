// wgmma.mma_async: D = A B + D of four warps, each of which computes its 16 rows when it issues the instruction. Sums are
// those of matrix_products.cpp.
//
// a: a slot of numbers: how many registers of D, these, how many of A, these; b, c: slots of the descriptors of A (NONE: in
// registers) and B; d, f: a predicate, and whether it is negated, that keeps D; immediate: see Product.
#include <cstring>

#include "access.hpp"
#include "matrix_elements.hpp"
#include "tensors.hpp"

using namespace simt;

namespace {

constexpr u32 ROWS = 16, MOST_COLUMNS = 256, WARPS = 4, CHUNK_BYTES = 16;

// The fields of `immediate`, from the lowest bit on; lower/warpgroup.py packs them.
struct Product {
    u32 n, k;
    Operand a, b;
    bool half_d, saturate, negate_a, negate_b, a_by_columns, b_by_rows;

    explicit Product(u64 bits)
        : n(u32(bits & 511)), k(u32(bits >> 9 & 511)), a(Operand(bits >> 18 & 15)), b(Operand(bits >> 22 & 15)),
          half_d(bits >> 26 & 1), saturate(bits >> 27 & 1), negate_a(bits >> 28 & 1), negate_b(bits >> 29 & 1),
          a_by_columns(bits >> 30 & 1), b_by_rows(bits >> 31 & 1) {}

    Shape3 shape() const { return {ROWS, n, k}; }
};

// Where a matrix lies in shared memory: rows of M or N, and k. `across`: rows are adjacent instead of k.
struct Layout {
    u32 start, leading, stride, swizzle;
    bool across;

    Layout(u64 bits, bool rows_adjacent)
        : start(u32(bits & 0x3fff) << 4), leading(u32(bits >> 16 & 0x3fff) << 4), stride(u32(bits >> 32 & 0x3fff) << 4),
          across(rows_adjacent) {
        constexpr u32 SWIZZLES[] = {0, 128, 64, 32};
        swizzle = SWIZZLES[bits >> 62];
    }

    // Whether the pattern starts where it repeats; another start needs a base offset.
    bool is_regular(u64 bits) const {
        const u32 lines = swizzle ? swizzle / CHUNK_BYTES - 1 : 0;  // of 128 bytes, by which chunks are exchanged
        return !(bits >> 49 & 7) && !(start >> 7 & lines);
    }

    // Offset of 16 bytes: chunk `chunk` of line `line`, where a line is a row, or a k of `across`.
    u32 at(u32 line, u32 chunk) const {
        const u32 groups = swizzle / CHUNK_BYTES;
        u32 offset = line % 8 * (swizzle ? swizzle : CHUNK_BYTES);
        if (!across) {
            offset += line / 8 * stride + chunk * (swizzle ? CHUNK_BYTES : leading);
        } else if (swizzle) {
            offset += line / 8 * stride + chunk % groups * CHUNK_BYTES + chunk / groups * leading;
        } else {
            offset += line / 8 * leading + chunk * stride;
        }
        return swizzled(start + offset, swizzle);
    }
};

// Reads chunks of the block's shared memory; in strict launches 32 of them are watched at a time.
class Reader {
public:
    Reader(Warp& warp, const Instruction& instruction) : warp_(warp), instruction_(instruction) {}

    const u8* chunk(u32 offset) {
        const Launch& launch = *warp_.state->worker->launch;
        if (u64(offset) + CHUNK_BYTES > launch.shared_bytes) {
            fault(warp_, instruction_, FaultKind::out_of_bounds_read, 0, SHARED_WINDOW + offset);
            return NOTHING;
        }
        if (launch.strict) {
            offsets_[count_++] = offset;
            if (count_ == LANES) {
                watch();
            }
        }
        return warp_.state->block->shared + offset;
    }

    void watch() {
        if (count_) {
            watch_shared(warp_, instruction_, count_ == LANES ? ALL : (1u << count_) - 1, offsets_, CHUNK_BYTES,
                         Purpose::read, *warp_.state->block, nullptr);
        }
        count_ = 0;
    }

private:
    static constexpr u8 NOTHING[CHUNK_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    Warp& warp_;
    const Instruction& instruction_;
    u64 offsets_[LANES];
    u32 count_ = 0;
};

// Calls put(row, k, code) for rows [first, first + rows) of the matrix.
template <class Put>
void read_matrix(Warp& warp, const Instruction& instruction, const Layout& layout, u32 bits, u32 first, u32 rows, u32 k,
                 Put put) {
    const u32 per_chunk = 8 * CHUNK_BYTES / bits, mask = bits == 32 ? ALL : (1u << bits) - 1;
    const u32 lines = layout.across ? k : rows, adjacent = layout.across ? rows : k;
    Reader reader(warp, instruction);
    for (u32 line = 0; line < lines; ++line) {
        for (u32 begin = 0; begin < adjacent; begin += per_chunk) {
            const u32 from = layout.across ? first : 0;
            const u8* chunk = reader.chunk(layout.at(layout.across ? line : first + line, (from + begin) / per_chunk));
            for (u32 element = 0; element < per_chunk && begin + element < adjacent; ++element) {
                const u32 word = value_at<u32>(chunk + element * bits / 32 * 4);
                const u32 code = word >> (element * bits % 32) & mask;
                layout.across ? put(begin + element, line, code) : put(line, begin + element, code);
            }
        }
    }
    reader.watch();
}

template <class T>
struct Matrices {
    T a[ROWS][MOST_SIDE], b[MOST_SIDE][MOST_COLUMNS], c[ROWS][MOST_COLUMNS];
};

// The descriptor of the first lane, which all lanes must share.
bool read_layout(Warp& warp, const Instruction& instruction, u32 slot, bool across, Layout& layout) {
    const u64 bits = lanes_of<u64>(warp.registers, slot)[0];
    layout = Layout(bits, across);
    if (!layout.is_regular(bits)) {
        fault(warp, instruction, FaultKind::matrix_descriptor, 0, bits);
        return false;
    }
    return true;
}

template <class T, class Decode>
bool read_factors(Warp& warp, const Instruction& instruction, const Product& product, Matrices<T>& matrices,
                  Decode decode) {
    const u32* numbers = lanes_of<u32>(warp.registers, instruction.a);
    const u32 own = warp.index % WARPS * ROWS;
    const T sign_a = product.negate_a ? -1 : 1, sign_b = product.negate_b ? -1 : 1;
    const auto put_a = [&](u32 row, u32 k, u32 code) { matrices.a[row][k] = sign_a * decode(product.a, code); };
    Layout layout(0, false);
    if (instruction.b != NONE) {
        if (!read_layout(warp, instruction, instruction.b, product.a_by_columns, layout)) {
            return false;
        }
        read_matrix(warp, instruction, layout, bits_of(product.a), own, ROWS, product.k, put_a);
    } else {
        const u32* registers = numbers + 2 + numbers[0];
        const auto place = [&](u32 lane, u32 index, u32 element) {
            return place_in_a(product.shape(), 32 / bits_of(product.a), lane, index, element);
        };
        read_elements(warp, registers, registers[-1], bits_of(product.a), place, put_a);
    }
    if (!read_layout(warp, instruction, instruction.c, product.b_by_rows, layout)) {
        return false;
    }
    read_matrix(warp, instruction, layout, bits_of(product.b), 0, product.n, product.k,
                [&](u32 column, u32 k, u32 code) { matrices.b[k][column] = sign_b * decode(product.b, code); });
    return true;
}

// Calls body(register's offset, lane, element, place) for the elements of D.
template <class Body>
void each_sum(const Warp& warp, const Instruction& instruction, const Product& product, Body body) {
    const u32* numbers = lanes_of<u32>(warp.registers, instruction.a);
    each_sum(product.shape(), numbers + 1, numbers[0], product.half_d ? 2 : 1, body);
}

bool keeps_sums(const Warp& warp, const Instruction& instruction) {
    return lanes_where(warp, instruction.d, instruction.f) & 1;
}

void multiply_floats(Warp& warp, const Instruction& instruction, const Product& product) {
    static thread_local Matrices<f64> matrices;
    const bool keeps = keeps_sums(warp, instruction);
    if (!read_factors(warp, instruction, product, matrices, float_of)) {
        return;
    }
    each_sum(warp, instruction, product, [&](u32 offset, u32 lane, u32 element, Element at) {
        matrices.c[at.row][at.column] = keeps ? float_at(warp, product.half_d, offset, lane, element) : 0;
    });
    add_products(matrices, product.shape());
    each_sum(warp, instruction, product, [&](u32 offset, u32 lane, u32 element, Element at) {
        put_float(warp, product.half_d, offset, lane, element, matrices.c[at.row][at.column]);
    });
}

void multiply_integers(Warp& warp, const Instruction& instruction, const Product& product) {
    static thread_local Matrices<s32> matrices;
    const bool keeps = keeps_sums(warp, instruction);
    if (!read_factors(warp, instruction, product, matrices, integer_of)) {
        return;
    }
    each_sum(warp, instruction, product, [&](u32 offset, u32 lane, u32, Element at) {
        s32& value = lanes_of<s32>(warp.registers, offset)[lane];
        s64 sum = keeps ? value : 0;
        for (u32 k = 0; k < product.k; ++k) {
            sum += matrices.a[at.row][k] * matrices.b[k][at.column];  // of bits, the same as `and`
        }
        value = static_cast<s32>(product.saturate ? within<s64>(sum, INT32_MIN, INT32_MAX) : sum);
    });
}

}  // namespace

OPERATION(wgmma) {
    need_whole_warp(warp, instruction, lanes);
    if (warp.index / WARPS * WARPS + WARPS > warp.state->block->warps.size()) {
        fault(warp, instruction, FaultKind::inactive_lane, 0);
    }
    const Product product(u64(instruction.immediate));
    if (product.a >= Operand::s8) {
        multiply_integers(warp, instruction, product);
    } else {
        multiply_floats(warp, instruction, product);
    }
}
