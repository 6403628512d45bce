// cvt between integers, which extends.
#include "lanes.hpp"

namespace simt {

// The low bits of a register of FROM bits, as T, extended to a register of TO bits.
#define EXTEND(T, TO, FROM) UNARY(extend_##T##_##TO##_##FROM, u##TO, u##FROM, static_cast<T>(a))
#define EXTEND_FROM_32(T, TO) EXTEND(T, TO, 32) EXTEND(T, TO, 64)
#define EXTEND_FROM_16(T, TO) EXTEND(T, TO, 16) EXTEND_FROM_32(T, TO)
#define EXTEND_TO_32(T) EXTEND_FROM_32(T, 32) EXTEND_FROM_32(T, 64)
#define EXTEND_TO_16(T) EXTEND_FROM_16(T, 16) EXTEND_FROM_16(T, 32) EXTEND_FROM_16(T, 64)
EXTEND_TO_16(u8)
EXTEND_TO_16(s8)
EXTEND_TO_16(u16)
EXTEND_TO_16(s16)
EXTEND_TO_32(u32)
EXTEND_TO_32(s32)

}  // namespace simt
