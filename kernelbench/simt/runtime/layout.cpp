// The definitions shared with Python, as text, which kernelbench/simt/interface.py compares with its own.
// Lines: `Structure size`, `Structure.field offset size`, `CONSTANT value`, and `Enumeration = its list`.
#include <string>

#include "machine.hpp"

#define EXPAND_4(...) __VA_ARGS__
#define EXPAND_3(...) EXPAND_4(EXPAND_4(EXPAND_4(EXPAND_4(__VA_ARGS__))))
#define EXPAND_2(...) EXPAND_3(EXPAND_3(EXPAND_3(EXPAND_3(__VA_ARGS__))))
#define EXPAND(...) EXPAND_2(EXPAND_2(EXPAND_2(EXPAND_2(__VA_ARGS__))))
#define AGAIN() EACH
#define EACH(make, first, ...) make(first) __VA_OPT__(AGAIN PARENTHESES(make, __VA_ARGS__))
#define PARENTHESES ()
#define FOR_EACH(make, ...) EXPAND(EACH(make, __VA_ARGS__))

#define FIELD(name) \
    text += std::string(structure) + "." #name " " + std::to_string(offsetof(S, name)) + " " + \
            std::to_string(sizeof(S::name)) + "\n";
#define STRUCTURE(name, ...) {                                                     \
    using S = name;                                                                \
    const char* structure = #name;                                                 \
    text += std::string(structure) + " " + std::to_string(sizeof(S)) + "\n";       \
    FOR_EACH(FIELD, __VA_ARGS__)                                                   \
}
#define CONSTANT(name) text += #name " " + std::to_string(u64(name)) + "\n";
#define ENUMERATION(name) text += #name " = " + std::string(name##_TEXT) + "\n";

namespace simt {

namespace {

std::string layout() {
    std::string text;
    STRUCTURE(Instruction, run, d, a, b, c, e, f, x, immediate, guard, negated, kind, target, reconverge, source)
    STRUCTURE(Counters, warps, threads, requests, sectors, ideal_sectors, shared_requests, wavefronts,
              ideal_wavefronts, local_requests, local_sectors, divergences, most_ways, least_ways)
    STRUCTURE(Generator, kind, type, seed, first, second)
    STRUCTURE(Allocation, begin, end, read, written, states, chunks, defined, read_only, generator)
    STRUCTURE(FaultRecord, kind, source, warp, lane, block, address, count)
    STRUCTURE(Range, offset, bytes)
    STRUCTURE(SpecialSlot, special, offset)
    STRUCTURE(Launch, code, image, zeroed, specials, parameters, table, blocks, allocations, counters, faults, stop, printed, heap_units, heap, heap_bytes, printed_capacity,
              printed_bytes, block_count, budget, executed, blocks_run, unsound_blocks, code_count, register_bytes, predicate_count,
              zeroed_count, special_count, parameter_bytes, table_count, allocation_count, source_count,
              fault_capacity, shared_bytes, dynamic_shared_bytes, local_bytes, stack_bytes, granule_shift, reserved_offset, reserved_bytes,
              grid, block, cluster, group_blocks,               ordered, sampled, strict, threads, fault_count, status)
    FOR_EACH(CONSTANT, LANES, NONE, WINDOW_SHIFT, WINDOW_RANK_SHIFT, SHARED_WINDOW, LOCAL_WINDOW, PARAMETER_WINDOW,
             SECTOR_SHIFT, CHUNK, WAYS_ABOVE, BULK_UNIT, COUNT_BITS, TRANSACTION_BITS, COMPARISON_SHIFT)
    FOR_EACH(ENUMERATION, Kind, BarrierForm, ArriveForm, Special, Modifier, Direction, CarryUse, Comparison, Combine, Order,
             Type, ByteState, Sample, Status, GeneratorKind, GeneratorType, FaultKind)
    return text;
}

}  // namespace

}  // namespace simt

extern "C" const char* simt_layout() {
    static const std::string text = simt::layout();
    return text.c_str();
}
