// What asynchronous copies and barriers in shared memory share: one lane's place in the shared memory of a cluster.
#pragma once

#include "access.hpp"

namespace simt {

struct Place {
    Block* owner;  // null: nowhere, which is a fault by then
    u32 offset;
};

// Address of one lane: slot (its width in bytes in `width`; NONE: none) plus displacement.
u64 address_of(const Warp& warp, u32 slot, u32 width, s64 displacement, u32 lane);

// The place of a shared address, or of a generic one.
Place shared_place(Warp& warp, const Instruction& instruction, u32 lane, u64 address);

// False, and a fault, where `bytes` there are not within the shared memory.
bool check_place(Warp& warp, const Instruction& instruction, u32 lane, const Place& place, u64 bytes, Purpose purpose);

// For strict launches: whether what is read was written, and hazards.
void watch_place(Warp& warp, const Instruction& instruction, u32 lane, const Place& place, u32 bytes, Purpose purpose);

// Bytes have come to `target`, whose block keeps the mbarrier. mbarriers.cpp
void complete_bytes(Warp& warp, const Instruction& instruction, u32 lane, u64 mbarrier, const Place& target, u64 bytes);

// Bytes of one lane in global memory, counted; null after a fault. access_global.cpp
u8* access_global_bytes(Warp& warp, const Instruction& instruction, u32 lane, u64 address, u32 bytes, Purpose purpose);

}  // namespace simt
