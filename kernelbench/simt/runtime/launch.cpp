// A launch: workers take groups of blocks in turn; their counters are summed at the end.
#include <algorithm>
#include <mutex>
#include <new>
#include <thread>

#include "machine.hpp"

namespace simt {

namespace {

// Whether all targets are instructions, all guards are predicates, and the last instruction is an unguarded exit.
bool is_valid(const Launch& launch) {
    if (!launch.code_count || launch.code[launch.code_count - 1].kind != EXIT ||
        launch.code[launch.code_count - 1].guard != NONE) {
        return false;
    }
    for (u32 k = 0; k < launch.code_count; ++k) {
        const Instruction& instruction = launch.code[k];
        if (instruction.guard != NONE && instruction.guard >= launch.predicate_count) {
            return false;
        }
        const bool runs = instruction.kind == COMPUTE || instruction.kind == CONVERGE || instruction.kind == CHOOSE;
        if (runs && !instruction.run) {
            return false;
        }
        const bool jumps = instruction.kind == BRANCH || instruction.kind == CALL;
        if (jumps && instruction.target >= launch.code_count) {
            return false;
        }
        if (instruction.kind == TABLE_BRANCH &&
            (!instruction.c || u64(instruction.b) + instruction.c > launch.table_count)) {
            return false;
        }
    }
    return std::all_of(launch.table, launch.table + launch.table_count,
                       [&](u32 target) { return target < launch.code_count; });
}

struct Progress {
    std::atomic<u64> next{0};
    std::atomic<u64> last_block{~u64(0)};
    std::atomic<bool> stopped{false}, no_memory{false};
};

void work(Worker& worker, Progress& progress, u32 group, u64 share) {
    Launch& launch = *worker.launch;
    try {
        worker.counters.resize(launch.code_count);
        worker.hints.resize(launch.code_count);
        prepare_group(worker, group);
        while (!worker.stopped && !progress.stopped) {
            const u64 begin = progress.next.fetch_add(share);
            const u64 end = std::min(begin + share, launch.block_count);
            if (begin >= end) {
                break;
            }
            for (u64 k = begin; k < end && !worker.stopped; k += group) {
                if (launch.blocks[k] > progress.last_block.load()) {
                    worker.cut_short = true;
                    break;
                }
                run_group(worker, launch.blocks + k, group);
            }
        }
        if (worker.stopped) {
            progress.stopped = true;
        }
    } catch (const std::bad_alloc&) {
        progress.no_memory = true;
        progress.stopped = true;
    }
    release_group(worker);
}

void add_counters(Launch& launch, const Worker& worker) {
    constexpr size_t fields = sizeof(Counters) / sizeof(u64);
    const u64* from = reinterpret_cast<const u64*>(worker.counters.data());
    u64* into = reinterpret_cast<u64*>(launch.counters);
    for (size_t k = 0; k < worker.counters.size() * fields; ++k) {
        into[k] = k % fields < fields - JOINED_BY_MAXIMUM ? into[k] + from[k] : std::max(into[k], from[k]);
    }
    launch.executed += worker.executed;
    launch.blocks_run += worker.blocks_run;
    launch.unsound_blocks += worker.unsound_blocks;
    if (worker.cut_short) {
        launch.status = CUT_SHORT;
    }
}

// One record per kind and source, of the first block. Blocks after one that does not terminate are left out, because
// how far they ran is not deterministic.
void add_faults(Launch& launch, const std::vector<Worker>& workers, u64 last_block) {
    std::vector<FaultRecord> all;
    for (const Worker& worker : workers) {
        for (const FaultRecord& record : worker.faults) {
            auto same = std::find_if(all.begin(), all.end(), [&](const FaultRecord& other) {
                return other.kind == record.kind && other.source == record.source;
            });
            if (record.block > last_block) {
                continue;
            }
            if (same == all.end()) {
                all.push_back(record);
                continue;
            }
            const u64 count = same->count + record.count;
            if (record.block < same->block) {
                *same = record;
            }
            same->count = count;
        }
    }
    std::sort(all.begin(), all.end(), [](const FaultRecord& a, const FaultRecord& b) {
        return a.block != b.block     ? a.block < b.block
               : a.source != b.source ? a.source < b.source
                                      : a.kind < b.kind;
    });
    launch.fault_count = u32(std::min<size_t>(all.size(), launch.fault_capacity));
    std::copy_n(all.begin(), launch.fault_count, launch.faults);
}

void run(Launch& launch) {
    const u32 group = launch.group_blocks;
    if (!group || launch.block_count % group) {
        launch.status = INVALID;
        return;
    }
    const u64 groups = launch.block_count / group;
    u32 threads = launch.ordered ? 1 : std::max(1u, launch.threads);
    threads = u32(std::min<u64>(threads, std::max<u64>(1, groups / 2)));
    const u64 share = launch.ordered ? launch.block_count : std::clamp<u64>(groups / (threads * 16), 1, 4096) * group;
    Progress progress;
    std::vector<Worker> workers(threads);
    std::vector<std::thread> others;
    for (Worker& worker : workers) {
        worker.launch = &launch;
        worker.last_block = &progress.last_block;
    }
    for (u32 k = 1; k < threads; ++k) {
        others.emplace_back(work, std::ref(workers[k]), std::ref(progress), group, share);
    }
    work(workers[0], progress, group, share);
    for (std::thread& other : others) {
        other.join();
    }
    for (const Worker& worker : workers) {
        add_counters(launch, worker);
    }
    add_faults(launch, workers, progress.last_block.load());
    if (progress.no_memory) {
        launch.status = NO_MEMORY;
    } else if (progress.stopped) {
        launch.status = STOPPED;
    }
}

}  // namespace

}  // namespace simt

using namespace simt;

extern "C" void simt_launch(Launch* launch) {
    launch->status = FINISHED;
    launch->fault_count = 0;
    launch->executed = launch->printed_bytes = launch->blocks_run = launch->unsound_blocks = 0;
    if (!is_valid(*launch)) {
        launch->status = INVALID;
        return;
    }
    if (launch->block_count) {
        run(*launch);
    }
}
