// What every operation of the simulator sees: warps of 32 lanes in lockstep, their registers, and the
// lowered instruction. kernelbench/simt/native.py mirrors the structures that cross into Python.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using u128 = unsigned __int128;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f16 = _Float16;
using f32 = float;
using f64 = double;

constexpr int LANES = 32;
constexpr u32 ALL = 0xffffffffu;   // every lane
constexpr u32 NONE = 0xffffffffu;  // an operand or target that is not there

struct Warp;
struct Instruction;
using Operation = void (*)(Warp&, const Instruction&, u32 lanes);  // `lanes`: who executes, never 0

// Operands are byte offsets into the warp's register file, where a register of B bytes is 32 lanes x B
// bytes; constants and special registers have slots there too. Predicates are indices of 32-bit masks.
struct Instruction {
    Operation run;
    u32 d, a, b, c, e, f;
    u32 x[8];     // registers of a vector operand
    s64 immediate;  // displacement of an address, or what the operation says
    u32 guard;    // predicate index or NONE
    u32 negated;  // 1: execute where the guard is false
    u32 kind;     // Kind
    u32 target;   // of a branch: index of an instruction
    u32 reconverge;  // of a branch: where its paths meet again, or NONE for the end of the kernel
    u32 source;   // index of the PTX instruction, for counters and faults
};

// YIELD: what polls what others change: it ends the turn of the warp, after its operation if it has one.
enum Kind : u32 { COMPUTE, BRANCH, TABLE_BRANCH, EXIT, BARRIER, NOTHING, TRAP, YIELD };

template <class T>
inline T* lanes_of(u8* registers, u32 offset) {
    return reinterpret_cast<T*>(registers + offset);
}

}  // namespace simt
