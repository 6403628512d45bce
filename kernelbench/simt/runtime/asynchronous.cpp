// cp.async. The copy completes at issue, so waiting for it does nothing. Operands: lower/asynchronous.py.
#include <algorithm>
#include <cstring>

#include "access.hpp"
#include "lanes.hpp"

using namespace simt;

namespace {

// Reads `sizes[lane]` bytes of each lane from global memory into `data`; the rest stays zero.
void read_global(Warp& warp, const Instruction& instruction, u32 lanes, u32 bytes, const u32* sizes,
                 u8 (*data)[16]) {
    Instruction source = instruction;
    source.a = instruction.c;
    source.b = 8;
    source.immediate = s32(instruction.x[0]);
    Access access;
    const u32 whole = lanes_if(lanes, [&](int lane) { return sizes[lane] >= bytes; });
    u32 part = lanes_if(lanes & ~whole, [&](int lane) { return sizes[lane] > 0; });
    if (whole) {
        access.lanes = whole;
        form_addresses(warp, source, access.at);
        access_global(warp, source, bytes, Purpose::read, access);
        each_lane(access.lanes, [&](int lane) {
            std::memcpy(data[lane], reinterpret_cast<const void*>(access.at[lane]), bytes);
        });
    }
    for (u32 k = 0; part; ++k) {  // byte by byte, as access_global takes only powers of two
        part = lanes_if(part, [&](int lane) { return k < sizes[lane]; });
        if (!part) {
            break;
        }
        access.lanes = part;
        form_addresses(warp, source, access.at);
        for (u64& at : access.at) {
            at += k;
        }
        access_global(warp, source, 1, Purpose::read, access);
        each_lane(access.lanes, [&](int lane) { data[lane][k] = *reinterpret_cast<const u8*>(access.at[lane]); });
    }
}

template <u32 bytes>
void copy(Warp& warp, const Instruction& instruction, u32 lanes) {
    u8 data[LANES][16] = {};
    u32 sizes[LANES];
    const u32* given = instruction.f == NONE ? nullptr : lanes_of<u32>(warp.registers, instruction.f);
    const u32 zeros = instruction.x[1] == NONE ? 0 : lanes_where(warp, instruction.x[1], instruction.x[2]);
    for (int lane = 0; lane < LANES; ++lane) {
        sizes[lane] = has(zeros, lane) ? 0 : given ? std::min(given[lane], bytes) : bytes;
    }
    read_global(warp, instruction, lanes, bytes, sizes, data);
    Access access;
    access.lanes = lanes;
    form_addresses(warp, instruction, access.at);
    access_shared(warp, instruction, bytes, Purpose::write, access);
    each_lane(access.lanes, [&](int lane) {
        std::memcpy(reinterpret_cast<void*>(access.at[lane]), data[lane], bytes);
    });
}

}  // namespace

OPERATION(cpasync_4) { copy<4>(warp, instruction, lanes); }
OPERATION(cpasync_8) { copy<8>(warp, instruction, lanes); }
OPERATION(cpasync_16) { copy<16>(warp, instruction, lanes); }
