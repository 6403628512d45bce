// Textures and surfaces of one to three dimensions, or in layers. Their handle is the address of a Descriptor, which
// Python writes.
//
// tex: a handle, b and c coordinates, x results; f 1 if coordinates are integers; immediate: type of the results.
// suld and sust: a handle, b byte in a row, c row, x registers, f bytes of an element, immediate: a Boundary.
// All: x[4] the third coordinate or the layer, or NONE; x[5] dimensions, and LAYERED.
// Fetches count as instructions alone.
#include <cmath>
#include <cstring>

#include "access.hpp"
#include "floats.hpp"

using namespace simt;

namespace {

constexpr u64 MAGIC = 0x6572757478657431ull;
constexpr u32 LAYERED = 16;
constexpr f32 WEIGHTS = 256;  // a weight of linear filtering has 8 bits behind the point

enum class Texel : u32 { f32, f16, u8, s8, u16, s16, u32, s32 };
enum class Result4 : u32 { f32, s32, u32 };
enum class AddressMode : u32 { clamp, border, wrap, mirror };
enum class Boundary : u32 { trap, clamp, zero };

// textures.py writes it: 64 bytes.
struct Descriptor {
    u64 magic, data;
    u32 width, height, channels, linear, normalized;
    Texel texel;
    AddressMode mode;
    u32 dimensions;  // 1 to 3, and LAYERED
    u32 slices;      // depth, or layers
    u32 unused[3];

    u32 texel_bytes() const {
        return texel == Texel::u8 || texel == Texel::s8 ? 1
               : texel == Texel::f16 || texel == Texel::u16 || texel == Texel::s16 ? 2 : 4;
    }
    u64 row_bytes() const { return u64(width) * channels * texel_bytes(); }
    u64 bytes() const {
        const u128 all = u128(row_bytes()) * height * slices;
        return all >> 63 ? ~u64(0) : u64(all);
    }
    bool has_depth() const { return dimensions == 3; }
};

static_assert(sizeof(Descriptor) == 64);

bool is_within(const Launch& launch, u64 address, u64 bytes, bool from_begin) {
    const Allocation* one = allocation_at(launch, address);
    return one && bytes <= one->end - address && (!from_begin || address == one->begin);
}

// Calls body(lane, descriptor) for each lane with a handle; others get a fault.
template <class Body>
void each_handle(Warp& warp, const Instruction& instruction, u32 lanes, Body body) {
    const Launch& launch = *warp.state->worker->launch;
    const u64* handles = lanes_of<u64>(warp.registers, instruction.a);
    const u32 dimensions = instruction.x[5];
    u64 known = 0;
    Descriptor descriptor{};
    each_lane(lanes, [&](int lane) {
        const u64 handle = handles[lane];
        if (handle != known || !known) {
            known = 0;
            if (is_within(launch, handle, sizeof(Descriptor), true)) {
                descriptor = value_at<Descriptor>(reinterpret_cast<const void*>(handle));
                const bool good = descriptor.magic == MAGIC && descriptor.dimensions == dimensions &&
                                  is_within(launch, descriptor.data, descriptor.bytes(), false);
                known = good ? handle : 0;
            }
        }
        if (known) {
            body(u32(lane), descriptor);
        } else {
            fault(warp, instruction, FaultKind::invalid_operand, u32(lane), handle);
        }
    });
}

s32 coordinate(const Warp& warp, u32 slot, u32 lane) {
    return slot == NONE ? 0 : lanes_of<s32>(warp.registers, slot)[lane];
}

// ---- Textures ---------------------------------------------------------------------------------------

// The index of a texel, or -1 for the border.
s64 texel_index(const Descriptor& texture, s64 index, u32 size) {
    const s64 count = size;
    const s64 period = texture.mode == AddressMode::mirror ? 2 * count : count;
    switch (texture.normalized || texture.mode == AddressMode::border ? texture.mode : AddressMode::clamp) {
        case AddressMode::border:
            return index < 0 || index >= count ? -1 : index;
        case AddressMode::wrap:
            return (index % period + period) % period;
        case AddressMode::mirror: {
            const s64 place = (index % period + period) % period;
            return place < count ? place : period - 1 - place;
        }
        default:
            return within<s64>(index, 0, count - 1);
    }
}

// One channel as the bits of a result; integers become fractions of their largest value if the result is a float.
u32 channel_bits(const Descriptor& texture, const u8* from, Result4 result) {
    const auto integer = [&](s64 value, f32 largest) {
        return result == Result4::f32 ? bits_as<u32>(most(f32(value) / largest, -1.0f)) : u32(value);
    };
    switch (texture.texel) {
        case Texel::f16:
            return bits_as<u32>(f32(value_at<f16>(from)));
        case Texel::u8:
            return integer(value_at<u8>(from), 255);
        case Texel::s8:
            return integer(value_at<s8>(from), 127);
        case Texel::u16:
            return integer(value_at<u16>(from), 65535);
        case Texel::s16:
            return integer(value_at<s16>(from), 32767);
        default:
            return value_at<u32>(from);
    }
}

// `z`: a coordinate, or a layer, of which the nearest is taken.
u32 fetch(const Descriptor& texture, s64 x, s64 y, s64 z, u32 channel, Result4 result) {
    const s64 column = texel_index(texture, x, texture.width), row = texel_index(texture, y, texture.height);
    const s64 slice = texture.has_depth() ? texel_index(texture, z, texture.slices)
                                          : within<s64>(z, 0, s64(texture.slices) - 1);
    if (column < 0 || row < 0 || slice < 0 || channel >= texture.channels) {
        return 0;
    }
    const u64 offset = (u64(slice) * texture.height + u64(row)) * texture.row_bytes() +
                       (u64(column) * texture.channels + channel) * texture.texel_bytes();
    return channel_bits(texture, reinterpret_cast<const u8*>(texture.data) + offset, result);
}

// Coordinates beyond any texture stand for its edge, so that they fit an integer; NaN is 0.
s64 floor_of(f32 value) {
    return value != value ? 0 : s64(std::floor(within(value, -0x1p40f, 0x1p40f)));
}

f32 weight(f32 place, s64 whole) {
    return std::floor((place - f32(whole)) * WEIGHTS + 0.5f) / WEIGHTS;
}

// Between the texels of one slice.
f32 filtered(const Descriptor& texture, f32 x, f32 y, s64 z, u32 channel) {
    const bool has_rows = (texture.dimensions & ~LAYERED) >= 2;
    const f32 left = x - 0.5f, above = has_rows ? y - 0.5f : 0;
    const s64 column = floor_of(left), row = floor_of(above);
    const f32 to_right = weight(left, column), down = has_rows ? weight(above, row) : 0;
    const auto at = [&](s64 i, s64 j) { return bits_as<f32>(fetch(texture, i, j, z, channel, Result4::f32)); };
    const f32 upper = (1 - to_right) * at(column, row) + to_right * at(column + 1, row);
    if (!has_rows) {
        return upper;
    }
    const f32 lower = (1 - to_right) * at(column, row + 1) + to_right * at(column + 1, row + 1);
    return (1 - down) * upper + down * lower;
}

u32 filtered_bits(const Descriptor& texture, f32 x, f32 y, f32 z, s64 layer, u32 channel) {
    if (!texture.has_depth()) {
        return bits_as<u32>(filtered(texture, x, y, layer, channel));
    }
    const f32 before = z - 0.5f;
    const s64 slice = floor_of(before);
    const f32 back = weight(before, slice);
    const f32 near = filtered(texture, x, y, slice, channel), far = filtered(texture, x, y, slice + 1, channel);
    return bits_as<u32>((1 - back) * near + back * far);
}

// ---- Surfaces ---------------------------------------------------------------------------------------

// The host address of an access, or null: outside, where a store does nothing and a load gives 0.
u8* surface_at(Warp& warp, const Instruction& instruction, u32 lane, const Descriptor& surface) {
    const auto boundary = Boundary(instruction.immediate);
    s64 x = coordinate(warp, instruction.b, lane);
    s64 y = coordinate(warp, instruction.c, lane);
    s64 z = coordinate(warp, instruction.x[4], lane);
    const s64 bytes = instruction.f, last = s64(surface.row_bytes()) - bytes, last_row = s64(surface.height) - 1;
    const s64 last_slice = s64(surface.slices) - 1;
    const bool crooked = x % bytes != 0 || last < 0;
    if (boundary == Boundary::clamp && !crooked) {
        x = within<s64>(x, 0, last);
        y = within<s64>(y, 0, last_row);
        z = within<s64>(z, 0, last_slice);
    }
    const bool is_column = crooked || x < 0 || x > last, is_row = y < 0 || y > last_row;
    if (is_column || is_row || z < 0 || z > last_slice) {
        if (crooked || boundary != Boundary::zero) {
            fault(warp, instruction, FaultKind::invalid_operand, lane, u64(is_column ? x : is_row ? y : z));
        }
        return nullptr;
    }
    return reinterpret_cast<u8*>(surface.data) + (u64(z) * surface.height + u64(y)) * surface.row_bytes() + u64(x);
}

u32 elements_of(const Instruction& instruction) {
    u32 count = 0;
    while (count < 4 && instruction.x[count] != NONE) {
        ++count;
    }
    return count;
}

// Bytes of the register of an element: those of 8 bits take 16.
u32 register_bytes(u32 element_bytes) {
    return most(element_bytes, 2u);
}

}  // namespace

OPERATION(tex) {
    const auto result = Result4(instruction.immediate);
    const bool is_whole = instruction.f == 1;
    for (u32 channel = 0; channel < 4; ++channel) {
        if (instruction.x[channel] == NONE) {
            continue;
        }
        u32 values[LANES] = {};
        each_handle(warp, instruction, lanes, [&](u32 lane, Descriptor texture) {
            const s32 first = coordinate(warp, instruction.b, lane);
            const s32 second = coordinate(warp, instruction.c, lane);
            const s32 third = coordinate(warp, instruction.x[4], lane);
            if (is_whole) {  // of linear memory: 0 outside
                texture.mode = AddressMode::border;
                values[lane] = fetch(texture, first, second, third, channel, result);
                return;
            }
            const f32 scale_x = texture.normalized ? f32(texture.width) : 1;
            const f32 scale_y = texture.normalized ? f32(texture.height) : 1;
            const f32 x = bits_as<f32>(first) * scale_x, y = bits_as<f32>(second) * scale_y;
            const f32 z = bits_as<f32>(third) * (texture.normalized ? f32(texture.slices) : 1);
            const s64 layer = u32(third);
            values[lane] = texture.linear && result == Result4::f32
                               ? filtered_bits(texture, x, y, z, layer, channel)
                               : fetch(texture, floor_of(x), floor_of(y), texture.has_depth() ? floor_of(z) : layer,
                                       channel, result);
        });
        u32* to = lanes_of<u32>(warp.registers, instruction.x[channel]);
        blend(to, values, to, lanes);
    }
}

OPERATION(suld) {
    const u32 count = elements_of(instruction), bytes = instruction.f / count, width = register_bytes(bytes);
    each_handle(warp, instruction, lanes, [&](u32 lane, const Descriptor& surface) {
        const u8* from = surface_at(warp, instruction, lane, surface);
        for (u32 k = 0; k < count; ++k) {
            u8* to = warp.registers + instruction.x[k] + lane * width;
            std::memset(to, 0, width);
            if (from) {
                std::memcpy(to, from + k * bytes, bytes);
            }
        }
    });
}

OPERATION(sust) {
    const u32 count = elements_of(instruction), bytes = instruction.f / count, width = register_bytes(bytes);
    each_handle(warp, instruction, lanes, [&](u32 lane, const Descriptor& surface) {
        u8* to = surface_at(warp, instruction, lane, surface);
        for (u32 k = 0; to && k < count; ++k) {
            std::memcpy(to + k * bytes, warp.registers + instruction.x[k] + lane * width, bytes);
        }
    });
    ++warp.state->worker->changes;
}
