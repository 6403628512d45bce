// mov, also between a register and the pieces of it in x; cvta, isspacep, mapa and getctarank by the address windows.
#include "machine.hpp"

#include "lanes.hpp"

namespace simt {
namespace {

// d = the COUNT pieces in x[0], x[1], .., the first the lowest.
template <class Piece, int COUNT>
void join(Warp& warp, const Instruction& instruction, u32 lanes) {
    Result<Piece, COUNT> result(warp, instruction.d, lanes);
    Piece* d = result.data();
    for (int piece = 0; piece < COUNT; ++piece) {
        const Piece* from = lanes_of<Piece>(warp.registers, instruction.x[piece]);
        for (int lane = 0; lane < LANES; ++lane) {
            d[COUNT * lane + piece] = from[lane];
        }
    }
}

// The pieces of a; a piece that is not wanted has NONE in x.
template <class Piece, int COUNT>
void split(Warp& warp, const Instruction& instruction, u32 lanes) {
    const Piece* a = lanes_of<Piece>(warp.registers, instruction.a);
    for (int piece = 0; piece < COUNT; ++piece) {
        if (instruction.x[piece] != NONE) {
            Piece* to = lanes_of<Piece>(warp.registers, instruction.x[piece]);
            each_lane(lanes, [&](int lane) { to[lane] = a[COUNT * lane + piece]; });
        }
    }
}

struct TwoWords {
    u64 low, high;
};

constexpr bool in_window(u64 address, u64 window) {
    return address >> WINDOW_SHIFT == window >> WINDOW_SHIFT;
}

// A shared address, of the block itself (an offset) or with the rank of another (RANK_SHIFT), in the generic window.
constexpr u64 generic_shared(u64 address, u32 own_rank) {
    const u64 tag = (address & ALL) >> RANK_SHIFT;
    const u64 rank = tag ? tag - 1 : own_rank;
    return SHARED_WINDOW + (rank << WINDOW_RANK_SHIFT) + (address & RANK_OFFSET);
}

constexpr u64 rank_of(u64 generic) {
    return generic >> WINDOW_RANK_SHIFT & 0xffff;
}

// The other way: an offset if the memory is the block's own.
constexpr u64 shared_of_generic(u64 address, u32 own_rank) {
    const u64 offset = address & RANK_OFFSET, rank = rank_of(address);
    return rank == own_rank ? offset : (rank + 1) << RANK_SHIFT | offset;
}

void test_space(Warp& warp, const Instruction& instruction, u32 lanes, bool shared, bool local) {
    const u64* a = lanes_of<u64>(warp.registers, instruction.a);
    const u32 inside = lanes_that([&](int lane) {
        const bool in_shared = in_window(a[lane], SHARED_WINDOW), in_local = in_window(a[lane], LOCAL_WINDOW);
        return shared == in_shared && local == in_local;
    });
    set_predicate(warp, instruction.d, inside, lanes);
}

}  // namespace

UNARY(mov_b16, u16, u16, a)
UNARY(mov_b32, u32, u32, a)
UNARY(mov_b64, u64, u64, a)
UNARY(mov_b128, TwoWords, TwoWords, a)

#define PIECES(bits, count) \
    OPERATION(join_##bits##_##count) { join<u##bits, count>(warp, instruction, lanes); } \
    OPERATION(split_##bits##_##count) { split<u##bits, count>(warp, instruction, lanes); }
PIECES(16, 2)
PIECES(16, 4)
PIECES(32, 2)
PIECES(32, 4)
PIECES(64, 2)

// Shared addresses: b is the block's rank in its cluster.
BINARY(cvta_shared, u64, u64, u32, generic_shared(a, b))
BINARY(cvta_to_shared, u64, u64, u32, shared_of_generic(a, b))
UNARY(cvta_local, u64, u64, a + LOCAL_WINDOW)
UNARY(cvta_to_local, u64, u64, a - LOCAL_WINDOW)

OPERATION(isspacep_shared) { test_space(warp, instruction, lanes, true, false); }
OPERATION(isspacep_local) { test_space(warp, instruction, lanes, false, true); }
OPERATION(isspacep_global) { test_space(warp, instruction, lanes, false, false); }

// The same place in the shared memory of block b of the cluster; getctarank is the way back.
BINARY(mapa_b64, u64, u64, u32, SHARED_WINDOW + (static_cast<u64>(b) << WINDOW_RANK_SHIFT) + (a & RANK_OFFSET))
BINARY(mapa_shared_b32, u32, u32, u32, (b + 1) << RANK_SHIFT | (a & RANK_OFFSET))
UNARY(getctarank_b64, u32, u64, rank_of(a))
BINARY(getctarank_shared_b32, u32, u32, u32, a >> RANK_SHIFT ? (a >> RANK_SHIFT) - 1 : b)

}  // namespace simt
