// What kernels may read of the machine's progress: %clock, %clock64 and %globaltimer count executed instructions.
#include "warp.hpp"

using namespace simt;

extern "C" void op_clock_32(Warp& warp, const Instruction& instruction, u32 lanes) {
    u32* result = lanes_of<u32>(warp.registers, instruction.d);
    each_lane(lanes, [&](int lane) { result[lane] = u32(ticks(warp)); });
}

extern "C" void op_clock_64(Warp& warp, const Instruction& instruction, u32 lanes) {
    u64* result = lanes_of<u64>(warp.registers, instruction.d);
    each_lane(lanes, [&](int lane) { result[lane] = ticks(warp); });
}
