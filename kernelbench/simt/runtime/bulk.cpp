// cp.async.bulk and cp.reduce.async.bulk. They complete at issue, like cp.async. Operands: lower/bulk.py.
#include <cstring>

#include "asynchronous.hpp"
#include "bulk_reductions.hpp"

using namespace simt;

namespace {

u64 source_of(const Warp& warp, const Instruction& instruction, u32 lane) {
    const s64 displacement = s64(u64(instruction.x[1]) | u64(instruction.x[2]) << 32);
    return address_of(warp, instruction.c, instruction.x[0], displacement, lane);
}

u64 target_of(const Warp& warp, const Instruction& instruction, u32 lane) {
    return address_of(warp, instruction.a, instruction.b, instruction.immediate, lane);
}

bool fits(Warp& warp, const Instruction& instruction, u32 lane, u64 address, u32 bytes) {
    if (bytes % BULK_UNIT) {
        fault(warp, instruction, FaultKind::bulk_size, lane, bytes);
        return false;
    }
    if (address % BULK_UNIT) {
        fault(warp, instruction, FaultKind::misaligned, lane, address);
        return false;
    }
    return true;
}

// One lane's bytes in shared memory; null after a fault.
u8* shared_bytes(Warp& warp, const Instruction& instruction, u32 lane, const Place& place, u32 bytes,
                 Purpose purpose) {
    count_bulk(warp, bytes);
    if (!place.owner || !fits(warp, instruction, lane, SHARED_WINDOW + place.offset, bytes) ||
        !check_place(warp, instruction, lane, place, bytes, purpose)) {
        return nullptr;
    }
    watch_place(warp, instruction, lane, place, bytes, purpose);
    return place.owner->shared + place.offset;
}

u8* global_bytes(Warp& warp, const Instruction& instruction, u32 lane, u64 address, u32 bytes, Purpose purpose) {
    if (!fits(warp, instruction, lane, address, bytes)) {
        return nullptr;
    }
    return access_global_bytes(warp, instruction, lane, address, bytes, purpose);
}

u64 mbarrier_of(const Warp& warp, const Instruction& instruction, u32 lane) {
    return address_of(warp, instruction.x[3], instruction.x[4], s32(instruction.x[5]), lane);
}

// Reduces the bytes into `to` if the instruction says so (x[7] a Reduction, f a Reduced), else copies them.
void put(Warp& warp, const Instruction& instruction, u32 lane, u8* to, const u8* from, u32 bytes) {
    if (instruction.x[7] == NONE) {
        std::memmove(to, from, bytes);
    } else if (!reduce(Reduction(instruction.x[7]), Reduced(instruction.f), to, from, bytes)) {
        fault(warp, instruction, FaultKind::invalid_operand, lane, instruction.f);
    }
}

void to_shared(Warp& warp, const Instruction& instruction, u32 lane, u32 bytes, const u8* from, u64 address,
               u64 mbarrier) {
    const Place target = shared_place(warp, instruction, lane, address);
    const Purpose purpose = instruction.x[7] == NONE ? Purpose::write : Purpose::update;
    if (u8* to = from ? shared_bytes(warp, instruction, lane, target, bytes, purpose) : nullptr) {
        put(warp, instruction, lane, to, from, bytes);
        complete_bytes(warp, instruction, lane, mbarrier, target, bytes);
    }
}

// To the same place in each block of the cluster that the mask names, and its mbarrier.
void to_several(Warp& warp, const Instruction& instruction, u32 lane, u32 bytes, const u8* from, u32 blocks) {
    const Place target = shared_place(warp, instruction, lane, target_of(warp, instruction, lane));
    const Place mbarrier = shared_place(warp, instruction, lane, mbarrier_of(warp, instruction, lane));
    for (u32 left = target.owner && mbarrier.owner ? blocks : 0; left; left &= left - 1) {
        const u64 window = SHARED_WINDOW + (u64(first_lane(left)) << WINDOW_RANK_SHIFT);
        to_shared(warp, instruction, lane, bytes, from, window + target.offset, window + mbarrier.offset);
    }
}

u8* own_bytes(Warp& warp, const Instruction& instruction, u32 lane, u32 bytes) {
    const Place place = shared_place(warp, instruction, lane, source_of(warp, instruction, lane));
    return shared_bytes(warp, instruction, lane, place, bytes, Purpose::read);
}

}  // namespace

extern "C" void op_bulk_shared_global(Warp& warp, const Instruction& instruction, u32 lanes) {
    const u32* sizes = lanes_of<u32>(warp.registers, instruction.e);
    each_lane(lanes, [&](int lane) {
        const u64 source = source_of(warp, instruction, lane);
        const u8* from = global_bytes(warp, instruction, lane, source, sizes[lane], Purpose::read);
        if (instruction.x[6] == NONE) {
            to_shared(warp, instruction, lane, sizes[lane], from, target_of(warp, instruction, lane),
                      mbarrier_of(warp, instruction, lane));
        } else if (from) {
            to_several(warp, instruction, lane, sizes[lane], from,
                       lanes_of<u16>(warp.registers, instruction.x[6])[lane]);
        }
    });
}

extern "C" void op_bulk_shared_shared(Warp& warp, const Instruction& instruction, u32 lanes) {
    const u32* sizes = lanes_of<u32>(warp.registers, instruction.e);
    each_lane(lanes, [&](int lane) {
        to_shared(warp, instruction, lane, sizes[lane], own_bytes(warp, instruction, lane, sizes[lane]),
                  target_of(warp, instruction, lane), mbarrier_of(warp, instruction, lane));
    });
}

extern "C" void op_bulk_global_shared(Warp& warp, const Instruction& instruction, u32 lanes) {
    const u32* sizes = lanes_of<u32>(warp.registers, instruction.e);
    each_lane(lanes, [&](int lane) {
        const u8* from = own_bytes(warp, instruction, lane, sizes[lane]);
        const u64 target = target_of(warp, instruction, lane);
        const Purpose purpose = instruction.x[7] == NONE ? Purpose::write : Purpose::update;
        u8* to = from ? global_bytes(warp, instruction, lane, target, sizes[lane], purpose) : nullptr;
        if (to) {
            put(warp, instruction, lane, to, from, sizes[lane]);
        }
    });
}
