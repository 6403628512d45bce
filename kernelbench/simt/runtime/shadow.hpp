// Last accesses to each granule of shared memory, to detect hazards and uninitialised reads in strict launches.
//
// Warps have vector clocks; a barrier joins the clocks of its participants, so named and partial barriers are as exact
// as full ones. A warp's entry for itself counts up to the last synchronisation of its lanes. A granule has as many
// bytes as the kernel's smallest access to shared memory, so every access consists of whole granules.
#pragma once

#include <vector>

#include "warp.hpp"

namespace simt {

enum class Purpose : u32 { read, write, update };  // update: atomic

class SharedShadow {
public:
    SharedShadow(u32 bytes, u32 warps, u32 granule_shift);

    void start_block();

    // Lanes of `warp` synchronised.
    void meet(u32 warp);

    // Warps of `arrived` met at a barrier; those of `waited` continue and know what all of them did before.
    void synchronise(u64 arrived, u64 waited);

    // A fence of `warp`: its strong accesses after it publish what it did before, and what it learned from strong
    // accesses before it counts from here on.
    void fence(u32 warp);

    // An mbarrier at `offset`: arrivals release, completed waits acquire. `away`: the mbarrier is another block's,
    // whose answers are assumed to follow on all that was told.
    void release(u32 warp, u64 offset, bool away);
    void acquire(u32 warp, u64 offset);

    // Records the access of the lanes at `offsets`, `bytes` each, and reports what is wrong with it. `memory`: the
    // shared memory; `values`: what a write stores, lane by lane, or null.
    void access(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes, Purpose purpose,
                const u8* memory, const u8* values);

    // The same for warps of other blocks, whose accesses no clock orders: reports only uninitialised reads.
    void access_from_away(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes,
                          Purpose purpose);

private:
    using Clock = u32;
    static constexpr u32 WARP_BITS = 5;  // an epoch is clock << WARP_BITS | warp
    static constexpr Clock LAST = (1u << (32 - WARP_BITS)) - 1;
    static constexpr u8 SEVERAL = LANES;  // lanes

    struct Cell {
        u32 write, read;  // epochs; clocks up to `base_` belong to earlier blocks
        u32 readers;      // index + 1 of a vector in readers_
        u8 write_lane, read_lane;
        u8 orders;        // Order of the write, and in the upper half the weakest Order of the reads
        bool several;     // several warps read: `readers` counts

        u32 write_order() const { return orders & 15; }
        u32 read_order() const { return orders >> 4; }
    };

    // One lane's access to one cell.
    struct Touch {
        Warp& warp;
        const Instruction& instruction;
        Purpose purpose;
        u32 lane;
        u64 offset;
        u32 order;
        bool same_value;
    };

    Clock* known_by(u32 warp) { return &known_[size_t(warp) * warps_]; }
    bool late(u32 epoch, const Clock* known) const { return epoch >> WARP_BITS > known[epoch & (LANES - 1)]; }
    bool conflicts(const Touch& touch, u32 epoch, u32 lane) const;
    bool judge(const Touch& touch, const Cell& cell);
    bool report(const Touch& touch, u32 other_warp, u32 other_order, bool write);
    void inspect(Touch touch, u32 bytes, const u8* memory, const u8* values);
    u32 suspects(u32 warp, u32 lanes, const u64* offsets, u32 cells, Purpose purpose);
    void record_read(Cell& cell, u32 warp, u32 lane, u32 order);
    void exchange(u32 warp, u64 offset, Purpose purpose, u32 order);
    Clock* exchanged_at(u64 offset);
    void join(Clock* into, const Clock* from);
    void tick(u32 warp);

    u32 warps_, shift_;
    Clock base_ = 0;  // the latest clock of the block before
    Clock latest_ = 0;
    u64 tick_ = 0;    // of the last access, whose instruction may serve its lanes one after the other
    u32 peers_ = 0;   // lanes that this instruction has served
    bool fenced_ = false;  // some warp of this block published something
    std::vector<Cell> cells_;
    std::vector<Clock> now_;        // of each warp
    std::vector<Clock> known_;      // per warp, a vector
    std::vector<Clock> published_;  // per warp, at its last fence
    std::vector<Clock> told_;       // to other blocks
    std::vector<Clock> learned_;    // per warp, from strong accesses until its next fence
    std::vector<Clock> readers_;    // vectors of clocks of reads
    std::vector<u32> exchanges_;    // per word of shared memory, index + 1 in exchanged_
    std::vector<Clock> exchanged_;  // vectors published by strong accesses to a word
};

}  // namespace simt
