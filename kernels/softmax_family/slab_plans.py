"""Launch plans of softmax and log-softmax for slabs [dim, inner] so small that a block takes many of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, Unsupported, dtypes
from .axis_tiles import JOIN_CHUNK, pack_columns
from .hardware import BANK_BYTES, BANKS, PACK, WARP
from .row_techniques import blocks_by_registers, staged

SMALL_HELD = 16  # most elements of a column per thread
SMALL, STAGED = 3, 4  # values of LAYOUT in one_read_axis_entries.cuh
FEW_HELD = 8  # for which six blocks per multiprocessor have registers
SLAB_BYTES = (8 * 1024, 16 * 1024)  # of a block that copies slabs
STAGED_SIZE = 64  # elements of the largest slab that a thread holds in registers
THREADS = 256  # per block of several slabs, and of tiles that hold packs in shared memory too
MOST_UNITS = 1 << 18  # strips of slabs of a launch, where blocks wait for each other
SHARED_CONSTANTS = {"JOIN_CHUNK": JOIN_CHUNK, "MOST_UNITS": MOST_UNITS}  # of axis_columns.cuh and tickets.cuh


@dataclass(frozen=True)
class Slabs:
    """Small slabs: whole ones per thread, or many per block as one stretch of memory."""

    staged: bool  # whole ones per thread
    tile_bytes: int = SLAB_BYTES[0]  # of a block's stretch


def small_slabs(case: Case) -> tuple[Slabs, ...]:
    """What may be tried: whole slabs per thread as long as its registers hold them, and blocks that copy slabs."""
    outer, dim, inner = case.outer_dim_inner
    staged = (Slabs(True),) if dim * inner <= STAGED_SIZE else ()
    size = dim * inner * dtypes.itemsize(case.dtype)
    if dim == 1 or dim > WARP * SMALL_HELD:
        return staged
    # Of few slabs a block takes all, however long its stretch may be.
    copied = {min(outer, each // size): Slabs(False, each) for each in reversed(SLAB_BYTES) if size <= each}
    return (*staged, *reversed(copied.values()))


def slab_plan(name: str, case: Case, device: DeviceProperties, slabs: Slabs) -> LaunchPlan:
    """The launch for small slabs."""
    return staged_plan(name, case, device) if slabs.staged else copied_plan(name, case, device, slabs)


def staged_plan(name: str, case: Case, device: DeviceProperties) -> LaunchPlan:
    """The launch for slabs of which a thread holds one or more in registers, through shared memory."""
    outer, dim, inner = case.outer_dim_inner
    itemsize, size = dtypes.itemsize(case.dtype), dim * inner
    rows = staged(size, itemsize)
    # A thread keeps what it loads, and a slab's elements as floats.
    blocks = blocks_by_registers(32 + rows.group * size * itemsize // 4 + size, rows.block)
    launch = Launch(
        entry=f"{name}_staged_{dtypes.suffix(case.dtype)}",
        grid=(grid_within(-(-outer // (rows.block * rows.group)), device), 1, 1),
        block=(rows.block, 1, 1),
        arguments=("x", "y", Scalar("int64", outer)),
    )
    constants = {"SIZE": size, "INNER": inner, "SLABS": rows.group, "ITEM_BYTES": itemsize}
    defines = {"LAYOUT": STAGED, **constants, "THREADS": rows.block, "BLOCKS": blocks, "STORES": 1}
    reasons = (f"{rows.group} whole slabs of {size} elements per thread, through shared memory",)
    return LaunchPlan((launch,), tuple(defines.items()), reasons=reasons)


def copied_plan(name: str, case: Case, device: DeviceProperties, choice: Slabs) -> LaunchPlan:
    """The launch for slabs that a block copies through shared memory."""
    outer, dim, inner = case.outer_dim_inner
    itemsize, per_pack, size = dtypes.itemsize(case.dtype), pack_columns(case.dtype), dim * inner
    slabs = max(1, min(outer, choice.tile_bytes // (size * itemsize)))
    # Slabs of an odd number of packs need no pad: the columns of neighbours already lie in different banks.
    padded = slabs > 1 and size % per_pack == 0 and size // per_pack % 2 == 0
    rows, length = (slabs, size) if padded else (1, slabs * size)
    pitch = 1 + -(-length // per_pack)  # a row begins within its first pack
    lanes = lanes_of(dim, slabs * inner)
    launch = Launch(
        entry=f"{name}_small_{dtypes.suffix(case.dtype)}",
        grid=(grid_within(-(-outer // slabs), device), 1, 1),
        block=(THREADS, 1, 1),
        arguments=("x", "y", Scalar("int64", outer)),
        shared_bytes=rows * pitch * PACK,
    )
    extents = {"DIM": dim, "INNER": inner, "SLABS": slabs, "LANES": lanes, "PADDED": int(padded)}
    bounds = {"THREADS": THREADS, "BLOCKS": 6 if -(-dim // lanes) <= FEW_HELD else 4, "STORES": 0}
    defines = {"LAYOUT": SMALL, "ITEM_BYTES": itemsize, **extents, "PITCH": pitch, **bounds}
    reasons = (f"{slabs} slabs as one stretch per block, through shared memory; {lanes} threads per column",)
    return LaunchPlan((launch,), tuple(defines.items()), reasons=reasons)


def lanes_of(dim: int, columns: int) -> int:
    """Threads per column: as many as its elements need, and more while a block has threads left."""
    lanes = 1
    while lanes < WARP and (SMALL_HELD * lanes < dim or (lanes < dim and 2 * lanes * columns <= THREADS)):
        lanes *= 2
    return lanes


def bank_ways(plan: LaunchPlan) -> int:
    """How many passes one access of a warp to copied slabs takes: the most words that lie in one bank."""
    of = {name: int(value) for name, value in plan.defines}
    per_row = of["PITCH"] * PACK // of["ITEM_BYTES"] if of["PADDED"] else of["DIM"] * of["INNER"]
    words = set()
    for thread in range(WARP):
        column, lane = divmod(thread, of["LANES"])
        slab, column = divmod(column, of["INNER"])
        if slab < of["SLABS"] and lane < of["DIM"]:
            words.add((slab * per_row + lane * of["INNER"] + column) * of["ITEM_BYTES"] // BANK_BYTES)
    return max(Counter(word % BANKS for word in words).values())


def grid_within(blocks: int, device: DeviceProperties) -> int:
    """`blocks`; Unsupported where a launch may not have so many."""
    if blocks > device.max_grid[0]:
        raise Unsupported(f"blocks must be at most {device.max_grid[0]}, got {blocks}")
    return blocks
