// Last accesses to each byte of shared memory, to detect hazards in strict launches. Warps have vector clocks; a
// barrier joins the clocks of its participants, so named and partial barriers are as exact as full ones.
#pragma once

#include <vector>

#include "warp.hpp"

namespace simt {

enum class Purpose : u32 { read, write, update };  // update: atomic

class SharedShadow {
public:
    explicit SharedShadow(u32 bytes, u32 warps);

    void start_block();

    // Warps of `arrived` met at a barrier; those of `waited` go on knowing what all of them did before.
    void synchronise(u64 arrived, u64 waited);

    // A fence of `warp`: its atomics after it publish what it did before it, and what it learned from atomics
    // before it counts from here.
    void fence(u32 warp);

    // A barrier in shared memory at `offset`: who arrives tells, who has waited learns. `away`: it is another block's.
    // What comes back from there is taken to follow on all that was told.
    void release(u32 warp, u64 offset, bool away);
    void acquire(u32 warp, u64 offset);

    // Records the access of the lanes at `offsets`, `bytes` each, and reports hazards against earlier ones.
    void access(Warp& warp, const Instruction& instruction, u32 lanes, const u64* offsets, u32 bytes, Purpose purpose);

private:
    using Clock = u32;

    struct Touch {
        Clock clock;  // of the warp, then; at or below `base_`: an earlier block
        u8 warp, lane;
        u64 tick;
    };

    struct Byte {
        Touch write, read;
        bool atomic;     // the write was
        u32 readers;     // 0, or index + 1 in readers_: several warps read
        bool many_lanes;  // several lanes of read.warp read
    };

    Clock* clocks_of(u32 warp) { return &clocks_[size_t(warp) * warps_]; }
    bool ordered(const Touch& touch, u32 warp) { return touch.clock <= clocks_of(warp)[touch.warp]; }
    // Both say whether there was a hazard.
    bool report(Warp& warp, const Instruction& instruction, u32 lane, u64 offset, const Touch& touch);
    bool check(Warp& warp, const Instruction& instruction, u32 lane, u64 offset, const Byte& byte, Purpose purpose);
    void record(Warp& warp, u32 lane, u64 offset, Byte& byte, Purpose purpose);
    void add_reader(Byte& byte, const Touch& now);
    void exchange(u32 warp, u64 offset);
    Clock* exchanged_at(u64 offset);
    void join(Clock* into, const Clock* from);
    void tick(u32 warp);

    u32 warps_;
    Clock base_ = 0;  // the latest clock of the block before
    Clock latest_ = 0;
    std::vector<Byte> bytes_;
    std::vector<Clock> clocks_;     // a vector a warp
    std::vector<Clock> published_;  // a warp's clock at its last fence
    std::vector<Clock> told_;       // to other blocks
    std::vector<Clock> learned_;    // from atomics, until its next fence
    std::vector<Clock> readers_;    // vectors of clocks of reads
    std::vector<u32> exchanges_;    // a word of shared memory -> index + 1 in exchanged_
    std::vector<Clock> exchanged_;  // what atomics on a word published
};

}  // namespace simt
