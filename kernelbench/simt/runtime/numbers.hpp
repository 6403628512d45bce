// Constants and enumerations shared with kernelbench/simt/interface.py. SIMT_ENUM keeps each list also as text, for
// the comparison in layout.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using u128 = unsigned __int128;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f16 = _Float16;
using f32 = float;
using f64 = double;

#define SIMT_ENUM(keyword, name, type, ...) \
    keyword name : type { __VA_ARGS__ };    \
    constexpr const char* name##_TEXT = #__VA_ARGS__;

// ---- Constants ------------------------------------------------------------------------------------

constexpr int LANES = 32;
constexpr u32 ALL = 0xffffffffu;   // every lane
constexpr u32 NONE = 0xffffffffu;  // no operand or target

constexpr u32 WINDOW_SHIFT = 56;       // position of the window in an address
constexpr u32 WINDOW_RANK_SHIFT = 32;  // position of the block's rank in an address of the shared window
constexpr u64 SHARED_WINDOW = 0x5000000000000000ull;  // + (rank << WINDOW_RANK_SHIFT) + offset
constexpr u64 LOCAL_WINDOW = 0x6000000000000000ull;
constexpr u64 PARAMETER_WINDOW = 0x7000000000000000ull;  // only in faults: parameters have no generic address
constexpr u32 SECTOR_SHIFT = 5;
constexpr u32 PAGE_SHIFT = 12;  // log2 of the sectors of a page of marks
constexpr u64 CHUNK = 65536;    // bytes of an input that are generated together
constexpr u64 WAYS_ABOVE = 64;  // Counters.least_ways is WAYS_ABOVE minus the least ways of a conflict
constexpr u32 BULK_UNIT = 16;   // bytes; addresses and sizes of bulk copies are multiples of it
constexpr u32 COUNT_BITS = 20, TRANSACTION_BITS = 21;  // widths of the fields of an mbarrier: counts, pending bytes
constexpr u32 COMPARISON_SHIFT = 16;  // position of the comparison above the modifiers

// ---- Of instructions ------------------------------------------------------------------------------

// YIELD: a poll or a sleep, which ends the warp's turn after its operation, if it has one. CONVERGE: an operation with
// a mask of lanes, in `e`, that execute it together. CHOOSE: an operation after which loads before it are checked, see
// check_loads.
SIMT_ENUM(enum, Kind, u32, COMPUTE, BRANCH, TABLE_BRANCH, EXIT, BARRIER, NOTHING, TRAP, YIELD, CONVERGE,
    CALL, RETURN, CHOOSE)

SIMT_ENUM(enum, BarrierForm, u32,
    SYNC, ARRIVE, REDUCE_COUNT, REDUCE_AND, REDUCE_OR, CLUSTER_ARRIVE, CLUSTER_WAIT, MBARRIER_WAIT)

SIMT_ENUM(enum, ArriveForm, u32,
    ARRIVAL,
    DROP,        // later phases do not expect these arrivals
    NO_COMPLETE  // must not complete a phase
)

// Special registers that differ between warps or launches; lowering makes constants of the others.
SIMT_ENUM(enum, Special, u32,
    TID_X, TID_Y, TID_Z, NTID_X, NTID_Y, NTID_Z, CTAID_X, CTAID_Y, CTAID_Z, NCTAID_X, NCTAID_Y, NCTAID_Z,
    CLUSTERID_X, CLUSTERID_Y, CLUSTERID_Z, NCLUSTERID_X, NCLUSTERID_Y, NCLUSTERID_Z,
    CLUSTER_CTAID_X, CLUSTER_CTAID_Y, CLUSTER_CTAID_Z, CLUSTER_NCTAID_X, CLUSTER_NCTAID_Y, CLUSTER_NCTAID_Z,
    WARPID, NWARPID, CLUSTER_CTARANK, CLUSTER_NCTARANK, DYNAMIC_SMEM_SIZE, TOTAL_SMEM_SIZE)

SIMT_ENUM(enum, Modifier, u32,
    ROUND_MASK = 3,  // a Direction
    FTZ = 4,         // subnormal f32 (or f16) operands and results are zeros
    SAT = 8,         // to [0, 1], NaN to 0
    RELU = 16,       // negative to 0
    KEEP_NAN = 32,   // min, max: NaN if any operand is
    XOR_SIGN = 64,   // min, max: of magnitudes, with the product of the signs
    ABSOLUTE = 128,  // min, max: of magnitudes
    TO_INTEGER = 256,  // cvt of a float to a float of the same size: rounded to a whole number in the direction
    SATURATE_FINITE = 512,  // cvt: to the largest finite number instead of infinity
    TIES_AWAY = 1024  // cvt.rna
)
SIMT_ENUM(enum, Direction, u32, NEAREST, TOWARD_ZERO, DOWN, UP)
SIMT_ENUM(enum, CarryUse, u32, READS_CARRY = 1, WRITES_CARRY = 2)

// Integers have only the first six; lo, ls, hi, hs are lt, le, gt, ge of unsigned types.
SIMT_ENUM(enum class, Comparison, u32, eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan)
// How a comparison is combined with a predicate; NEGATED negates the predicate first.
SIMT_ENUM(enum, Combine, u32, REPLACE, AND, OR, XOR, NEGATED)

// Memory order of an access, in `target`. CHECKED: a plain load whose value a compare-and-swap checks; POLLING: a
// volatile load that a loop repeats until its value changes.
SIMT_ENUM(enum, Order, u32, PLAIN, CHECKED, VOLATILE, POLLING, RELAXED, ACQUIRE, RELEASE, ACQUIRE_RELEASE)

// Sources of cvt.
SIMT_ENUM(enum class, Type, u32, u8, s8, u16, s16, u32, s32, u64, s64, f16, bf16, f32, f64)

// ---- Of memory and launches -----------------------------------------------------------------------

SIMT_ENUM(enum, ByteState, u8, UNTOUCHED, SOUND, UNSOUND)
// FIRST_BLOCKS of a grid whose blocks run in order behave as in a whole run.
SIMT_ENUM(enum, Sample, u32, EVERY_BLOCK, SOME_BLOCKS, FIRST_BLOCKS)
SIMT_ENUM(enum, Status, u32, FINISHED, STOPPED, CUT_SHORT, INVALID, NO_MEMORY)
SIMT_ENUM(enum class, GeneratorKind, u32, none, normal, uniform, mask, masked)
SIMT_ENUM(enum class, GeneratorType, u32,
    float32, float16, bfloat16, float64, int8, uint8, int16, uint16, int32, uint32, int64, uint64)

// Faults of a kernel.
SIMT_ENUM(enum class, FaultKind, u32,
    out_of_bounds_read,
    out_of_bounds_write,
    misaligned,
    uninitialised_global,
    uninitialised_shared,
    uninitialised_local,
    shared_race,       // two warps, no barrier between them
    warp_race,         // two lanes of a warp, no warp-level synchronisation between them
    divergent_barrier,
    inactive_lane,     // a shuffle, vote or match names or reads a lane that does not participate
    endless,           // the instruction budget is used up
    deadlock,          // all remaining warps wait
    trapped,           // trap
    assertion,         // __assertfail
    invalid_operand,   // barrier number over 15, branch index outside its table
    unwritten_window,  // an address in the shared memory of a block that does not exist
    no_mbarrier,       // never initialised, invalidated, or overwritten
    mbarrier_count,    // more arrivals than expected, or more than an mbarrier can count
    mbarrier_elsewhere,  // in the shared memory of the wrong block
    mbarrier_deadlock,   // a deadlock in which a warp waits for an mbarrier
    bulk_size,         // not a multiple of 16 bytes
    matrix_descriptor,  // of wgmma, not regular
    no_tensor_map,     // or of another number of axes
    input_write,       // to a read-only array
    stack_overflow,    // calls nested too deep
    bad_free,          // of what malloc did not return
    same_value_race,   // notes: formally races, but programs rely on them
    checked_race,      // a plain read whose value a compare-and-swap checks
    volatile_race,
    count_of_kinds
)

}  // namespace simt
