// The blocks of a worker: their memory, how one starts, and how those of a gang (a cluster, or the whole grid of a
// cooperative launch) run together.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "machine.hpp"
#include "shadow.hpp"

namespace simt {

namespace {

constexpr u64 TURN = 1u << 16;      // instructions before another warp has a turn, so that spinning ends
constexpr u64 GANG_TURN = 1u << 10;
constexpr u64 PATIENCE = 1u << 8;    // rounds until a wait for an mbarrier gives up, as it may at any time
constexpr u64 QUIET = 1u << 12;      // rounds in which everybody polls or waits and nothing changes: a deadlock

u8* aligned_memory(size_t bytes) {
    void* memory = std::aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!memory) {
        throw std::bad_alloc();
    }
    return static_cast<u8*>(memory);
}

u32 threads_of(const Launch& launch) {
    return launch.block[0] * launch.block[1] * launch.block[2];
}

// Values of special registers that stay the same for a warp slot during the launch.
u32 constant_special(const Launch& launch, u32 special, u32 warp, u32 lane) {
    const u32 thread = warp * LANES + lane;
    const u32* block = launch.block;
    const u32 warps = (threads_of(launch) + LANES - 1) / LANES;
    switch (special) {
        case TID_X: return thread % block[0];
        case TID_Y: return thread / block[0] % block[1];
        case TID_Z: return thread / (block[0] * block[1]);
        case NTID_X: case NTID_Y: case NTID_Z: return block[special - NTID_X];
        case NCTAID_X: case NCTAID_Y: case NCTAID_Z: return launch.grid[special - NCTAID_X];
        case LANEID: return lane;
        case WARPID: return warp;
        case NWARPID: return warps;
        case NSMID: return 1;
        case LANEMASK_EQ: return 1u << lane;
        case LANEMASK_LE: return lane == 31 ? ALL : (2u << lane) - 1;
        case LANEMASK_LT: return (1u << lane) - 1;
        case LANEMASK_GE: return ~((1u << lane) - 1);
        case LANEMASK_GT: return lane == 31 ? 0 : ~((2u << lane) - 1);
        case DYNAMIC_SMEM_SIZE: return launch.dynamic_shared_bytes;
        case TOTAL_SMEM_SIZE: return launch.shared_bytes;
        case NCLUSTERID_X: case NCLUSTERID_Y: case NCLUSTERID_Z:
            return launch.grid[special - NCLUSTERID_X] / launch.cluster[special - NCLUSTERID_X];
        case CLUSTER_NCTAID_X: case CLUSTER_NCTAID_Y: case CLUSTER_NCTAID_Z:
            return launch.cluster[special - CLUSTER_NCTAID_X];
        case CLUSTER_NCTARANK: return launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
        default: return 0;  // smid, gridid: one multiprocessor, one grid
    }
}

bool changes_with_block(u32 special) {
    return (special >= CTAID_X && special <= CTAID_Z) || (special >= CLUSTERID_X && special <= CLUSTERID_Z) ||
           (special >= CLUSTER_CTAID_X && special <= CLUSTER_CTAID_Z) || special == CLUSTER_CTARANK;
}

u32 block_special(const Launch& launch, u32 special, const u32* ctaid) {
    const u32* cluster = launch.cluster;
    switch (special) {
        case CTAID_X: case CTAID_Y: case CTAID_Z: return ctaid[special - CTAID_X];
        case CLUSTERID_X: case CLUSTERID_Y: case CLUSTERID_Z:
            return ctaid[special - CLUSTERID_X] / cluster[special - CLUSTERID_X];
        case CLUSTER_CTAID_X: case CLUSTER_CTAID_Y: case CLUSTER_CTAID_Z:
            return ctaid[special - CLUSTER_CTAID_X] % cluster[special - CLUSTER_CTAID_X];
        default:  // rank in the cluster
            return ctaid[0] % cluster[0] +
                   cluster[0] * (ctaid[1] % cluster[1] + cluster[1] * (ctaid[2] % cluster[2]));
    }
}

void prepare_warp(Worker& worker, Block& block, u32 index) {
    const Launch& launch = *worker.launch;
    WarpState& state = block.warps[index];
    state.block = &block;
    state.worker = &worker;
    state.warp.index = index;
    state.warp.state = &state;
    state.warp.registers = aligned_memory(launch.register_bytes);
    state.warp.predicates = reinterpret_cast<u32*>(aligned_memory(size_t(launch.predicate_count) * sizeof(u32)));
    const size_t local_bytes = size_t(launch.local_bytes) * LANES;
    state.local = local_bytes ? aligned_memory(local_bytes) : nullptr;
    state.local_states = local_bytes && launch.strict ? aligned_memory(local_bytes) : nullptr;
    std::memcpy(state.warp.registers, launch.image, launch.register_bytes);
    for (u32 k = 0; k < launch.special_count; ++k) {
        const SpecialSlot& slot = launch.specials[k];
        u32* values = lanes_of<u32>(state.warp.registers, slot.offset);
        for (u32 lane = 0; lane < LANES; ++lane) {
            values[lane] = constant_special(launch, slot.special, index, lane);
        }
    }
}

void prepare_block(Worker& worker, Block& block) {
    const Launch& launch = *worker.launch;
    const u32 warps = (threads_of(launch) + LANES - 1) / LANES;
    block.worker = &worker;
    block.shared = aligned_memory(launch.shared_bytes);
    if (launch.strict) {
        block.shared_states = aligned_memory(launch.shared_bytes);
        block.shadow = new SharedShadow(launch.shared_bytes, warps);
    }
    block.warps.resize(warps);
    for (u32 index = 0; index < warps; ++index) {
        prepare_warp(worker, block, index);
    }
}

void start_warp(const Launch& launch, WarpState& state, const u32* ctaid) {
    Warp& warp = state.warp;
    const u32 threads = threads_of(launch) - warp.index * LANES;
    warp.live = warp.active = threads >= LANES ? ALL : (1u << threads) - 1;
    warp.carry = 0;
    std::memset(warp.predicates, 0, launch.predicate_count * sizeof(u32));
    for (u32 k = 0; k < launch.zeroed_count; ++k) {
        std::memset(warp.registers + launch.zeroed[k].offset, 0, launch.zeroed[k].bytes);
    }
    for (u32 k = 0; k < launch.special_count; ++k) {
        const SpecialSlot& slot = launch.specials[k];
        if (changes_with_block(slot.special)) {
            const u32 value = block_special(launch, slot.special, ctaid);
            u32* values = lanes_of<u32>(warp.registers, slot.offset);
            for (u32 lane = 0; lane < LANES; ++lane) {
                values[lane] = value;
            }
        }
    }
    if (state.local) {
        std::memset(state.local, POISON, size_t(launch.local_bytes) * LANES);
    }
    if (state.local_states) {
        std::memset(state.local_states, 0, size_t(launch.local_bytes) * LANES);
    }
    state.position = 0;
    state.reconverge = NONE;
    state.status = WarpStatus::ready;
    state.cluster_phase = 0;
    state.met = state.worker->executed;
    state.polled_position = NONE;
    state.stack.clear();
}

void start_block(Worker& worker, Block& block, u64 index, u32 place) {
    const Launch& launch = *worker.launch;
    const u32 ctaid[3] = {u32(index % launch.grid[0]), u32(index / launch.grid[0] % launch.grid[1]),
                          u32(index / (u64(launch.grid[0]) * launch.grid[1]))};
    block.index = index;
    block.rank = place % worker.cluster_blocks;
    block.leader = &block - block.rank;
    block.cluster_phase = 0;
    block.cluster_arrived = 0;
    block.running = u32(block.warps.size());
    block.unsound = false;
    block.budget = launch.budget;
    std::memset(block.barriers, 0, sizeof(block.barriers));
    block.mbarriers.clear();
    std::memset(block.shared, POISON, launch.shared_bytes);
    if (launch.strict) {
        std::memset(block.shared_states, 0, launch.shared_bytes);
        block.shadow->start_block();
    }
    for (WarpState& state : block.warps) {
        start_warp(launch, state, ctaid);
    }
}

// One turn of a warp; false when its block has used up its instructions.
bool take_turn(Worker& worker, Block& block, WarpState& state, u64 turn) {
    const u64 given = block.budget < turn ? block.budget : turn;
    state.left = given;
    state.idle = false;
    worker.running = &state;
    worker.executed += given;
    run_warp(state);
    worker.executed -= state.left;
    block.budget -= given - state.left;
    state.left = 0;
    return block.budget > 0;
}

bool waits_for_mbarrier(const WarpState& state) {
    return state.status == WarpStatus::waiting && state.barrier == MBARRIER;
}

void blame(WarpState& state, FaultKind kind) {
    const Launch& launch = *state.worker->launch;
    if (waits_for_mbarrier(state)) {
        const u32 lane = first_lane(state.waiting_lanes);
        fault(state.warp, *state.waiting_at, FaultKind::mbarrier_deadlock, lane, awaited_bits(state));
        return;
    }
    const u32 polled = kind == FaultKind::deadlock ? state.polled_position : NONE;
    const u32 position = std::min(polled == NONE ? state.position : polled, launch.code_count - 1);
    const Instruction& at = state.status == WarpStatus::waiting ? *state.waiting_at : launch.code[position];
    const u32 lanes = state.warp.active ? state.warp.active : 1;
    fault(state.warp, at, kind, first_lane(lanes));
}

void cut_short(Worker& worker, WarpState& state, FaultKind kind) {
    blame(state, kind);
    worker.cut_short = true;
    u64 seen = worker.last_block->load();
    while (state.block->index < seen && !worker.last_block->compare_exchange_weak(seen, state.block->index)) {
    }
}

// A turn for each warp that does not wait. `ran`: whether there was one; `busy`: whether one did more than to ask again.
// False where the gang ends before its time.
bool run_round(Worker& worker, u32 count, bool& ran, bool& busy) {
    const u64 turn = count > 1 ? GANG_TURN : TURN;
    for (u32 place = 0; place < count; ++place) {
        Block& block = worker.gang[place];
        for (WarpState& state : block.warps) {
            if (state.status != WarpStatus::ready) {
                continue;
            }
            ran = true;
            if (!take_turn(worker, block, state, turn)) {
                cut_short(worker, state, FaultKind::endless);
                return false;
            }
            busy |= !state.idle;
        }
        if (*static_cast<const volatile u32*>(worker.launch->stop)) {
            worker.stopped = true;
            return false;
        }
    }
    return true;
}

// Whether anybody waited for an mbarrier.
bool end_waits(Worker& worker, u32 count) {
    bool any = false;
    for (u32 place = 0; place < count; ++place) {
        for (WarpState& state : worker.gang[place].warps) {
            if (waits_for_mbarrier(state)) {
                give_up_waiting(state);
                any = true;
            }
        }
    }
    return any;
}

// Of the warps that are not done, one that tells why: who waits at a barrier of the block waits for the others.
WarpState* stuck(Worker& worker, u32 count) {
    WarpState* found = nullptr;
    for (u32 place = 0; place < count; ++place) {
        for (WarpState& state : worker.gang[place].warps) {
            if (waits_for_mbarrier(state)) {
                return &state;
            }
            const bool polls = state.status == WarpStatus::ready;
            if (polls ? !found || found->status != WarpStatus::ready : !found && state.status != WarpStatus::done) {
                found = &state;
            }
        }
    }
    return found;
}

}  // namespace

void prepare_gang(Worker& worker, u32 blocks) {
    const u32* cluster = worker.launch->cluster;
    worker.cluster_blocks = cluster[0] * cluster[1] * cluster[2];
    worker.gang.resize(blocks);
    for (Block& block : worker.gang) {
        prepare_block(worker, block);
    }
}

void release_gang(Worker& worker) {
    for (Block& block : worker.gang) {
        for (WarpState& state : block.warps) {
            std::free(state.warp.registers);
            std::free(state.warp.predicates);
            std::free(state.local);
            std::free(state.local_states);
        }
        std::free(block.shared);
        std::free(block.shared_states);
        delete block.shadow;
    }
    worker.gang.clear();
}

void run_gang(Worker& worker, const u64* blocks, u32 count) {
    for (u32 place = 0; place < count; ++place) {
        start_block(worker, worker.gang[place], blocks[place], place);
    }
    for (u64 round = 1, quiet = 0; quiet < QUIET; ++round) {
        const u64 before = worker.changes;
        bool ran = false, busy = false;
        if (!run_round(worker, count, ran, busy)) {
            return;
        }
        quiet = busy || worker.changes != before ? 0 : quiet + 1;
        if (quiet < QUIET && (!ran || round % PATIENCE == 0) && !end_waits(worker, count) && !ran) {
            break;
        }
    }
    if (WarpState* state = stuck(worker, count)) {
        cut_short(worker, *state, FaultKind::deadlock);
        return;
    }
    worker.blocks_run += count;
    for (u32 place = 0; place < count; ++place) {
        worker.unsound_blocks += worker.gang[place].unsound;
    }
}

}  // namespace simt
