// Addresses of the lanes of a memory operation, with their checks and counts.
#pragma once

#include "machine.hpp"
#include "shadow.hpp"

namespace simt {

// Address pattern of a full warp. `contiguous`: each lane follows directly after the one before.
enum class Shape : u32 { scattered, contiguous, uniform };

struct Access {
    u64 at[LANES];  // host addresses
    u32 lanes;      // those with a valid address; the others got a fault
    Gather gather = nullptr;  // of a store
    u32 joined = NONE;  // bytes of the machine code's access, of which this is a part; NONE: they are the same
    u32 first = 0;      // it counts only for parts whose address, modulo `joined`, is below
    u32 later = NONE;   // of a load that is checked later: slot for its addresses, 0 where there is nothing to check
    Shape shape;
};

// Memory operations: address register a (its width in bytes in b; NONE: none) plus immediate, f elements, registers
// x[]. Atomics: the same address, operands c and e, result d.
void form_addresses(const Warp& warp, const Instruction& instruction, u64* addresses);

// Each converts the addresses of access.lanes, `bytes` (a power of two) per lane, into host addresses.
void access_global(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);
void access_shared(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);
void access_local(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);
// Local memory for arguments of calls: not counted, because a GPU passes them in registers.
void access_argument(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);
void access_parameters(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);
void access_generic(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);

// In strict launches: reports hazards and uninitialised reads in the shared memory of `owner`.
void watch_shared(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes,
                  Purpose purpose, Block& owner, Gather gather);

// The same for the local memory of each lane.
void watch_local(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes,
                 Purpose purpose);

// chosen_loads.cpp. Keeps the addresses of a load whose value may be dropped; checks such loads, now that `instruction`
// has decided which lanes use their values.
void keep_for_later(Warp& warp, const Access& access, u64 window);
void check_loads(Warp& warp, const Instruction& instruction);

// access_global.cpp: the allocation that holds an address; null if none does.
Allocation* allocation_at(const Launch& launch, u64 address);

inline FaultKind outside(Purpose purpose) {
    return purpose == Purpose::read ? FaultKind::out_of_bounds_read : FaultKind::out_of_bounds_write;
}

using Resolve = void (*)(Warp&, const Instruction&, u32, Purpose, Access&);

// tally.cpp: counts for any addresses.
u32 count_sectors(const u64* addresses, u32 lanes);
u32 count_atomic_sectors(const u64* addresses, u32 lanes);
u32 count_distinct(const u64* addresses, u32 lanes);
u32 count_wavefronts(const u64* offsets, u32 lanes, u32 bytes, Purpose purpose);
u32 count_ideal_wavefronts(const u64* offsets, u32 lanes, u32 bytes);
u32 count_local_sectors(const u64* offsets, u32 lanes, u32 bytes);

// inputs.cpp: generates the chunks of [begin, end) that are not generated yet.
void generate(Allocation& allocation, u64 begin, u64 end);

// The pattern of the addresses of a full warp.
Shape shape_of(const u64* addresses, u32 bytes);

}  // namespace simt
