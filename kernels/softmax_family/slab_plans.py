"""Launch plans of softmax and log-softmax for slabs [dim, inner] so small that a block takes many of them."""

from __future__ import annotations

from dataclasses import dataclass

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, Unsupported, dtypes
from .axis_tiles import JOIN_CHUNK, pack_columns
from .row_choices import resident_blocks, staged

SMALL_BYTES = 1024  # of a slab, below which a block takes many of them
SMALL_TILE_BYTES = 16 * 1024
SMALL_HELD = 16  # most elements of a column per thread
SMALL, STAGED = 3, 4  # values of LAYOUT in one_read_axis_entries.cuh
STAGED_SIZE = 64  # elements of the largest slab that a thread holds in registers
SMALL_BLOCK = 256
MOST_UNITS = 1 << 18  # strips of slabs of a launch, where blocks wait for each other
SHARED_CONSTANTS = {"JOIN_CHUNK": JOIN_CHUNK, "MOST_UNITS": MOST_UNITS}  # of axis_columns.cuh and tickets.cuh


@dataclass(frozen=True)
class Slabs:
    """Small slabs: whole ones per thread, or many per block as one stretch of memory."""

    staged: bool  # whole ones per thread
    tile_bytes: int = SMALL_TILE_BYTES  # of a block's stretch


def is_small(case: Case) -> bool:
    """Whether slabs are so small that a block takes many of them."""
    _, dim, inner = case.outer_dim_inner
    return dim * inner * dtypes.itemsize(case.dtype) < SMALL_BYTES


def rule_slabs(case: Case) -> Slabs:
    """Whole slabs per thread as long as its registers hold them."""
    _, dim, inner = case.outer_dim_inner
    return Slabs(dim * inner <= STAGED_SIZE)


def slab_plan(name: str, case: Case, device: DeviceProperties, slabs: Slabs) -> LaunchPlan:
    """The launch for small slabs."""
    return staged_plan(name, case, device) if slabs.staged else small_plan(name, case, device, slabs.tile_bytes)


def staged_plan(name: str, case: Case, device: DeviceProperties) -> LaunchPlan:
    """The launch for slabs of which a thread holds one or more in registers, through shared memory."""
    outer, dim, inner = case.outer_dim_inner
    itemsize, size = dtypes.itemsize(case.dtype), dim * inner
    rows = staged(size, itemsize)
    # A thread keeps what it loads, and a slab's elements as floats.
    blocks = resident_blocks(32 + rows.group * size * itemsize // 4 + size, rows.block)
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


def small_plan(name: str, case: Case, device: DeviceProperties, tile_bytes: int) -> LaunchPlan:
    """The launch for slabs of which a block takes many, as one stretch of memory."""
    outer, dim, inner = case.outer_dim_inner
    itemsize = dtypes.itemsize(case.dtype)
    per_pack = pack_columns(case.dtype)
    size = dim * inner
    slabs = max(1, min(outer, tile_bytes // (size * itemsize)))
    # Slabs of an odd number of packs need no pad: the columns of neighbours already lie in different banks.
    pad = 1 if size % per_pack == 0 and size // per_pack % 2 == 0 else 0
    lanes = 1
    while lanes < 32 and (SMALL_HELD * lanes < dim or (lanes < dim and 2 * lanes * slabs * inner <= SMALL_BLOCK)):
        lanes *= 2
    extents = (dim, inner, slabs, pad, lanes)
    launch = Launch(
        entry=f"{name}_small_{dtypes.suffix(case.dtype)}",
        grid=(grid_within(-(-outer // slabs), device), 1, 1),
        block=(SMALL_BLOCK, 1, 1),
        arguments=("x", "y", Scalar("int64", outer), *(Scalar("int32", extent) for extent in extents)),
        shared_bytes=(slabs * (size + pad * per_pack) + 2 * per_pack) * itemsize,
    )
    unused = {"PACKS": 1, "SLOTS": 0, "SEGMENT": 0, "GROUP": 0, "FOLD": 0, "WAYS": 1, "EXACT": 0}
    unused |= {"CLUSTER": 1, "GANG": 0, "TICKETS": 0}
    defines = {
        "LAYOUT": SMALL,
        "ITEM_BYTES": itemsize,
        **unused,
        "THREADS": SMALL_BLOCK,
        "BLOCKS": 3,
        "LOADS": 0,
        "STORES": 0,
        **SHARED_CONSTANTS,
    }
    reasons = (f"{slabs} slabs per block as one stretch, {lanes} threads per column",)
    return LaunchPlan((launch,), tuple(defines.items()), reasons=reasons)


def grid_within(blocks: int, device: DeviceProperties) -> int:
    """`blocks`; Unsupported where a launch may not have so many."""
    if blocks > device.max_grid[0]:
        raise Unsupported(f"blocks must be at most {device.max_grid[0]}, got {blocks}")
    return blocks
