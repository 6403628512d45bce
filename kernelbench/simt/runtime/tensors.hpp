// Tensor maps, and walks over the boxes that bulk tensor copies move.
#pragma once

#include "asynchronous.hpp"

namespace simt {

constexpr u32 TENSOR_ALIGNMENT = 128;  // bytes, of a box in shared memory
constexpr u32 MOST_DIMENSIONS = 5;
constexpr u64 MOST_BOX_BYTES = 1 << 30;

// tensor_maps.py writes it: the first bytes of the 128 that a GPU's driver would write. Axis 0 is contiguous.
struct TensorMap {
    u64 magic, data;
    u64 strides[MOST_DIMENSIONS - 1];  // bytes, from axis 1 on
    u32 last[MOST_DIMENSIONS];         // sizes minus 1
    u16 box[MOST_DIMENSIONS];
    u8 steps[MOST_DIMENSIONS];
    u8 type, width, rank, swizzle, fill;

    u32 row_bytes() const { return u32(box[0]) * width; }
    u32 count(u32 axis) const { return axis ? (box[axis] + steps[axis] - 1) / steps[axis] : box[0]; }
    u32 rows() const {
        u32 found = 1;
        for (u32 axis = 1; axis < rank; ++axis) {
            found *= count(axis);
        }
        return found;
    }
    u32 bytes() const { return rows() * row_bytes(); }

    // Whether it is one that Python writes: kernels may write over those in global memory.
    bool is_sound() const {
        const bool known = swizzle == 0 || swizzle == 32 || swizzle == 64 || swizzle == 128;
        u64 all = row_bytes();
        if (!known || !rank || rank > MOST_DIMENSIONS || !all || all % BULK_UNIT || width > sizeof(u64)) {
            return false;
        }
        for (u32 axis = 1; axis < rank; ++axis) {
            if (!steps[axis] || !box[axis] || (all *= count(axis)) > MOST_BOX_BYTES) {
                return false;
            }
        }
        return true;
    }
};
static_assert(sizeof(TensorMap) == 88);

// The part of a box's row that lies in the tensor: `bytes` from the `skipped`th on, at `address`.
struct TensorRow {
    u64 address;
    u32 skipped, bytes;
};

// Swizzled shared memory: groups of 16 bytes change places within lines of 32, 64 or 128 bytes (0: they do not).
inline u32 swizzled(u32 offset, u32 swizzle) {
    return offset ^ (swizzle ? (offset >> 7 & (swizzle / BULK_UNIT - 1)) << 4 : 0);
}

// The map at a generic address, which may be that of a kernel parameter; false after a fault.
bool read_map(Warp& warp, const Instruction& instruction, u32 lane, u64 address, u32 rank, TensorMap& map);

// Row `number` of the box at `start`, an element per axis.
TensorRow row_of(const TensorMap& map, const s32* start, u32 number);

}  // namespace simt
