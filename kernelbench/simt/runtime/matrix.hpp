// Fragments: how the lanes of a warp hold a matrix, for mma, wmma, ldmatrix, stmatrix and movmatrix.
//
// mma has one rule for all types and shapes but m8n8k4 of f16. Lane = 4 group + thread; a register holds E adjacent
// elements. A: row = group + 8 (r % row blocks), k = E thread + element + 4 E (r / row blocks). B: n = group + 8 (r / k
// blocks), k as in A with r % k blocks. C and D: row = group + 8 (b % row blocks), column = 2 thread + element + 8 (b /
// row blocks), where 16-bit elements have b = r and others b = r / 2, element = r % 2. PTX leaves the fragments of wmma
// open; here they follow the same rule, repeated where wmma has more registers than elements.
#pragma once

#include "floats.hpp"

namespace simt {

constexpr u32 MOST_SIDE = 256;      // of k
constexpr u32 MOST_REGISTERS = 8;   // per operand

struct Shape3 {
    u32 m, n, k;
};

struct Element {
    u32 row, column;
};

inline Element place_in_a(const Shape3& shape, u32 per_register, u32 lane, u32 index, u32 element) {
    const u32 blocks = shape.m / 8;
    const u32 distinct = index % (blocks * (shape.k / (4 * per_register)));
    return {lane / 4 + 8 * (distinct % blocks), per_register * (lane % 4 + 4 * (distinct / blocks)) + element};
}

inline Element place_in_b(const Shape3& shape, u32 per_register, u32 lane, u32 index, u32 element) {
    const u32 blocks = shape.k / (4 * per_register);
    const u32 distinct = index % (blocks * (shape.n / 8));
    return {per_register * (lane % 4 + 4 * (distinct % blocks)) + element, lane / 4 + 8 * (distinct / blocks)};
}

inline Element place_in_c(const Shape3& shape, u32 per_register, u32 lane, u32 index, u32 element) {
    const u32 blocks = shape.m / 8;
    const u32 block = per_register == 2 ? index : index / 2;
    const u32 second = per_register == 2 ? element : index % 2;
    return {lane / 4 + 8 * (block % blocks), 2 * (lane % 4) + second + 8 * (block / blocks)};
}

// m8n8k4 of f16: four products at once, each by the lanes 4 q to 4 q + 3 and those 16 above. `transposed`: A by
// columns, B by rows.
inline Element place_in_quad_a(bool transposed, u32 lane, u32 element) {
    const u32 upper = lane < 16 ? 0 : 4;
    return transposed ? Element{element + upper, lane % 4} : Element{lane % 4 + upper, element};
}

inline Element place_in_quad_b(bool transposed, u32 lane, u32 element) {
    const u32 upper = lane < 16 ? 0 : 4;
    return transposed ? Element{lane % 4, element + upper} : Element{element, lane % 4 + upper};
}

inline Element place_in_quad_c(bool halves, u32 lane, u32 index) {
    const u32 upper = lane < 16 ? 0 : 4;
    return halves ? Element{lane % 4 + upper, index}
                  : Element{(lane & 1) + (index & 2) + upper, (index & 4) + (lane & 2) + (index & 1)};
}

// Every lane of a warp must execute these operations together; a fault names the first that does not.
inline void need_whole_warp(Warp& warp, const Instruction& instruction, u32 lanes) {
    if (lanes != ALL) {
        fault(warp, instruction, FaultKind::inactive_lane, u32(first_lane(~lanes)));
    }
}

}  // namespace simt
