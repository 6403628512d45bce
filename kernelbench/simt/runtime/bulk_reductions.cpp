// The reductions of cp.reduce.async.bulk and of its tensors, and red.async. Operands: lower/bulk.py.
#include "bulk_reductions.hpp"

#include <cstring>

#include "asynchronous.hpp"
#include "update_rules.hpp"

namespace simt {

namespace {

template <class Rule, class T>
bool combine(u8* to, const u8* from, u32 bytes) {
    for (u32 k = 0; k + sizeof(T) <= bytes; k += sizeof(T)) {
        const T result = Rule::apply(value_at<T>(to + k), value_at<T>(from + k));
        std::memcpy(to + k, &result, sizeof(T));
    }
    return true;
}

template <class Rule>
bool combine_numbers(Reduced element, u8* to, const u8* from, u32 bytes) {
    switch (element) {
        case Reduced::u32: return combine<Rule, u32>(to, from, bytes);
        case Reduced::s32: return combine<Rule, s32>(to, from, bytes);
        case Reduced::u64: return combine<Rule, u64>(to, from, bytes);
        case Reduced::s64: return combine<Rule, s64>(to, from, bytes);
        case Reduced::f16: return combine<Rule, f16>(to, from, bytes);
        case Reduced::bf16: return combine<Rule, bf16>(to, from, bytes);
        default: return false;
    }
}

template <class Rule>
bool combine_bits(Reduced element, u8* to, const u8* from, u32 bytes) {
    switch (element) {
        case Reduced::u32: case Reduced::s32: return combine<Rule, u32>(to, from, bytes);
        case Reduced::u64: case Reduced::s64: return combine<Rule, u64>(to, from, bytes);
        default: return false;
    }
}

}  // namespace

Reduced element_of_map(u32 type) {
    constexpr Reduced OF_TYPE[] = {Reduced::other, Reduced::other, Reduced::u32,  Reduced::s32, Reduced::u64,
                                   Reduced::s64,   Reduced::f16,   Reduced::f32,  Reduced::f64, Reduced::bf16};
    return type < sizeof(OF_TYPE) / sizeof(OF_TYPE[0]) ? OF_TYPE[type] : Reduced::other;
}

bool reduce(Reduction step, Reduced element, u8* to, const u8* from, u32 bytes) {
    switch (step) {
        case Reduction::add:
            return element == Reduced::f32   ? combine<Add, f32>(to, from, bytes)
                   : element == Reduced::f64 ? combine<Add, f64>(to, from, bytes)
                                             : combine_numbers<Add>(element, to, from, bytes);
        case Reduction::min: return combine_numbers<Minimum>(element, to, from, bytes);
        case Reduction::max: return combine_numbers<Maximum>(element, to, from, bytes);
        case Reduction::inc: return element == Reduced::u32 && combine<Increment, u32>(to, from, bytes);
        case Reduction::dec: return element == Reduced::u32 && combine<Decrement, u32>(to, from, bytes);
        case Reduction::and_: return combine_bits<And>(element, to, from, bytes);
        case Reduction::or_: return combine_bits<Or>(element, to, from, bytes);
        default: return combine_bits<Xor>(element, to, from, bytes);
    }
}

}  // namespace simt

using namespace simt;

// One value of each lane. It counts as an instruction alone.
extern "C" void op_red_async(Warp& warp, const Instruction& instruction, u32 lanes) {
    const auto element = Reduced(instruction.f);
    const u32 bytes = element == Reduced::u64 ? 8 : 4;
    each_lane(lanes, [&](int lane) {
        const u64 address = address_of(warp, instruction.a, instruction.b, instruction.immediate, u32(lane));
        const Place target = shared_place(warp, instruction, u32(lane), address);
        if (target.owner && target.offset % bytes) {
            fault(warp, instruction, FaultKind::misaligned, u32(lane), SHARED_WINDOW + target.offset);
        } else if (target.owner && check_place(warp, instruction, u32(lane), target, bytes, Purpose::update)) {
            watch_place(warp, instruction, u32(lane), target, bytes, Purpose::update);
            const u8* value = warp.registers + instruction.c + u32(lane) * bytes;
            reduce(Reduction(instruction.d), element, target.owner->shared + target.offset, value, bytes);
            const u64 mbarrier = address_of(warp, instruction.x[0], instruction.x[1], s32(instruction.x[2]), u32(lane));
            complete_bytes(warp, instruction, u32(lane), mbarrier, target, bytes);
        }
    });
}
