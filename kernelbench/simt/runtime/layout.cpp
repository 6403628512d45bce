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

#define FIELD(name) field(text, structure, #name, offsetof(S, name), sizeof(S::name));
#define STRUCTURE(name, ...) {                                                     \
    using S = name;                                                                \
    const char* structure = #name;                                                 \
    number(text, structure, sizeof(S));                                            \
    FOR_EACH(FIELD, __VA_ARGS__)                                                   \
}
#define CONSTANT(name) number(text, #name, u64(name));
#define ENUMERATION(name) enumeration(text, #name, name##_TEXT);

namespace simt {

namespace {

// Functions of their own: as part of `layout`, their many copies would take g++ seconds.
[[gnu::noinline]] void field(std::string& text, const char* structure, const char* name, u64 offset, u64 size) {
    text += std::string(structure) + "." + name + " " + std::to_string(offset) + " " + std::to_string(size) + "\n";
}

[[gnu::noinline]] void number(std::string& text, const char* name, u64 value) {
    text += std::string(name) + " " + std::to_string(value) + "\n";
}

[[gnu::noinline]] void enumeration(std::string& text, const char* name, const char* members) {
    text += std::string(name) + " = " + members + "\n";
}

std::string layout() {
    std::string text;
    STRUCTURE(Instruction, run, d, a, b, c, e, f, x, immediate, guard, negated, kind, target, reconverge, source)
    STRUCTURE(Counters, warps, threads, requests, sectors, ideal_sectors, requested_bytes, shared_requests,
              wavefronts, ideal_wavefronts, local_requests, local_sectors, divergences, most_ways, least_ways)
    STRUCTURE(Generator, kind, type, seed, first, second)
    STRUCTURE(Allocation, begin, end, read, written, read_pages, written_pages, states, chunks, defined, read_only, generator)
    STRUCTURE(FaultRecord, kind, source, warp, lane, block, address, count)
    STRUCTURE(Range, offset, bytes)
    STRUCTURE(SpecialSlot, special, offset)
    STRUCTURE(Launch, code, image, zeroed, specials, parameters, table, blocks, allocations, counters, faults, stop, printed, heap_units, heap, heap_bytes, printed_capacity,
              printed_bytes, block_count, budget, executed, blocks_run, unsound_blocks, code_count, register_bytes, predicate_count,
              zeroed_count, special_count, parameter_bytes, table_count, allocation_count, source_count,
              fault_capacity, shared_bytes, dynamic_shared_bytes, local_bytes, stack_bytes, granule_shift, reserved_offset, reserved_bytes,
              grid, block, cluster, group_blocks,               ordered, sampled, strict, threads, fault_count, status)
    FOR_EACH(CONSTANT, LANES, NONE, WINDOW_SHIFT, WINDOW_RANK_SHIFT, SHARED_WINDOW, LOCAL_WINDOW, PARAMETER_WINDOW,
             SECTOR_SHIFT, PAGE_SHIFT, CHUNK, WAYS_ABOVE, BULK_UNIT, COUNT_BITS, TRANSACTION_BITS, COMPARISON_SHIFT)
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
