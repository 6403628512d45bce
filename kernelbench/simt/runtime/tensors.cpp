// cp.async.bulk.tensor and cp.async.bulk.prefetch.tensor: boxes of tensors, copied when they are issued. Operands:
// lower/bulk.py.
//
// Counted: a request per copy, the global sectors of its rows, and a wavefront per 128 bytes of shared memory.
#include "tensors.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bulk_reductions.hpp"

namespace simt {

namespace {

constexpr u64 MAGIC = 0x31504d4f534e4554ull;
constexpr u32 MAP_BYTES = 128, MAP_ALIGNMENT = 64;

// What one lane asks for.
struct Copy {
    TensorMap map;
    s32 start[MOST_DIMENSIONS];
    Place place;  // of the box in shared memory

    // Offset of a group of 16 bytes of the box.
    u32 group(u32 byte) const { return swizzled(place.offset + byte, map.swizzle); }
};

bool read_copy(Warp& warp, const Instruction& instruction, u32 lane, Copy& copy) {
    const u64 address = lanes_of<u64>(warp.registers, instruction.a)[lane];
    const u32 rank = instruction.b;
    for (u32 axis = 0; axis < rank; ++axis) {
        copy.start[axis] = lanes_of<s32>(warp.registers, instruction.x[axis])[lane];
    }
    return read_map(warp, instruction, lane, address, rank, copy.map);
}

// The box's place in shared memory, checked; false after a fault.
bool find_place(Warp& warp, const Instruction& instruction, u32 lane, Copy& copy, Purpose purpose) {
    const u64 address = address_of(warp, instruction.c, instruction.e, instruction.immediate, lane);
    copy.place = shared_place(warp, instruction, lane, address);
    if (!copy.place.owner) {
        return false;
    }
    if (copy.place.offset % TENSOR_ALIGNMENT) {
        fault(warp, instruction, FaultKind::misaligned, lane, SHARED_WINDOW + copy.place.offset);
        return false;
    }
    return check_place(warp, instruction, lane, copy.place, copy.map.bytes(), purpose);
}

// In strict launches: the groups of a row, which lie apart if they are swizzled.
void watch_row(Warp& warp, const Instruction& instruction, u32 lane, const Copy& copy, u32 begin, Purpose purpose) {
    if (!strict(warp)) {
        return;
    }
    for (u32 byte = 0; byte < copy.map.row_bytes(); byte += BULK_UNIT) {
        const Place group = {copy.place.owner, copy.group(begin + byte)};
        if (check_place(warp, instruction, lane, group, BULK_UNIT, purpose)) {
            watch_place(warp, instruction, lane, group, BULK_UNIT, purpose);
        }
    }
}

void write_row(const Copy& copy, u32 begin, const u8* row) {
    for (u32 byte = 0; byte < copy.map.row_bytes(); byte += BULK_UNIT) {
        std::memcpy(copy.place.owner->shared + copy.group(begin + byte), row + byte, BULK_UNIT);
    }
}

void read_row(const Copy& copy, u32 begin, u8* row) {
    for (u32 byte = 0; byte < copy.map.row_bytes(); byte += BULK_UNIT) {
        std::memcpy(row + byte, copy.place.owner->shared + copy.group(begin + byte), BULK_UNIT);
    }
}

// The bytes of a row in global memory, of which a copy counts one request.
u8* global_row(Warp& warp, const Instruction& instruction, u32 lane, const TensorRow& row, Purpose purpose) {
    u8* const found = access_global_bytes(warp, instruction, lane, row.address, row.bytes, purpose);
    --warp.state->worker->counters[warp.state->position].requests;
    return found;
}

void count_request(Warp& warp) {
    ++warp.state->worker->counters[warp.state->position].requests;
}

// The whole box; elements outside the tensor are zeros or NaN. False after a fault.
bool read_box(Warp& warp, const Instruction& instruction, u32 lane, const Copy& copy, std::vector<u8>& box) {
    const u32 bytes = copy.map.row_bytes();
    box.assign(copy.map.bytes(), copy.map.fill ? 0xff : 0);  // all ones are a NaN of any width
    count_request(warp);
    for (u32 number = 0; number < copy.map.rows(); ++number) {
        const TensorRow row = row_of(copy.map, copy.start, number);
        if (!row.bytes) {
            continue;
        }
        const u8* from = global_row(warp, instruction, lane, row, Purpose::read);
        if (!from) {
            return false;
        }
        std::memcpy(box.data() + size_t(number) * bytes + row.skipped, from, row.bytes);
    }
    return true;
}

void write_box(Warp& warp, const Instruction& instruction, u32 lane, const Copy& copy, const std::vector<u8>& box) {
    const u32 bytes = copy.map.row_bytes();
    for (u32 number = 0; number < copy.map.rows(); ++number) {
        watch_row(warp, instruction, lane, copy, number * bytes, Purpose::write);
        write_row(copy, number * bytes, box.data() + size_t(number) * bytes);
    }
    count_bulk(warp, copy.map.bytes());
    ++warp.state->worker->changes;
}

u64 window_address(u32 rank, u32 offset) {
    return SHARED_WINDOW + (u64(rank) << WINDOW_RANK_SHIFT) + offset;
}

// Calls body(row, its bytes in shared memory, those in global memory) for the rows of the box that lie in the tensor.
template <class Body>
void each_stored_row(Warp& warp, const Instruction& instruction, u32 lane, Purpose purpose, Body body) {
    Copy copy;
    if (!read_copy(warp, instruction, lane, copy) ||
        !find_place(warp, instruction, lane, copy, Purpose::read)) {
        return;
    }
    const u32 bytes = copy.map.row_bytes();
    std::vector<u8> from(bytes);
    count_request(warp);
    count_bulk(warp, copy.map.bytes());
    for (u32 number = 0; number < copy.map.rows(); ++number) {
        const TensorRow row = row_of(copy.map, copy.start, number);
        watch_row(warp, instruction, lane, copy, number * bytes, Purpose::read);
        read_row(copy, number * bytes, from.data());
        u8* const to = row.bytes ? global_row(warp, instruction, lane, row, purpose) : nullptr;
        if (to) {
            body(copy.map, row, from.data() + row.skipped, to);
        }
    }
}

}  // namespace

bool read_map(Warp& warp, const Instruction& instruction, u32 lane, u64 address, u32 rank, TensorMap& map) {
    const Launch& launch = *warp.state->worker->launch;
    if (address % MAP_ALIGNMENT) {
        fault(warp, instruction, FaultKind::no_tensor_map, lane, address);
        return false;
    }
    const u8* from = nullptr;
    if (address < launch.parameter_bytes && MAP_BYTES <= launch.parameter_bytes - address) {
        from = launch.parameters + address;
    } else if (const Allocation* one = allocation_at(launch, address); one && MAP_BYTES <= one->end - address) {
        from = reinterpret_cast<const u8*>(address);
    }
    if (from) {
        std::memcpy(&map, from, sizeof(map));
    }
    if (!from || map.magic != MAGIC || map.rank != rank || !map.is_sound()) {
        fault(warp, instruction, FaultKind::no_tensor_map, lane, address);
        return false;
    }
    return true;
}

TensorRow row_of(const TensorMap& map, const s32* start, u32 number) {
    u64 address = map.data;
    for (u32 axis = 1; axis < map.rank; ++axis) {
        const s64 place = s64(start[axis]) + s64(number % map.count(axis)) * map.steps[axis];
        number /= map.count(axis);
        if (place < 0 || place > s64(map.last[axis])) {
            return {0, 0, 0};
        }
        address += u64(place) * map.strides[axis - 1];
    }
    const s64 first = std::max<s64>(start[0], 0), end = std::min<s64>(s64(start[0]) + map.box[0], s64(map.last[0]) + 1);
    if (first >= end) {
        return {0, 0, 0};
    }
    return {address + u64(first) * map.width, u32(first - start[0]) * map.width, u32(end - first) * map.width};
}

}  // namespace simt

using namespace simt;

// d: slot of the blocks of the cluster that get the box, or NONE for that of the address.
extern "C" void op_tensor_load(Warp& warp, const Instruction& instruction, u32 lanes) {
    std::vector<u8> box;
    each_lane(lanes, [&](int lane) {
        Copy copy;
        if (!read_copy(warp, instruction, u32(lane), copy) ||
            !find_place(warp, instruction, u32(lane), copy, Purpose::write) ||
            !read_box(warp, instruction, u32(lane), copy, box)) {
            return;
        }
        const u64 mbarrier = address_of(warp, instruction.x[5], instruction.x[6], s32(instruction.x[7]), u32(lane));
        if (instruction.d == NONE) {
            write_box(warp, instruction, u32(lane), copy, box);
            complete_bytes(warp, instruction, u32(lane), mbarrier, copy.place, copy.map.bytes());
            return;
        }
        const Place counter = shared_place(warp, instruction, u32(lane), mbarrier);
        const u32 offset = copy.place.offset;
        for (u32 left = lanes_of<u16>(warp.registers, instruction.d)[lane]; left; left &= left - 1) {
            const u32 rank = u32(first_lane(left));
            copy.place = shared_place(warp, instruction, u32(lane), window_address(rank, offset));
            if (copy.place.owner && counter.owner) {
                write_box(warp, instruction, u32(lane), copy, box);
                const u64 there = window_address(rank, counter.offset);
                complete_bytes(warp, instruction, u32(lane), there, copy.place, copy.map.bytes());
            }
        }
    });
}

extern "C" void op_tensor_store(Warp& warp, const Instruction& instruction, u32 lanes) {
    each_lane(lanes, [&](int lane) {
        each_stored_row(warp, instruction, u32(lane), Purpose::write,
                        [](const TensorMap&, const TensorRow& row, const u8* from, u8* to) {
                            std::memcpy(to, from, row.bytes);
                        });
    });
}

// f: a Reduction.
extern "C" void op_tensor_reduce(Warp& warp, const Instruction& instruction, u32 lanes) {
    each_lane(lanes, [&](int lane) {
        each_stored_row(warp, instruction, u32(lane), Purpose::update,
                        [&](const TensorMap& map, const TensorRow& row, const u8* from, u8* to) {
                            const auto step = Reduction(instruction.f);
                            if (!reduce(step, element_of_map(map.type), to, from, row.bytes)) {
                                fault(warp, instruction, FaultKind::invalid_operand, u32(lane), map.type);
                            }
                        });
    });
}

// Only its tensor map is checked.
extern "C" void op_tensor_prefetch(Warp& warp, const Instruction& instruction, u32 lanes) {
    each_lane(lanes, [&](int lane) {
        Copy copy;
        read_copy(warp, instruction, u32(lane), copy);
    });
}
