// State of a launch: the structures that Python fills, and the workers (threads), blocks and warps that run it.
#pragma once

#include <atomic>
#include <cstring>
#include <vector>

#include "warp.hpp"

namespace simt {

// ---- Address space --------------------------------------------------------------------------------

constexpr u32 RANK_SHIFT = 24;  // a 32-bit shared address of another block: (rank + 1) << 24 | offset
constexpr u32 RANK_OFFSET = (1u << RANK_SHIFT) - 1;
constexpr u8 POISON = 0xff;   // unwritten memory and failed reads: NaN as a float, -1 as an integer

// ---- Mirrored in kernelbench/simt/interface.py ----------------------------------------------------

struct Counters {  // of one lowered instruction
    u64 warps, threads;
    u64 requests, sectors, ideal_sectors, requested_bytes;  // global
    u64 shared_requests, wavefronts, ideal_wavefronts;      // shared
    u64 local_requests, local_sectors;
    u64 divergences;
    // Ways of bank conflicts: the largest ratio of passes to the fewest possible, and WAYS_ABOVE minus the smallest
    // ratio, so that the maximum joins either.
    u64 most_ways, least_ways;
};
constexpr size_t JOINED_BY_MAXIMUM = 2;  // number of fields at the end; the others are summed

// How an input generates its elements when they are touched first.
struct Generator {
    u32 kind;   // GeneratorKind
    u32 type;   // GeneratorType
    u64 seed;
    f64 first;  // normal: mean; uniform: low; mask: probability of 1
    f64 second;  // normal: deviation; uniform: high
};

struct Allocation {
    u64 begin, end;     // host addresses; begin is a multiple of 256
    u8* read;           // one byte per 32-byte sector, 1: read in this launch
    u8* written;        // the same for writes
    u8* read_pages;     // one byte per page of `read`, 1: it may have marks
    u8* written_pages;
    u8* states;         // one ByteState per byte; null unless bytes are tracked
    u8* chunks;         // one byte per chunk, 2: generated; null without a generator
    u32 defined;        // 1: the host initialised it
    u32 read_only;      // 1: a write is a fault
    Generator generator;
};

struct FaultRecord {
    u32 kind, source;
    u32 warp, lane;
    u64 block, address, count;
};

struct Range {
    u32 offset, bytes;
};

struct SpecialSlot {
    u32 special;  // Special
    u32 offset;   // in the register file, 32 lanes of 4 bytes
};

struct Launch {
    const Instruction* code;
    const u8* image;  // register file with constants
    const Range* zeroed;
    const SpecialSlot* specials;
    const u8* parameters;
    const u32* table;     // targets of TABLE_BRANCH
    const u64* blocks;    // linear indices of the blocks to run, ascending
    Allocation* allocations;  // ascending
    Counters* counters;   // one per instruction of `code`
    FaultRecord* faults;
    const u32* stop;      // not 0: end now
    u8* printed;          // by printf
    u8* heap_units;       // of malloc: a byte per 16 bytes of the heap
    u64 heap, heap_bytes;  // address and size
    u64 printed_capacity, printed_bytes;  // the second is a result
    u64 block_count, budget;  // warp instructions that a block may execute
    u64 executed, blocks_run, unsound_blocks;  // results
    u32 code_count, register_bytes, predicate_count, zeroed_count, special_count, parameter_bytes, table_count;
    u32 allocation_count, source_count, fault_capacity;
    u32 shared_bytes, dynamic_shared_bytes, local_bytes;
    u32 stack_bytes;    // of a GPU's stack that the calls of a thread may take
    u32 granule_shift;  // log2 of the bytes of the smallest access to shared memory
    u32 reserved_offset, reserved_bytes;  // the system's part of shared memory, which counts as initialised
    u32 grid[3], block[3], cluster[3];
    u32 group_blocks;  // that run together, whole clusters of them
    u32 ordered, sampled, strict, threads;  // sampled: Sample
    u32 fault_count, status;  // results
};

// ---- While it runs --------------------------------------------------------------------------------

struct Block;
struct Worker;
class SharedShadow;

struct Path {  // lanes that continue at `position` and run until `reconverge`
    u32 position, reconverge, lanes;
};

// A call that runs.
struct Frame {
    const Instruction* call;
    u32 lanes;
    u32 carry;
    size_t depth;      // of the stack of paths before the call
    u32 used;          // bytes of a GPU's stack
    std::vector<u8> registers;    // those of the caller that are needed after the call
    std::vector<u32> predicates;
};

enum class WarpStatus : u32 { ready, waiting, done };

// Lanes of a warp that proceed independently of its others. A warp is one split until lanes of it spin.
struct Split {
    u32 position;
    u32 reconverge;  // reconvergence point of the running path, or NONE
    u32 lanes;       // its own
    u32 active;      // those on the running path, while another split runs
    u32 blocked;     // those that wait at `position` for lanes of other splits, or 0
    u64 stuck_at;    // Worker::changes when it was found to spin, or NEVER
    u32 loops, next_check;  // backward branches since the last change, and until the next check
    u64 seen_changes, seen_state;  // at the last check
    std::vector<Path> stack;
    std::vector<Frame> frames;
};
constexpr u64 NEVER = ~u64(0);

struct WarpState : Split {  // the split that runs
    Warp warp;
    Block* block;
    Worker* worker;
    WarpStatus status;
    u32 barrier;                      // that it waits for: a number, CLUSTER_BARRIER or MBARRIER
    const Instruction* waiting_at;    // the barrier instruction
    u32 waiting_lanes;
    u64 cluster_phase;  // of the cluster's barrier, at its last arrival
    u64 left;        // instructions until the next warp runs
    bool idle;       // its last turn only polled
    u32 polled_position;  // instruction and address of its last poll
    u64 polled_address;
    u8* local;         // 32 lanes x local_bytes
    u8* local_states;  // strict: one byte per byte, 1: written
    std::vector<Split> others;  // splits that do not run
};

constexpr u32 BARRIERS = 16;
constexpr u32 CLUSTER_BARRIER = BARRIERS;
constexpr u32 MBARRIER = BARRIERS + 1;  // any mbarrier: its address is an operand of the instruction

struct Barrier {
    u32 arrived;        // warps
    u32 expected;       // warps, or 0: all running warps
    u32 count;          // lanes whose predicate is true
    u32 lanes;          // lanes that arrived
    u64 participants;   // one bit per warp
};

// An mbarrier. Its 8 bytes of shared memory, which are opaque to kernels, hold `bits`, so that overwriting them is
// detected.
struct Mbarrier {
    u32 offset;
    u32 phase;         // completed phases
    u32 expected;      // arrivals per phase
    u32 pending;       // arrivals that the current phase still needs
    s32 transactions;  // bytes that the current phase still needs

    u64 bits() const;
};

struct Block {
    Worker* worker;
    u64 index;  // linear, in the grid
    u32 rank;   // in its cluster
    u32 running;  // warps that have not exited
    Block* leader;        // first block of its cluster, which holds the cluster's barrier:
    u64 cluster_phase;    // completed phases
    u32 cluster_arrived;  // warps
    bool unsound;
    u64 budget;
    u8* shared;
    SharedShadow* shadow;  // strict
    Barrier barriers[BARRIERS];
    std::vector<Mbarrier> mbarriers;
    std::vector<WarpState> warps;
};

struct alignas(128) Worker {
    Launch* launch;
    std::vector<Counters> counters;
    std::vector<Allocation*> hints;  // last allocation of each instruction
    std::vector<FaultRecord> faults;
    std::vector<u32> fault_slots;    // source x kind -> index in faults + 1
    std::vector<Block> group;
    u32 cluster_blocks;              // blocks per cluster, which are adjacent in `group`
    WarpState* running;              // the warp that runs, or ran last
    u64 executed;                    // warp instructions, including the whole turn of the running warp
    u64 blocks_run, unsound_blocks;
    u64 changes;  // arrivals, exits of warps, writes to memory: events that a waiting warp may wait for
    u64 long_since_ns;  // CPU time at which a block of the group was found long; 0: none was
    bool stopped, cut_short;
    std::atomic<u64>* last_block;    // later blocks need not run, because this one does not terminate
};

// One lane's local memory.
inline u8* local_at(const Warp& warp, u32 lane, u64 offset) {
    return warp.state->local + u64(lane) * warp.state->worker->launch->local_bytes + offset;
}

template <class T>
T read_local(const Warp& warp, u32 lane, u64 offset) {
    return value_at<T>(local_at(warp, lane, offset));
}

template <class T>
void write_local(Warp& warp, u32 lane, u64 offset, const T& value) {
    u8* const to = local_at(warp, lane, offset);
    std::memcpy(to, &value, sizeof(T));
    if (u8* states = warp.state->local_states) {
        std::memset(states + (to - warp.state->local), 1, sizeof(T));
    }
}

// interpreter.cpp: runs the warp until it waits, exits, or has used `left`.
void run_warp(WarpState& state);
void exit_lanes(WarpState& state, u32 lanes);

// splits.cpp: independent progress of the lanes of a warp.
void start_splits(WarpState& state);
bool pick_split(WarpState& state);  // at the start of a turn; false: none can run
bool next_split(WarpState& state);  // after the running one; false: none can run
bool must_wait(const WarpState& state, const Instruction& instruction, u32 lanes);  // for lanes of other splits
void block_split(WarpState& state, u32 lanes);
bool spins(WarpState& state);       // whether its state is as before, so that it cannot proceed alone
bool part(WarpState& state);        // the running path becomes a split, which is stuck; false: none can run

// calls.cpp: calls a routine with `lanes`; ends the call of the active lanes.
void call(WarpState& state, const Instruction& instruction, u32 lanes);
void return_to_caller(WarpState& state);

// barriers.cpp
void arrive(WarpState& state, const Instruction& instruction, u32 lanes);
void warp_done(WarpState& state);
void wait_at(WarpState& state, const Instruction& instruction, u32 lanes, u32 barrier);
void resume(WarpState& state);

// mbarriers.cpp
void wait_for_mbarrier(WarpState& state, const Instruction& instruction, u32 lanes);
void give_up_waiting(WarpState& state);  // for an mbarrier: the wait ends as by its time limit
u64 awaited_bits(WarpState& state);      // of the mbarrier that it waits for

// group.cpp: allocates and frees a worker's blocks; starts block `index` of the grid at `place` of the group.
void prepare_group(Worker& worker, u32 blocks);
void release_group(Worker& worker);
void start_block(Worker& worker, Block& block, u64 index, u32 place);

// rounds.cpp: runs the blocks of a group concurrently.
void run_group(Worker& worker, const u64* blocks, u32 count);

}  // namespace simt
