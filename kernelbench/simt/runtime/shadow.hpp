// Last accesses to each granule of shared memory, to detect hazards and uninitialised reads in strict launches.
//
// Warps have vector clocks; a barrier joins the clocks of its participants, so named and partial barriers are as exact
// as full ones. A warp's entry for itself counts up to the last synchronisation of its lanes. A granule has as many
// bytes as the kernel's smallest access to shared memory, so every access consists of whole granules.
#pragma once

#include <memory>
#include <vector>

#include "warp.hpp"

namespace simt {

enum class Purpose : u32 { read, write, update };  // update: atomic

// Writes what a store stores into memory of 64 bytes per lane, without gaps.
using Gather = void (*)(const Warp& warp, const Instruction& instruction, u8* into);

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

    // Bytes that count as initialised from the start of the block on.
    void define(u32 begin, u32 bytes);

    // An mbarrier at `offset`: arrivals release, completed waits acquire. `away`: the mbarrier is another block's,
    // whose answers are assumed to follow on all that was told.
    void release(u32 warp, u64 offset, bool away);
    void acquire(u32 warp, u64 offset);

    // Records the access of the lanes at `offsets`, `bytes` each, and reports what is wrong with it. `memory`: the
    // shared memory; `gather`: of a store, or null.
    void access(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes, Purpose purpose,
                const u8* memory, Gather gather);

    // The same for warps of other blocks, whose accesses no clock orders: reports only uninitialised reads.
    void access_from_away(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes,
                          Purpose purpose);

private:
    using Clock = u32;
    static constexpr u32 WARP_BITS = 5;  // an epoch is clock << WARP_BITS | warp
    static constexpr Clock LAST = (1u << (32 - WARP_BITS)) - 1;

    // Beside the epochs of its last write and read, a cell has these bits: lanes and orders of both, and whether
    // several warps read, so that `readers_` counts. Of unordered reads it keeps those of the weakest order: they make
    // errors, others notes.
    static constexpr u32 SEVERAL_LANES = LANES;
    static constexpr u32 READ_LANE = 8, READ_ORDER = 16, WRITE_ORDER = 20;  // shifts; the write's lane is at 0
    static constexpr u32 SEVERAL_WARPS = 1u << 24;
    static constexpr u32 AFTER_PLAIN = 1u << 25;  // an update after a plain write of its warp, of which no other warp knows
    static constexpr u32 OF_READ = SEVERAL_WARPS | 0xfu << READ_ORDER | 0xffu << READ_LANE;
    static u32 write_lane(u32 bits) { return bits & 0xff; }
    static u32 read_lane(u32 bits) { return bits >> READ_LANE & 0xff; }
    static u32 read_order(u32 bits) { return bits >> READ_ORDER & 0xf; }
    static u32 write_order(u32 bits) { return bits >> WRITE_ORDER & 0xf; }
    static u32 clock_of(u32 epoch) { return epoch >> WARP_BITS; }
    u32 write_order_for(u32 warp, u32 write, u32 bits) const {
        return bits & AFTER_PLAIN && warp_of(write) != warp ? u32(PLAIN) : write_order(bits);
    }
    static u32 warp_of(u32 epoch) { return epoch & (LANES - 1); }

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

    // Cells of a full warp that lie side by side, 1 << shift per lane, or the cells of all lanes if these are the same.
    struct Row {
        u64 begin;
        u32 count, shift;
        bool uniform;
        u32 lane(u32 cell) const { return uniform ? SEVERAL_LANES : cell >> shift; }
    };

    Clock* known_by(u32 warp) { return &known_[size_t(warp) * warps_]; }
    Clock* readers_of(u32 warp) { return readers_.get() + size_t(warp) * write_.size(); }
    bool late(u32 epoch, u32 warp) const {
        return clock_of(epoch) > safe_[warp] && clock_of(epoch) > known_[size_t(warp) * warps_ + warp_of(epoch)];
    }
    bool hides_plain_write(u32 cell_write, u32 bits, u32 warp);
    bool conflicts(const Touch& touch, u32 epoch, u32 lane) const;
    bool judge(const Touch& touch, u64 cell);
    bool report(const Touch& touch, u32 other_warp, u32 other_order, bool write);
    void inspect(Touch touch, u32 bytes, const u8* memory, const u8* values);
    u32 suspects(u32 warp, u32 lanes, const u64* offsets, u32 cells, Purpose purpose, u32 order);
    void record_reads(u32 warp, u32 lanes, const u64* offsets, u32 cells, u32 order);
    void record_read(u64 cell, u32 warp, u32 lane, u32 order);
    bool find_row(u32 lanes, const u64* offsets, u32 cells, Row& row) const;
    bool access_row(const Row& row, u32 warp, Purpose purpose, u32 order);
    bool read_row(const Row& row, u32 warp, u32 order);
    void exchange(u32 warp, u64 offset, Purpose purpose, u32 order);
    Clock* exchanged_at(u64 offset);
    void join(Clock* into, const Clock* from);
    void tick(u32 warp);
    void refresh(u32 warp);

    u32 warps_, shift_;
    Clock base_ = 0;  // the latest clock of the block before
    Clock latest_ = 0;
    u64 tick_ = 0;    // of the last access, whose instruction may serve its lanes one after the other
    const Instruction* last_ = nullptr;  // that instruction
    u32 peers_ = 0;   // lanes that this instruction has served
    bool fenced_ = false;  // some warp of this block published something
    std::vector<u32> write_, read_, bits_;  // per cell
    std::unique_ptr<Clock[], void (*)(void*)> readers_;  // per warp, the clock of its last read of each cell
    std::vector<Clock> now_;        // of each warp
    std::vector<Clock> known_;      // per warp, a vector
    std::vector<Clock> safe_;       // per warp, the least clock that it knows of any
    std::vector<Clock> published_;  // per warp, at its last fence
    std::vector<Clock> told_;       // to other blocks
    std::vector<Clock> learned_;    // per warp, from strong accesses until its next fence
    std::vector<u32> exchanges_;    // per word of shared memory, index + 1 in exchanged_
    std::vector<Clock> exchanged_;  // vectors published by strong accesses to a word
};

}  // namespace simt
