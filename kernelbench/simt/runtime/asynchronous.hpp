// One lane's place in the shared memory of a cluster, for asynchronous copies and mbarriers.
#pragma once

#include "access.hpp"

namespace simt {

struct Place {
    Block* owner;  // null: invalid; the fault is recorded
    u32 offset;
};

// Address of one lane: slot (its width in bytes in `width`; NONE: none) plus displacement.
u64 address_of(const Warp& warp, u32 slot, u32 width, s64 displacement, u32 lane);

// The place of a shared or generic address.
Place shared_place(Warp& warp, const Instruction& instruction, u32 lane, u64 address);

// Whether `bytes` at the place are within the shared memory; a fault if not.
bool check_place(Warp& warp, const Instruction& instruction, u32 lane, const Place& place, u64 bytes, Purpose purpose);

// Counts a bulk access to shared memory: a wavefront per 128 bytes.
void count_bulk(Warp& warp, u32 bytes);

// In strict launches: reports uninitialised reads and hazards.
void watch_place(Warp& warp, const Instruction& instruction, u32 lane, const Place& place, u32 bytes, Purpose purpose);

// mbarriers.cpp: `bytes` have arrived at `target`, whose block has the mbarrier.
void complete_bytes(Warp& warp, const Instruction& instruction, u32 lane, u64 mbarrier, const Place& target, u64 bytes);

// access_global.cpp: one lane's bytes in global memory, counted; null after a fault.
u8* access_global_bytes(Warp& warp, const Instruction& instruction, u32 lane, u64 address, u32 bytes, Purpose purpose);

}  // namespace simt
