"""Tiles of a view [outer, dim, inner] for kernels round common/one_read_axis.cuh, which softmax and log-softmax share.

A tile is what one block holds in registers: all rows of dim or a share of them, by all of inner or a strip of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd

from kernelbench import dtypes
from kernelbench.errors import Unsupported
from kernelbench.records import Case, DeviceProperties, Launch, LaunchPlan, Scalar

PACK_BYTES = 16
# Packs that a thread holds: the most threads of a block and the fewest blocks that must fit a multiprocessor, from
# which the compiler takes its registers: 64, and 128 where a thread holds 16 packs.
BOUNDS = {8: (512, 2), 4: (1024, 1), 2: (512, 2), 16: (512, 1)}
BUSY = 0.9  # share of a tile's places for packs that is enough to look no further
TILE_BYTES = 48 * 1024  # of a block, at most, as long as clusters are left to halve it: two or more share an SM
READ_TILE_BYTES = 64 * 1024  # of a block of two reads
STRIP_BYTES = (128, 64, 32)  # of a row segment: a line of the caches; less only where a cluster could not hold dim
CONTIGUOUS_BYTES = 256  # rows shorter than two lines are not cut into strips
WIDENED = 4096  # elements of a strip of few rows, which is wider in their place
MAX_UNIT = 256  # packs of a strip's row, at most
SINGLE_COLUMNS = 32  # of a strip whose rows no pack fits: a warp's lanes lie beside each other
SINGLE_RESIDENT = 2  # blocks: an element a register leaves room for twice as many as packs of 16 bytes do
SMALL_BLOCK = 256  # threads of a block that covers several slabs
SMALL_BYTES = 1024  # of a slab, below which lanes on one slab's packs would not fill a line of the caches
SMALL_TILE_BYTES = 16 * 1024
CLUSTERS = (1, 2, 4, 8)  # blocks; 8 is the most that every GPU with clusters takes
JOIN_COLUMNS, JOIN_WAYS = 32, 16
ALL, SUMS, FINISH = 0, 1, 2  # steps, as one_read_axis.cuh numbers them


@dataclass(frozen=True)
class Tile:
    """How a view is cut. `unit`: threads of which any multiple sees the same columns in each of its packs."""

    layout: str  # "whole", "ragged" or "single", as the kernel's entries are called
    per_pack: int  # elements
    unit: int
    width: int  # columns
    rows: int  # of a part
    parts: int  # of dim
    packs: int  # of a thread
    threads: int  # of a slab
    slabs: int  # of a block
    reads: int = 1

    @property
    def cluster(self) -> int:
        """Blocks that exchange what they know of their columns; parts of two reads meet in memory."""
        return self.parts if self.reads == 1 else 1

    @property
    def shared_bytes(self) -> int:
        """Pairs of floats: of each thread's columns, of the threads that join a column, of the blocks of a cluster, and
        results.

        None where a column is a single thread's.
        """
        if self.parts == 1 and self.threads * self.per_pack == self.width:
            return 0
        ways = max(1, self.threads // self.width)
        return 8 * self.slabs * (self.threads * self.per_pack + (ways + self.cluster + 1) * self.width)


@dataclass(frozen=True)
class Cut:
    """A way to lay tiles over a view, before rows and threads are chosen."""

    layout: str
    per_pack: int
    unit: int
    width: int
    slack: int = 0  # elements of packs that lie outside the tile, at most
    rows_step: int = 1  # parts begin at multiples of it


def cuts(dim: int, inner: int, itemsize: int) -> Iterator[Cut]:
    """From the one that memory serves best; each is right for any dim."""
    per_pack = PACK_BYTES // itemsize
    common = gcd(inner, per_pack)
    if common == per_pack and inner * itemsize >= CONTIGUOUS_BYTES:
        width = STRIP_BYTES[0] // itemsize
        while dim * width < WIDENED and 2 * width <= inner and width < MAX_UNIT * per_pack:
            width *= 2
        for columns in (width, *(strip // itemsize for strip in STRIP_BYTES[1:])):
            yield Cut("whole", per_pack, columns // per_pack, columns)
        return
    unit = inner // common
    if unit <= max(threads for threads, _ in BOUNDS.values()):
        ragged = dim * inner % per_pack != 0
        slack = per_pack - 1 if ragged else 0
        yield Cut("ragged" if ragged else "whole", per_pack, unit, inner, slack, 1 if ragged else per_pack // common)
    if inner > SINGLE_COLUMNS:
        yield Cut("single", 1, SINGLE_COLUMNS, SINGLE_COLUMNS)


def tile_of(cut: Cut, rows: int, parts: int) -> Tile | None:
    """The cut's tile of so many rows: packs and threads that leave few places empty; None if no block holds it."""
    rows = -(-rows // cut.rows_step) * cut.rows_step
    best, most = None, 0.0
    for packs, (bound, _) in BOUNDS.items():
        elements = rows * cut.width + cut.slack
        threads = cut.unit * -(-elements // (cut.unit * cut.per_pack * packs))
        if threads > bound or (cut.per_pack == 1 and packs < 16):  # single elements: 16 are few bytes in flight
            continue
        busy = elements / (threads * cut.per_pack * packs)
        if busy > most:
            slabs = max(1, SMALL_BLOCK // threads) if parts == 1 else 1
            best, most = Tile(cut.layout, cut.per_pack, cut.unit, cut.width, rows, parts, packs, threads, slabs), busy
        if busy >= BUSY:
            break
    return best


def one_read_tile(case: Case, device: DeviceProperties) -> Tile | None:
    """The tile of a single block or cluster that holds all of dim; None where none does."""
    _, dim, inner = case.outer_dim_inner
    itemsize = dtypes.itemsize(case.dtype)
    clusters = CLUSTERS if device.compute_capability >= (9, 0) else CLUSTERS[:1]
    for cut in cuts(dim, inner, itemsize):
        found = None
        for parts in clusters:
            tile = tile_of(cut, -(-dim // parts), parts)
            if tile is not None and tile.shared_bytes <= device.shared_per_block_optin:
                found = tile
                if tile.rows * tile.width * itemsize <= TILE_BYTES:
                    break
        if found is not None:
            return found if inner == found.width else replace(found, slabs=1)
    return None


def two_read_tile(case: Case) -> Tile:
    """The tile of a block that sums up its share of dim, and later reads it once more."""
    _, dim, inner = case.outer_dim_inner
    itemsize = dtypes.itemsize(case.dtype)
    for cut in cuts(dim, inner, itemsize):
        rows = max(1, READ_TILE_BYTES // (cut.width * itemsize))
        while rows and (tile := tile_of(cut, min(rows, dim), 1)) is None:
            rows //= 2
        if rows and tile is not None:
            return replace(tile, parts=-(-dim // tile.rows), slabs=1, reads=2)
    raise Unsupported(f"inner must be at least 2, got {inner}")


def tile_plan(operation: str, case: Case, device: DeviceProperties, tile: Tile, **options: int) -> LaunchPlan:
    """The launches of a tile: one if each element is read once, else sums of the parts, their joining, and results.

    `options` are defines of the kernel other than those of the tile: LOADS, STORES, EX2, BLOCKS, THREADS.
    """
    outer, dim, inner = case.outer_dim_inner
    strips = -(-inner // tile.width)
    blocks = tile.parts * strips * -(-outer // tile.slabs)
    if blocks > device.max_grid[0]:
        raise Unsupported(f"blocks must be at most {device.max_grid[0]}, got {blocks}")
    name = f"{operation}_one_read_axis"
    bound, resident = BOUNDS[tile.packs]
    if tile.layout == "single":
        resident = SINGLE_RESIDENT

    def launch(step: int, pairs: str) -> Launch:
        values = (Scalar("int64", outer), Scalar("int32", dim), Scalar("int64", inner))
        extents = (tile.width, strips, tile.rows, tile.parts, step)
        return Launch(
            entry=f"{name}_{tile.layout}_{dtypes.suffix(case.dtype)}",
            grid=(blocks, 1, 1),
            block=(tile.threads, tile.slabs, 1),
            arguments=("x", "y", pairs, *values, *(Scalar("int32", extent) for extent in extents)),
            shared_bytes=tile.shared_bytes,
        )

    defines = {"PACKS": tile.packs, "THREADS": bound, "BLOCKS": resident, "LOADS": 0, "STORES": 0, "EX2": 0}
    defines |= {"CLUSTER": tile.cluster} | options
    reason = f"{tile.rows} rows of {tile.width} columns a block, {tile.packs} packs a thread"
    if tile.reads == 1:
        reasons = [reason, f"{tile.parts} blocks share dim" if tile.parts > 1 else f"{tile.slabs} slabs a block"]
        return LaunchPlan((launch(ALL, "partials"),), tuple(defines.items()), (("partials", 8),), tuple(reasons))
    groups = -(-inner // JOIN_COLUMNS) * outer
    join = Launch(
        entry=f"{name}_join",
        grid=(groups, 1, 1),
        block=(JOIN_COLUMNS, JOIN_WAYS, 1),
        arguments=("partials", "joined", Scalar("int64", inner), Scalar("int32", tile.parts)),
    )
    return LaunchPlan(
        (launch(SUMS, "partials"), join, launch(FINISH, "joined")),
        tuple(defines.items()),
        (("partials", 8 * outer * tile.parts * inner), ("joined", 8 * outer * inner)),
        (reason, f"{tile.parts} parts of dim: no cluster holds it, so it is read twice"),
    )


def small_plan(operation: str, case: Case, device: DeviceProperties, tile_bytes: int = SMALL_TILE_BYTES) -> LaunchPlan:
    """The launch for slabs of which a block takes many, as one stretch of memory."""
    outer, dim, inner = case.outer_dim_inner
    itemsize = dtypes.itemsize(case.dtype)
    per_pack = PACK_BYTES // itemsize
    size = dim * inner
    slabs = max(1, min(outer, tile_bytes // (size * itemsize)))
    # Slabs of an odd number of packs put neighbours' columns into different banks by themselves.
    pad = per_pack if size % per_pack == 0 and size // per_pack % 2 == 0 else 0
    lanes = 1
    while lanes < 32 and lanes < dim and 2 * lanes * slabs * inner <= SMALL_BLOCK:
        lanes *= 2
    blocks = -(-outer // slabs)
    if blocks > device.max_grid[0]:
        raise Unsupported(f"blocks must be at most {device.max_grid[0]}, got {blocks}")
    extents = (dim, inner, slabs, pad, lanes)
    launch = Launch(
        entry=f"{operation}_one_read_axis_small_{dtypes.suffix(case.dtype)}",
        grid=(blocks, 1, 1),
        block=(SMALL_BLOCK, 1, 1),
        arguments=("x", "y", Scalar("int64", outer), *(Scalar("int32", extent) for extent in extents)),
        shared_bytes=(slabs * (size + pad) + 2 * per_pack) * itemsize,
    )
    defines = {
        "PACKS": 8,
        "THREADS": BOUNDS[8][0],
        "BLOCKS": BOUNDS[8][1],
        "LOADS": 0,
        "STORES": 0,
        "EX2": 0,
        "CLUSTER": 1,
    }
    reasons = (f"{slabs} slabs a block as one stretch, {lanes} threads a column",)
    return LaunchPlan((launch,), tuple(defines.items()), reasons=reasons)


def axis_plan(operation: str, case: Case, device: DeviceProperties) -> LaunchPlan:
    """The plan of one_read_axis.cu of that operation."""
    if case.outer_dim_inner[2] < 2:
        raise Unsupported(f"axis must not be the last, got axis {case.axis} of {len(case.shape)}: one_read_rows has it")
    if case.elements // case.outer_dim_inner[0] * dtypes.itemsize(case.dtype) < SMALL_BYTES:
        return small_plan(operation, case, device)
    tile = one_read_tile(case, device)
    if tile is not None:
        return tile_plan(operation, case, device, tile)
    return tile_plan(operation, case, device, two_read_tile(case))
