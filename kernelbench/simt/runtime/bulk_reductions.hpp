// What cp.reduce.async.bulk does to each element.
#pragma once

#include "numbers.hpp"

namespace simt {

// In the order of lower/bulk.py.
enum class Reduction : u32 { add, min, max, inc, dec, and_, or_, xor_ };
enum class Reduced : u32 { u32, s32, u64, s64, f16, bf16, f32, f64, other };

// The element of a CUtensorMapDataType.
Reduced element_of_map(u32 type);

// Combines `bytes` of elements into `to`; false if PTX has no such reduction.
bool reduce(Reduction step, Reduced element, u8* to, const u8* from, u32 bytes);

}  // namespace simt
