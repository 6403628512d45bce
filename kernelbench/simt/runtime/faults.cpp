// Faults of one worker: one record per kind and PTX instruction, of the first block with the fault.
#include "machine.hpp"
#include "shadow.hpp"

namespace simt {

void fault(Warp& warp, const Instruction& instruction, FaultKind kind, u32 lane, u64 address) {
    WarpState& state = *warp.state;
    Worker& worker = *state.worker;
    const u32 kinds = u32(FaultKind::count_of_kinds);
    if (worker.fault_slots.empty()) {
        worker.fault_slots.resize(size_t(worker.launch->source_count + 1) * kinds);
    }
    const u32 source = instruction.source < worker.launch->source_count ? instruction.source
                                                                         : worker.launch->source_count;
    u32& slot = worker.fault_slots[size_t(source) * kinds + u32(kind)];
    const u64 block = state.block->index;
    if (!slot) {
        worker.faults.push_back({u32(kind), source, warp.index, lane, block, address, 0});
        slot = u32(worker.faults.size());
    }
    FaultRecord& record = worker.faults[slot - 1];
    if (block < record.block) {
        record = {u32(kind), source, warp.index, lane, block, address, record.count};
    }
    ++record.count;
}

void meet(Warp& warp, u32) {
    if (warp.state->block->shadow) {
        warp.state->block->shadow->meet(warp.index);
    }
}

// From the running warp, which may be another one that released `warp` from a barrier.
u64 ticks(const Warp& warp) {
    const Worker& worker = *warp.state->worker;
    return worker.executed - worker.running->left;
}

bool strict(const Warp& warp) {
    return warp.state->worker->launch->strict;
}

}  // namespace simt
