// The lowered instruction, and access to registers and bytes.
#pragma once

#include <cstring>

#include "numbers.hpp"

namespace simt {

struct Warp;
struct Instruction;
using Operation = void (*)(Warp&, const Instruction&, u32 lanes);  // `lanes`: those that execute, never 0

// Operands are byte offsets into the warp's register file, where a register of B bytes takes 32 x B bytes; constants
// and special registers have slots there too. Predicates are indices of 32-bit masks.
struct Instruction {
    Operation run;
    u32 d, a, b, c, e, f;
    u32 x[8];     // registers of a vector operand
    s64 immediate;  // displacement of an address, or specific to the operation
    u32 guard;    // predicate index or NONE
    u32 negated;  // 1: execute if the guard is false
    u32 kind;     // Kind
    u32 target;   // of a branch: index of an instruction; of a memory access: its Order, or NONE
    u32 reconverge;  // of a branch: its reconvergence point, or NONE for the end of the kernel
    u32 source;   // index of the PTX instruction, for counters and faults
};

template <class T>
inline T* lanes_of(u8* registers, u32 offset) {
    return reinterpret_cast<T*>(registers + offset);
}

// The bytes at an address, aligned or not, as T.
template <class T>
inline T value_at(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

template <class To, class From>
inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    return value_at<To>(&from);
}

}  // namespace simt
