"""Structures, numbers and names that Python shares with the C++ runtime: machine.hpp, core.hpp and numbers.hpp define
them too. `check` compares both sides when the library is loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum, IntFlag

import numpy as np

from kernelbench.core.errors import BuildError

u32, u64, i64, f64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64, ctypes.c_double

# ---- Numbers -------------------------------------------------------------------------------------

LANES = 32
NONE = 0xFFFFFFFF  # no operand or target
# Addresses. The bits from WINDOW_SHIFT on are the window; in the shared window, the bits from WINDOW_RANK_SHIFT on are
# the block's rank in its cluster; the rest is an offset.
WINDOW_SHIFT, WINDOW_RANK_SHIFT = 56, 32
SHARED_WINDOW, LOCAL_WINDOW, PARAMETER_WINDOW = (window << WINDOW_SHIFT for window in (0x50, 0x60, 0x70))
SECTOR_SHIFT = 5
SECTOR = 1 << SECTOR_SHIFT  # bytes
PAGE_SHIFT = 12
PAGE = 1 << PAGE_SHIFT  # sectors whose marks are looked at together
CHUNK = 65536  # bytes of an input that are generated together
WAYS_ABOVE = 64  # `least_ways` is WAYS_ABOVE minus the least ways of a conflict
BULK_UNIT = 16  # bytes; addresses and sizes of bulk copies are multiples of it
COUNT_BITS, TRANSACTION_BITS = 20, 21  # widths of the fields of an mbarrier: counts of arrivals, pending bytes
COMPARISON_SHIFT = 16  # position of the comparison above the modifiers
CONSTANTS = ("LANES", "NONE", "WINDOW_SHIFT", "WINDOW_RANK_SHIFT", "SHARED_WINDOW", "LOCAL_WINDOW", "PARAMETER_WINDOW",
             "SECTOR_SHIFT", "PAGE_SHIFT", "CHUNK", "WAYS_ABOVE", "BULK_UNIT", "COUNT_BITS", "TRANSACTION_BITS",
             "COMPARISON_SHIFT")  # fmt: skip


class Kind(IntEnum):
    """How the interpreter loop treats an instruction."""

    COMPUTE, BRANCH, TABLE_BRANCH, EXIT, BARRIER, NOTHING, TRAP, YIELD, CONVERGE, CALL, RETURN, CHOOSE = range(12)


class BarrierForm(IntEnum):
    SYNC, ARRIVE, REDUCE_COUNT, REDUCE_AND, REDUCE_OR, CLUSTER_ARRIVE, CLUSTER_WAIT, MBARRIER_WAIT = range(8)


class ArriveForm(IntEnum):
    ARRIVAL, DROP, NO_COMPLETE = range(3)


class Modifier(IntFlag):
    """Rounding and saturation."""

    ROUND_MASK = 3  # a Direction
    FTZ = 4
    SAT = 8
    RELU = 16
    KEEP_NAN = 32
    XOR_SIGN = 64
    ABSOLUTE = 128
    TO_INTEGER = 256
    SATURATE_FINITE = 512
    TIES_AWAY = 1024


class Direction(IntEnum):
    NEAREST, TOWARD_ZERO, DOWN, UP = range(4)


class CarryUse(IntFlag):
    READS_CARRY, WRITES_CARRY = 1, 2


class Combine(IntFlag):
    """How a comparison is combined with a predicate; NEGATED negates the predicate first."""

    REPLACE, AND, OR, XOR, NEGATED = range(5)


class Order(IntEnum):
    """Memory order of an access. CHECKED: a plain load whose value a compare-and-swap checks; POLLING: a volatile load
    that a loop repeats until its value changes."""

    PLAIN, CHECKED, VOLATILE, POLLING, RELAXED, ACQUIRE, RELEASE, ACQUIRE_RELEASE = range(8)


class ByteState(IntEnum):
    """UNSOUND: the value depends on blocks that did not run."""

    UNTOUCHED, SOUND, UNSOUND = range(3)


class Sample(IntEnum):
    """FIRST_BLOCKS of a grid whose blocks run in order behave as in a whole run."""

    EVERY_BLOCK, SOME_BLOCKS, FIRST_BLOCKS = range(3)


class Status(IntEnum):
    """How a launch ended."""

    FINISHED, STOPPED, CUT_SHORT, INVALID, NO_MEMORY = range(5)


# Special registers that the runtime fills; lowering makes constants of the others.
SPECIALS = (
    *(
        f"%{name}.{axis}"
        for name in ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
        for axis in "xyz"
    ),
    *("%warpid", "%nwarpid", "%cluster_ctarank", "%cluster_nctarank", "%dynamic_smem_size", "%total_smem_size"),
)
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
CVT_TYPES = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64")
GENERATOR_KINDS = ("none", "normal", "uniform", "mask", "masked")
GENERATOR_TYPES = ("float32", "float16", "bfloat16", "float64",
                   *(f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")))  # fmt: skip
FAULT_KINDS = ("out_of_bounds_read", "out_of_bounds_write", "misaligned", "uninitialised_global",
               "uninitialised_shared", "uninitialised_local", "shared_race", "warp_race", "divergent_barrier",
               "inactive_lane", "endless", "deadlock", "trapped", "assertion", "invalid_operand", "unwritten_window",
               "no_mbarrier", "mbarrier_count", "mbarrier_elsewhere", "mbarrier_deadlock", "bulk_size",
               "matrix_descriptor", "no_tensor_map", "input_write", "stack_overflow", "bad_free", "same_value_race",
               "checked_race", "volatile_race")  # fmt: skip


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


ENUMERATIONS: Mapping[str, Mapping[str, int]] = {
    **{
        one.__name__: one.__members__
        for one in (
            Kind,
            BarrierForm,
            ArriveForm,
            Modifier,
            Direction,
            CarryUse,
            Combine,
            Order,
            ByteState,
            Sample,
            Status,
        )
    },
    "Special": _numbered([name.lstrip("%").replace(".", "_").upper() for name in SPECIALS]),
    "Comparison": _numbered(COMPARISONS),
    "Type": _numbered(CVT_TYPES),
    "GeneratorKind": _numbered(GENERATOR_KINDS),
    "GeneratorType": _numbered(GENERATOR_TYPES),
    "FaultKind": _numbered((*FAULT_KINDS, "count_of_kinds")),
}


# ---- Structures ----------------------------------------------------------------------------------


class Instruction(ctypes.Structure):
    _fields_ = (
        ("run", ctypes.c_void_p),
        *((name, u32) for name in "dabcef"),
        ("x", u32 * 8),
        ("immediate", i64),
        *((name, u32) for name in ("guard", "negated", "kind", "target", "reconverge", "source")),
    )


class Generator(ctypes.Structure):
    _fields_ = (("kind", u32), ("type", u32), ("seed", u64), ("first", f64), ("second", f64))


class Allocation(ctypes.Structure):
    _fields_ = (
        ("begin", u64),
        ("end", u64),
        *((name, ctypes.c_void_p) for name in ("read", "written", "read_pages", "written_pages", "states", "chunks")),
        ("defined", u32),
        ("read_only", u32),
        ("generator", Generator),
    )


class Launch(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("code", "image", "zeroed", "specials", "parameters", "table", "blocks",
          "allocations", "counters", "faults", "stop", "printed", "heap_units")),
        *((name, u64) for name in ("heap", "heap_bytes", "printed_capacity", "printed_bytes", "block_count", "budget",
          "executed", "blocks_run", "unsound_blocks")),
        *((name, u32) for name in ("code_count", "register_bytes", "predicate_count", "zeroed_count", "special_count",
          "parameter_bytes", "table_count", "allocation_count", "source_count", "fault_capacity", "shared_bytes",
          "dynamic_shared_bytes", "local_bytes", "stack_bytes", "granule_shift", "reserved_offset", "reserved_bytes")),
        ("grid", u32 * 3),
        ("block", u32 * 3),
        ("cluster", u32 * 3),
        *((name, u32) for name in ("group_blocks", "ordered", "sampled", "strict", "threads", "fault_count", "status")),
    )  # fmt: skip


COUNTERS = np.dtype(
    [(name, np.uint64) for name in ("warps", "threads", "requests", "sectors", "ideal_sectors", "requested_bytes",
     "shared_requests", "wavefronts", "ideal_wavefronts", "local_requests", "local_sectors", "divergences",
     "most_ways", "least_ways")]
)  # fmt: skip
FAULTS = np.dtype([*((name, np.uint32) for name in ("kind", "source", "warp", "lane")),
                   *((name, np.uint64) for name in ("block", "address", "count"))])  # fmt: skip
RANGES = np.dtype([("offset", np.uint32), ("bytes", np.uint32)])
SPECIAL_SLOTS = np.dtype([("special", np.uint32), ("offset", np.uint32)])
ARRAYS = {"Counters": COUNTERS, "FaultRecord": FAULTS, "Range": RANGES, "SpecialSlot": SPECIAL_SLOTS}


# ---- The comparison ------------------------------------------------------------------------------


def check(library: ctypes.CDLL) -> None:
    """Raise BuildError if any field, number or name differs between the library and this module."""
    library.simt_layout.restype = ctypes.c_char_p
    differences = list(layout_differences(library.simt_layout().decode()))
    if differences:
        raise BuildError(f"the simulator's runtime and {__name__} differ: {'; '.join(differences)}", (), "")


def layout_differences(layout: str) -> Iterator[str]:
    """Differences from the text of layout.cpp, as offset and size: `Launch.grid: 232 12 in the runtime, 220 12 in
    Python`."""
    there, here = dict(_parts(layout)), dict(_own_parts())
    for name in (*here, *(there.keys() - here.keys())):
        if there.get(name) != here.get(name):
            yield f"{name}: {there.get(name, 'nothing')} in the runtime, {here.get(name, 'nothing')} in Python"


def _parts(layout: str) -> Iterator[tuple[str, str]]:
    for line in layout.splitlines():
        name, is_enumeration, names = line.partition(" = ")
        if not is_enumeration:
            name, _, numbers = line.partition(" ")
            yield name, numbers
            continue
        number = -1
        for member in names.split(","):
            word, _, value = member.partition("=")
            number = int(value) if value else number + 1
            yield f"{name}.{word.strip()}", str(number)


def _own_parts() -> Iterator[tuple[str, str]]:
    for structure in (Instruction, Generator, Allocation, Launch):
        yield structure.__name__, str(ctypes.sizeof(structure))
        for name, *_ in structure._fields_:
            field = getattr(structure, name)
            yield f"{structure.__name__}.{name}", f"{field.offset} {field.size}"
    for array, dtype in ARRAYS.items():
        yield array, str(dtype.itemsize)
        for name, (part, offset, *_) in (dtype.fields or {}).items():
            yield f"{array}.{name}", f"{offset} {part.itemsize}"
    yield from ((name, str(globals()[name])) for name in CONSTANTS)
    for name, members in ENUMERATIONS.items():
        yield from ((f"{name}.{member}", str(int(number))) for member, number in members.items())
