// What every memory operation shares: addresses of the lanes, the checks on them and the counts, before data move.
#pragma once

#include "machine.hpp"
#include "shadow.hpp"

namespace simt {

// How the lanes of a full warp lie. `contiguous`: each right after the one before, in order.
enum class Shape : u32 { scattered, contiguous, uniform };

struct Access {
    u64 at[LANES];  // host addresses
    u32 lanes;      // those whose address is good; the others got a fault
    Shape shape;
};

// Memory operations: address register a (its width in bytes in b; NONE: none) plus immediate, f elements, registers
// x[]. Atomics: the same address, operands c and e, result d.
void form_addresses(const Warp& warp, const Instruction& instruction, u64* addresses);

// Each turns lane addresses (in access.at, of access.lanes) into host addresses, `bytes` (a power of two) a lane.
void access_global(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);
void access_shared(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);
void access_local(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);
// Local memory that holds what a function passes to another: not counted, for a GPU passes it in registers.
void access_argument(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);
void access_parameters(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);
void access_generic(Warp& warp, const Instruction& instruction, u32 bytes, Purpose purpose, Access& access);

using Resolve = void (*)(Warp&, const Instruction&, u32, Purpose, Access&);

// Counting alone, of addresses that may lie anywhere. tally.cpp
u32 count_sectors(const u64* addresses, u32 lanes);
u32 count_atomic_sectors(const u64* addresses, u32 lanes);
u32 count_distinct(const u64* addresses, u32 lanes);
u32 count_wavefronts(const u64* offsets, u32 lanes, u32 bytes, Purpose purpose);
u32 count_ideal_wavefronts(const u64* offsets, u32 lanes, u32 bytes);
u32 count_local_sectors(const u64* offsets, u32 lanes, u32 bytes);

// inputs.cpp: makes sure that the chunks of [begin, end) hold their elements.
void generate(Allocation& allocation, u64 begin, u64 end);

// Whether all lanes of a full warp have one address, or `bytes` more than the lane before.
Shape shape_of(const u64* addresses, u32 bytes);

}  // namespace simt
