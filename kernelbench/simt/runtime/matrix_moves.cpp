// ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store. Operands: lower/matrix.py.
//
// ldmatrix and stmatrix are counted as an access of 16 bytes by the lanes that give addresses; wmma as an access per
// register, of 4 or 8 bytes where the register's elements are adjacent in memory, else per element.
#include <cstring>

#include "access.hpp"
#include "matrix.hpp"

using namespace simt;

namespace {

constexpr u32 ROWS = 8, ROW_BYTES = 16;

// The host addresses of the rows: of matrix i those that lanes 8 i to 8 i + 7 give; null after a fault.
struct Rows {
    Access access;

    Rows(Warp& warp, const Instruction& instruction, u32 lanes, Purpose purpose, Resolve resolve) {
        const u32 count = instruction.f * ROWS;
        access.lanes = lanes & (count == LANES ? ALL : (1u << count) - 1);
        form_addresses(warp, instruction, access.at);
        resolve(warp, instruction, ROW_BYTES, purpose, access);
    }

    u16* row(u32 matrix, u32 number) {
        const u32 lane = matrix * ROWS + number;
        return has(access.lanes, int(lane)) ? reinterpret_cast<u16*>(access.at[lane]) : nullptr;
    }

    // The element that a lane holds: two adjacent ones of a row, or of a column if transposed.
    u16* element(u32 matrix, u32 lane, u32 which, bool transposed) {
        const u32 minor = 2 * (lane % 4) + which;
        u16* const line = row(matrix, transposed ? minor : lane / 4);
        return line ? line + (transposed ? lane / 4 : minor) : nullptr;
    }
};

template <Resolve resolve>
void load_rows(Warp& warp, const Instruction& instruction, u32 lanes) {
    need_whole_warp(warp, instruction, lanes);
    Rows rows(warp, instruction, lanes, Purpose::read, resolve);
    for (u32 matrix = 0; matrix < instruction.f; ++matrix) {
        u16* to = lanes_of<u16>(warp.registers, instruction.x[matrix]);
        for (u32 half = 0; half < 2 * LANES; ++half) {
            const u16* from = rows.element(matrix, half / 2, half % 2, instruction.c);
            to[half] = from ? *from : u16(0xffff);
        }
    }
}

template <Resolve resolve>
void store_rows(Warp& warp, const Instruction& instruction, u32 lanes) {
    need_whole_warp(warp, instruction, lanes);
    Rows rows(warp, instruction, lanes, Purpose::write, resolve);
    for (u32 matrix = 0; matrix < instruction.f; ++matrix) {
        const u16* from = lanes_of<u16>(warp.registers, instruction.x[matrix]);
        for (u32 half = 0; half < 2 * LANES; ++half) {
            if (u16* to = rows.element(matrix, half / 2, half % 2, instruction.c)) {
                *to = from[half];
            }
        }
    }
}

// The fields of `f` of wmma.load and wmma.store, from the lowest bit on.
struct Fragment {
    u32 role;  // 0 A, 1 B, 2 C or D
    bool by_columns;
    u32 bits;  // per element
    Shape3 shape;

    explicit Fragment(u32 packed)
        : role(packed & 3), by_columns(packed >> 2 & 1), bits(1u << (packed >> 3 & 7)),
          shape{packed >> 6 & 63, packed >> 12 & 63, packed >> 18 & 511} {}

    // Registers that hold every element once; further ones repeat them.
    u32 distinct() const {
        const u32 elements = role == 0 ? shape.m * shape.k : role == 1 ? shape.k * shape.n : shape.m * shape.n;
        return elements * bits / (LANES * most(bits, 32u));
    }

    u32 per_register() const { return bits < 32 ? 32 / bits : 1; }

    Element place(u32 lane, u32 index, u32 element) const {
        const auto rule = role == 0 ? &place_in_a : role == 1 ? &place_in_b : &place_in_c;
        return rule(shape, per_register(), lane, index, element);
    }

    // Whether the elements of a register are adjacent in memory.
    bool adjacent() const { return per_register() == 1 || by_columns == (role == 1); }

    u32 default_stride() const {
        const u32 rows = role == 1 ? shape.k : shape.m, columns = role == 0 ? shape.k : shape.n;
        return by_columns ? rows : columns;
    }
};

// Calls body(register offset, element, access) for each part of the fragment, `bytes` per lane.
template <class Body>
void each_part(Warp& warp, const Instruction& instruction, u32 lanes, const Fragment& fragment, Purpose purpose,
               Resolve resolve, Body body) {
    const bool adjacent = fragment.adjacent();
    const u32 parts = adjacent ? 1 : fragment.per_register();
    const u32 bytes = adjacent ? most(fragment.bits, 32u) / 8 : fragment.bits / 8;
    const u32* strides = instruction.c == NONE ? nullptr : lanes_of<u32>(warp.registers, instruction.c);
    for (u32 index = 0; index < fragment.distinct() && instruction.x[index] != NONE; ++index) {
        for (u32 part = 0; part < parts; ++part) {
            Access access;
            access.lanes = lanes;
            form_addresses(warp, instruction, access.at);
            for (u32 lane = 0; lane < LANES; ++lane) {
                const Element at = fragment.place(lane, index, part);
                const u64 stride = strides ? strides[lane] : fragment.default_stride();
                const u64 element = fragment.by_columns ? at.column * stride + at.row : at.row * stride + at.column;
                access.at[lane] += element * fragment.bits / 8;
            }
            resolve(warp, instruction, bytes, purpose, access);
            body(instruction.x[index], part * bytes, bytes, access);
        }
    }
}

template <Resolve resolve>
void load_fragment(Warp& warp, const Instruction& instruction, u32 lanes) {
    need_whole_warp(warp, instruction, lanes);
    const Fragment fragment(instruction.f);
    const u32 width = fragment.bits == 64 ? 8 : 4;
    each_part(warp, instruction, lanes, fragment, Purpose::read, resolve,
              [&](u32 offset, u32 first, u32 bytes, const Access& access) {
                  u8* to = warp.registers + offset + first;
                  for (u32 lane = 0; lane < LANES; ++lane) {
                      if (has(access.lanes, int(lane))) {
                          std::memcpy(to + lane * width, reinterpret_cast<const void*>(access.at[lane]), bytes);
                      } else {
                          std::memset(to + lane * width, POISON, bytes);
                      }
                  }
              });
    for (u32 index = fragment.distinct(); index < MOST_REGISTERS && instruction.x[index] != NONE; ++index) {
        std::memcpy(warp.registers + instruction.x[index],
                    warp.registers + instruction.x[index % fragment.distinct()], LANES * width);
    }
}

template <Resolve resolve>
void store_fragment(Warp& warp, const Instruction& instruction, u32 lanes) {
    need_whole_warp(warp, instruction, lanes);
    const Fragment fragment(instruction.f);
    const u32 width = fragment.bits == 64 ? 8 : 4;
    each_part(warp, instruction, lanes, fragment, Purpose::write, resolve,
              [&](u32 offset, u32 first, u32 bytes, const Access& access) {
                  const u8* from = warp.registers + offset + first;
                  each_lane(access.lanes, [&](int lane) {
                      std::memcpy(reinterpret_cast<void*>(access.at[lane]), from + u32(lane) * width, bytes);
                  });
              });
}

}  // namespace

OPERATION(ldmatrix_shared) { load_rows<access_shared>(warp, instruction, lanes); }
OPERATION(ldmatrix_generic) { load_rows<access_generic>(warp, instruction, lanes); }
OPERATION(stmatrix_shared) { store_rows<access_shared>(warp, instruction, lanes); }
OPERATION(stmatrix_generic) { store_rows<access_generic>(warp, instruction, lanes); }

#define SIMT_FRAGMENT(space)                                                                                \
    OPERATION(wmma_load_##space) { load_fragment<access_##space>(warp, instruction, lanes); }             \
    OPERATION(wmma_store_##space) { store_fragment<access_##space>(warp, instruction, lanes); }
SIMT_FRAGMENT(global)
SIMT_FRAGMENT(shared)
SIMT_FRAGMENT(generic)

// The transpose of an 8 x 8 matrix, of which a lane holds two elements of a row.
OPERATION(movmatrix) {
    need_whole_warp(warp, instruction, lanes);
    const u16* a = lanes_of<u16>(warp.registers, instruction.a);
    u16 found[2 * LANES];
    for (u32 half = 0; half < 2 * LANES; ++half) {
        const u32 row = half / 8, column = half % 8;
        found[half] = a[column * 8 + row];
    }
    std::memcpy(lanes_of<u16>(warp.registers, instruction.d), found, sizeof(found));
}
