// Runs an operation over the lanes of a warp. For a full warp, a vectorised loop writes to the destination directly;
// for a partial warp all 32 lanes are computed and only executing lanes are written. So an expression given to the
// macros below must be safe for any operand: no integer division, no trap.
#pragma once

#include "warp.hpp"

#define OPERATION(name) \
    extern "C" void op_##name( \
        [[maybe_unused]] simt::Warp& warp, \
        [[maybe_unused]] const simt::Instruction& instruction, \
        [[maybe_unused]] simt::u32 lanes)

// d = expression of a, b, c, whose types are the macro's types in this order.
#define UNARY(name, D, A, ...) \
    OPERATION(name) { map<D, A>(warp, instruction, lanes, [](A a) -> D { return static_cast<D>(__VA_ARGS__); }); }
#define BINARY(name, D, A, B, ...) \
    OPERATION(name) { \
        map<D, A, B>(warp, instruction, lanes, [](A a, B b) -> D { return static_cast<D>(__VA_ARGS__); }); \
    }
#define TERNARY(name, D, A, B, C, ...) \
    OPERATION(name) { \
        map<D, A, B, C>(warp, instruction, lanes, [](A a, B b, C c) -> D { return static_cast<D>(__VA_ARGS__); }); \
    }
// Two 16-bit numbers per 32-bit register: 64 elements.
#define BINARY_PAIRS(name, T, ...) \
    OPERATION(name) { \
        map_pairs<T>(warp, instruction, lanes, [](T a, T b) -> T { return static_cast<T>(__VA_ARGS__); }); \
    }

namespace simt {

using s128 = __int128;

// Selects `yes` for `lanes` and `no` for the others. Compilers vectorise a table of bits, but not (lanes >> lane) & 1.
struct LaneBits {
    u32 bit[LANES];
    constexpr LaneBits() : bit() {
        for (int lane = 0; lane < LANES; ++lane) {
            bit[lane] = 1u << lane;
        }
    }
};
constexpr LaneBits LANE_BITS;

template <class T>
inline void blend(T* to, const T* yes, const T* no, u32 lanes) {
#pragma GCC ivdep
    for (int lane = 0; lane < LANES; ++lane) {
        const T first = yes[lane], second = no[lane];
        to[lane] = lanes & LANE_BITS.bit[lane] ? first : second;
    }
}

// Type that moves all elements of a lane.
template <int BYTES>
struct WordOf;
template <>
struct WordOf<2> { using type [[gnu::may_alias]] = u16; };
template <>
struct WordOf<4> { using type [[gnu::may_alias]] = u32; };
template <>
struct WordOf<8> { using type [[gnu::may_alias]] = u64; };
template <>
struct WordOf<16> { using type [[gnu::may_alias]] = u128; };

// Destination of results: the register for a full warp, else a buffer whose executing lanes are copied at the end.
template <class T, int PER_LANE = 1>
class Result {
public:
    Result(Warp& warp, u32 offset, u32 lanes) : register_(lanes_of<T>(warp.registers, offset)), lanes_(lanes) {}
    Result(const Result&) = delete;
    Result& operator=(const Result&) = delete;

    ~Result() {
        if (lanes_ != ALL) {
            using Word = typename WordOf<sizeof(T) * PER_LANE>::type;
            Word* to = reinterpret_cast<Word*>(register_);
            blend(to, reinterpret_cast<const Word*>(buffer_), static_cast<const Word*>(to), lanes_);
        }
    }

    T* data() { return lanes_ == ALL ? register_ : buffer_; }

private:
    T* register_;
    u32 lanes_;
    alignas(64) T buffer_[LANES * PER_LANE];
};

// d = f(an element of each operand), for all elements.
template <class D, int PER_LANE, class F, class... Operands>
inline void map_elements(Warp& warp, const Instruction& instruction, u32 lanes, F f, const Operands*... from) {
    Result<D, PER_LANE> result(warp, instruction.d, lanes);
    D* d = result.data();
#pragma GCC ivdep
    for (int element = 0; element < LANES * PER_LANE; ++element) {
        d[element] = f(from[element]...);
    }
}

// d[lane] = f(a[lane], ..), with operands from instruction.a, b, c in this order.
template <class D, class A, class F>
inline void map(Warp& warp, const Instruction& instruction, u32 lanes, F f) {
    map_elements<D, 1>(warp, instruction, lanes, f, lanes_of<A>(warp.registers, instruction.a));
}

template <class D, class A, class B, class F>
inline void map(Warp& warp, const Instruction& instruction, u32 lanes, F f) {
    map_elements<D, 1>(warp, instruction, lanes, f, lanes_of<A>(warp.registers, instruction.a),
                       lanes_of<B>(warp.registers, instruction.b));
}

template <class D, class A, class B, class C, class F>
inline void map(Warp& warp, const Instruction& instruction, u32 lanes, F f) {
    map_elements<D, 1>(warp, instruction, lanes, f, lanes_of<A>(warp.registers, instruction.a),
                       lanes_of<B>(warp.registers, instruction.b), lanes_of<C>(warp.registers, instruction.c));
}

template <class T, class F>
inline void map_pairs(Warp& warp, const Instruction& instruction, u32 lanes, F f) {
    map_elements<T, 2>(warp, instruction, lanes, f, lanes_of<T>(warp.registers, instruction.a),
                       lanes_of<T>(warp.registers, instruction.b));
}

// Mask of the lanes for which f(lane) is true. Two steps, because compared types may differ in width from the mask.
template <class F>
inline u32 lanes_that(F f) {
    u32 held[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
        held[lane] = f(lane);
    }
    u32 mask = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        mask |= held[lane] ? LANE_BITS.bit[lane] : 0;
    }
    return mask;
}

template <class T>
constexpr T least(T a, T b) {
    return b < a ? b : a;
}

template <class T>
constexpr T most(T a, T b) {
    return a < b ? b : a;
}

template <class T>
constexpr T within(T value, T low, T high) {
    return value < low ? low : value > high ? high : value;
}

template <class T>
constexpr bool compares(Comparison how, T a, T b) {
    const bool unordered = (a != a) | (b != b);
    switch (how) {
        case Comparison::eq: return a == b;
        case Comparison::ne: return (a != b) & !unordered;
        case Comparison::lt: return a < b;
        case Comparison::le: return a <= b;
        case Comparison::gt: return a > b;
        case Comparison::ge: return a >= b;
        case Comparison::equ: return (a == b) | unordered;
        case Comparison::neu: return a != b;
        case Comparison::ltu: return !(a >= b);
        case Comparison::leu: return !(a > b);
        case Comparison::gtu: return !(a <= b);
        case Comparison::geu: return !(a < b);
        case Comparison::num: return !unordered;
        default: return unordered;
    }
}

}  // namespace simt
