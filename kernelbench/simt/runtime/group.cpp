// The blocks of a worker: allocates their memory and starts them.
#include <cstdlib>
#include <cstring>
#include <new>

#include "machine.hpp"
#include "shadow.hpp"

namespace simt {

namespace {

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

// Special registers that do not change with the block.
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
        case WARPID: return warp;
        case NWARPID: return warps;
        case DYNAMIC_SMEM_SIZE: return launch.dynamic_shared_bytes;
        case TOTAL_SMEM_SIZE: return launch.shared_bytes;
        case NCLUSTERID_X: case NCLUSTERID_Y: case NCLUSTERID_Z:
            return launch.grid[special - NCLUSTERID_X] / launch.cluster[special - NCLUSTERID_X];
        case CLUSTER_NCTAID_X: case CLUSTER_NCTAID_Y: case CLUSTER_NCTAID_Z:
            return launch.cluster[special - CLUSTER_NCTAID_X];
        case CLUSTER_NCTARANK: return launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
        default: return 0;  // changes with the block: see block_special
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
        block.shadow = new SharedShadow(launch.shared_bytes, warps, launch.granule_shift);
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
    state.status = WarpStatus::ready;
    state.cluster_phase = 0;
    state.polled_position = NONE;
    start_splits(state);
}

}  // namespace

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
        block.shadow->start_block();
        block.shadow->define(launch.reserved_offset, launch.reserved_bytes);
    }
    for (WarpState& state : block.warps) {
        start_warp(launch, state, ctaid);
    }
}

void prepare_group(Worker& worker, u32 blocks) {
    const u32* cluster = worker.launch->cluster;
    worker.cluster_blocks = cluster[0] * cluster[1] * cluster[2];
    worker.group.resize(blocks);
    for (Block& block : worker.group) {
        prepare_block(worker, block);
    }
}

void release_group(Worker& worker) {
    for (Block& block : worker.group) {
        for (WarpState& state : block.warps) {
            std::free(state.warp.registers);
            std::free(state.warp.predicates);
            std::free(state.local);
            std::free(state.local_states);
        }
        std::free(block.shared);
        delete block.shadow;
    }
    worker.group.clear();
}

}  // namespace simt
