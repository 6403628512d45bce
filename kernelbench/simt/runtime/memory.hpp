// Loads and stores between registers and host addresses that an access function has checked.
#pragma once

#include <cstring>

#include "access.hpp"

namespace simt {

template <class Element, class Register>
void load_contiguous(Warp& warp, const Instruction& instruction, const Element* from, u32 count) {
    if (count == 1) {
        Register* to = lanes_of<Register>(warp.registers, instruction.x[0]);
        for (int lane = 0; lane < LANES; ++lane) {
            to[lane] = static_cast<Register>(from[lane]);
        }
        return;
    }
    for (u32 k = 0; k < count; ++k) {
        if (instruction.x[k] == NONE) {
            continue;
        }
        Register* to = lanes_of<Register>(warp.registers, instruction.x[k]);
        for (int lane = 0; lane < LANES; ++lane) {
            to[lane] = static_cast<Register>(from[u32(lane) * count + k]);
        }
    }
}

template <class Element, class Register>
void load(Warp& warp, const Instruction& instruction, u32 lanes, Resolve resolve) {
    const u32 count = instruction.f;
    Access access;
    access.lanes = lanes;
    access.joined = instruction.c;
    access.first = instruction.e;
    access.later = instruction.d;
    if (access.later != NONE) [[unlikely]] {
        std::memset(warp.registers + access.later, 0, LANES * sizeof(u64));
    }
    form_addresses(warp, instruction, access.at);
    resolve(warp, instruction, count * sizeof(Element), Purpose::read, access);
    if (access.shape == Shape::contiguous) {
        load_contiguous<Element, Register>(warp, instruction, reinterpret_cast<const Element*>(access.at[0]), count);
        return;
    }
    for (u32 k = 0; k < count; ++k) {
        if (instruction.x[k] == NONE) {
            continue;
        }
        Register* to = lanes_of<Register>(warp.registers, instruction.x[k]);
        if (access.shape == Shape::uniform) {
            const Element value = reinterpret_cast<const Element*>(access.at[0])[k];
            for (int lane = 0; lane < LANES; ++lane) {
                to[lane] = static_cast<Register>(value);
            }
            continue;
        }
        each_lane(access.lanes, [&](int lane) {
            to[lane] = static_cast<Register>(reinterpret_cast<const Element*>(access.at[lane])[k]);
        });
        each_lane(lanes & ~access.lanes, [&](int lane) { std::memset(&to[lane], POISON, sizeof(Register)); });
    }
}

// The elements that a store writes, lane by lane.
template <class Element, class Register>
void gather(const Warp& warp, const Instruction& instruction, u8* into) {
    Element* values = reinterpret_cast<Element*>(into);
    const u32 count = instruction.f;
    for (u32 k = 0; k < count; ++k) {
        const Register* from = lanes_of<Register>(warp.registers, instruction.x[k]);
        for (u32 lane = 0; lane < LANES; ++lane) {
            values[lane * count + k] = static_cast<Element>(from[lane]);
        }
    }
}

template <class Element, class Register>
void store(Warp& warp, const Instruction& instruction, u32 lanes, Resolve resolve) {
    const u32 count = instruction.f;
    Access access;
    access.lanes = lanes;
    form_addresses(warp, instruction, access.at);
    access.gather = gather<Element, Register>;
    access.joined = instruction.c;
    access.first = instruction.e;
    resolve(warp, instruction, count * sizeof(Element), Purpose::write, access);
    if (access.shape == Shape::contiguous && count == 1) {
        const Register* from = lanes_of<Register>(warp.registers, instruction.x[0]);
        Element* to = reinterpret_cast<Element*>(access.at[0]);
        for (int lane = 0; lane < LANES; ++lane) {
            to[lane] = static_cast<Element>(from[lane]);
        }
        return;
    }
    const Register* from[8];
    for (u32 k = 0; k < count; ++k) {
        from[k] = lanes_of<Register>(warp.registers, instruction.x[k]);
    }
    // In ascending order: if several lanes write to one address, the last one wins.
    each_lane(access.lanes, [&](int lane) {
        Element* to = reinterpret_cast<Element*>(access.at[lane]);
        for (u32 k = 0; k < count; ++k) {
            to[k] = static_cast<Element>(from[k][lane]);
        }
    });
}

}  // namespace simt

#define SIMT_LOAD(space, element, bits, resolve)                                                             \
    extern "C" void op_ld_##space##_##element##_##bits(Warp& warp, const Instruction& instruction, u32 lanes) { \
        load<element, u##bits>(warp, instruction, lanes, resolve);                                           \
    }
#define SIMT_STORE(space, element, bits, resolve)                                                            \
    extern "C" void op_st_##space##_##element##_##bits(Warp& warp, const Instruction& instruction, u32 lanes) { \
        store<element, u##bits>(warp, instruction, lanes, resolve);                                          \
    }
#define SIMT_EACH_PAIR(make, space, resolve)                                                    \
    make(space, u8, 16, resolve) make(space, u8, 32, resolve) make(space, u8, 64, resolve)     \
    make(space, s8, 16, resolve) make(space, s8, 32, resolve) make(space, s8, 64, resolve)     \
    make(space, u16, 16, resolve) make(space, u16, 32, resolve) make(space, u16, 64, resolve)  \
    make(space, s16, 16, resolve) make(space, s16, 32, resolve) make(space, s16, 64, resolve)  \
    make(space, u32, 32, resolve) make(space, u32, 64, resolve)                                \
    make(space, s32, 32, resolve) make(space, s32, 64, resolve)                                \
    make(space, u64, 64, resolve) make(space, u128, 128, resolve)
