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
# Packs that a thread holds: the most threads of a block, which is what a multiprocessor runs of them, from which the
# compiler takes its registers: 80, and 64 for 1024 threads.
BOUNDS = {8: 768, 4: 1024, 2: 1024, 14: 768}
SINGLE_PACKS = {16: 512}  # elements of a thread where no pack fits: fewer are few bytes in flight
BUSY = 0.85  # share of a tile's places for packs that is enough to look no further
TILE_BYTES = 48 * 1024  # of a block, at most, as long as clusters are left to halve it: two or more share an SM
ALONE_BYTES = 176 * 1024  # of a tile that one block holds, and loads the next beside it, without a cluster
READ_TILE_BYTES = 24 * 1024  # of a block of two reads: several share an SM
STRIP_BYTES = (128, 64, 32)  # of a row segment: a line of the caches; less only where a cluster could not hold dim
CONTIGUOUS_BYTES = 256  # rows shorter than two lines are not cut into strips
WIDENED = 4096  # elements of a strip of few rows, which is wider in their place
MAX_UNIT = 256  # packs of a strip's row, at most
SINGLE_COLUMNS = 32  # of a strip whose rows no pack fits: a warp's lanes lie beside each other
SMALL_BLOCK = 256  # threads of a block that covers several slabs
SMALL_BYTES = 1024  # of a slab, below which lanes on one slab's packs would not fill a line of the caches
SMALL_TILE_BYTES = 16 * 1024
SMALL_HELD = 16  # elements of a column that a thread holds, at most
OWNED_ROW_BYTES = 96  # a row from which threads are better given columns of their own, packs wide, where dim is short
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
    staged: bool = False

    @property
    def cluster(self) -> int:
        """Blocks that exchange what they know of their columns; parts of two reads meet in memory."""
        return self.parts if self.reads == 1 else 1

    @property
    def owned(self) -> bool:
        """Whether a column is a single thread's; the sums of parts are exchanged all the same."""
        return self.parts == 1 and self.reads == 1 and self.threads * self.per_pack == self.width

    @property
    def shared_bytes(self) -> int:
        """The next tile, where staged, and pairs of floats: of each thread's columns, of the threads that join a
        column, of the blocks of a cluster, for every other tile, and results.

        No pairs where a column is a single thread's.
        """
        packs = self.packs * self.threads * self.slabs if self.staged else 0
        if self.owned:
            return PACK_BYTES * packs
        ways = max(1, self.threads // self.width)
        pairs = self.slabs * (self.threads * self.per_pack + (ways + 2 * self.cluster + 1) * self.width)
        return PACK_BYTES * packs + 8 * pairs

    def nbytes(self, itemsize: int) -> int:
        return self.rows * self.width * itemsize

    def resident(self, device: DeviceProperties) -> int:
        """Blocks of a multiprocessor, by registers and shared memory; 1 KB of it goes to each block unasked."""
        warps = -(-self.threads * self.slabs // 32)
        by_shared = (device.shared_per_block_optin + 1024) // (self.shared_bytes + 1024)
        return max(1, min(BOUNDS[self.packs] // (32 * warps), by_shared))

    def blocks(self, case: Case) -> int:
        """All that there is to do, a block each."""
        outer, _, inner = case.outer_dim_inner
        return self.parts * -(-inner // self.width) * -(-outer // self.slabs)


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
    if unit <= max(BOUNDS.values()):
        ragged = dim * inner % per_pack != 0
        slack = per_pack - 1 if ragged else 0
        yield Cut("ragged" if ragged else "whole", per_pack, unit, inner, slack, 1 if ragged else per_pack // common)
    if inner > SINGLE_COLUMNS:
        yield Cut("single", 1, SINGLE_COLUMNS, SINGLE_COLUMNS)


def tile_of(cut: Cut, rows: int, parts: int) -> Tile | None:
    """The cut's tile of so many rows: packs and threads that leave few places empty; None if no block holds it."""
    rows = -(-rows // cut.rows_step) * cut.rows_step
    best, most = None, 0.0
    for packs, bound in (BOUNDS if cut.per_pack > 1 else SINGLE_PACKS).items():
        elements = rows * cut.width + cut.slack
        threads = cut.unit * -(-elements // (cut.unit * cut.per_pack * packs))
        if threads > bound:
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
            if tile is None or tile.shared_bytes > device.shared_per_block_optin:
                continue
            found = tile
            if tile.nbytes(itemsize) <= TILE_BYTES:
                break
            if parts == 1 and tile.nbytes(itemsize) <= ALONE_BYTES and fits_staged(tile, device):
                break
        if found is not None:
            return found if inner == found.width else replace(found, slabs=1)
    return None


def fits_staged(tile: Tile, device: DeviceProperties) -> bool:
    return replace(tile, staged=True).shared_bytes <= device.shared_per_block_optin


def staged_where_it_pays(tile: Tile, case: Case, device: DeviceProperties) -> Tile:
    """Blocks load ahead where there is more to do than a multiprocessor's registers hold at once."""
    if tile.layout == "single" or not fits_staged(tile, device):
        return tile
    if tile.blocks(case) <= device.multiprocessors * tile.resident(device):
        return tile
    return replace(tile, staged=True)


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


def tile_plan(name: str, case: Case, device: DeviceProperties, tile: Tile, **options: int) -> LaunchPlan:
    """The launches of a tile: one if each element is read once, else sums of the parts, their joining, and results.

    `name` begins those of the entries. `options` are defines of the kernel other than those of the tile: LOADS, STORES,
    BLOCKS, THREADS.
    """
    outer, dim, inner = case.outer_dim_inner
    strips = -(-inner // tile.width)
    blocks = tile.blocks(case)
    if blocks > device.max_grid[0]:
        raise Unsupported(f"blocks must be at most {device.max_grid[0]}, got {blocks}")
    if tile.staged:  # as many as run at once, in whole clusters
        running = device.multiprocessors * tile.resident(device) // tile.cluster * tile.cluster
        blocks = min(blocks, max(tile.cluster, running))
    bound, resident = (BOUNDS[tile.packs], 1) if tile.layout != "single" else (SINGLE_PACKS[tile.packs], 2)

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

    defines = {"PACKS": tile.packs, "THREADS": bound, "BLOCKS": resident, "LOADS": 1, "STORES": 1}
    defines |= {
        "CLUSTER": tile.cluster,
        "STAGED": int(tile.staged),
        "READS": tile.reads,
        "OWNED": int(tile.owned),
    } | options
    reason = f"{tile.rows} rows of {tile.width} columns a block, {tile.packs} packs a thread"
    if tile.reads == 1:
        reasons = [reason, f"{tile.parts} blocks share dim" if tile.parts > 1 else f"{tile.slabs} slabs a block"]
        if tile.staged:
            reasons.append(f"{blocks} blocks go through all tiles, and load the next ahead")
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


def small_plan(name: str, case: Case, device: DeviceProperties, tile_bytes: int = SMALL_TILE_BYTES) -> LaunchPlan:
    """The launch for slabs of which a block takes many, as one stretch of memory."""
    outer, dim, inner = case.outer_dim_inner
    itemsize = dtypes.itemsize(case.dtype)
    per_pack = PACK_BYTES // itemsize
    size = dim * inner
    slabs = max(1, min(outer, tile_bytes // (size * itemsize)))
    # Slabs of an odd number of packs put neighbours' columns into different banks by themselves.
    pad = 1 if size % per_pack == 0 and size // per_pack % 2 == 0 else 0
    lanes = 1
    while lanes < 32 and (SMALL_HELD * lanes < dim or (lanes < dim and 2 * lanes * slabs * inner <= SMALL_BLOCK)):
        lanes *= 2
    blocks = -(-outer // slabs)
    if blocks > device.max_grid[0]:
        raise Unsupported(f"blocks must be at most {device.max_grid[0]}, got {blocks}")
    extents = (dim, inner, slabs, pad, lanes)
    launch = Launch(
        entry=f"{name}_small_{dtypes.suffix(case.dtype)}",
        grid=(blocks, 1, 1),
        block=(SMALL_BLOCK, 1, 1),
        arguments=("x", "y", Scalar("int64", outer), *(Scalar("int32", extent) for extent in extents)),
        shared_bytes=(slabs * (size + pad * per_pack) + 2 * per_pack) * itemsize,
    )
    defines = {
        "PACKS": 8,
        "THREADS": BOUNDS[8],
        "BLOCKS": 1,
        "LOADS": 1,
        "STORES": 1,
        "CLUSTER": 1,
        "STAGED": 0,
        "READS": 1,
        "OWNED": 0,
    }
    reasons = (f"{slabs} slabs a block as one stretch, {lanes} threads a column",)
    return LaunchPlan((launch,), tuple(defines.items()), reasons=reasons)


def axis_plan(name: str, case: Case, device: DeviceProperties) -> LaunchPlan:
    """The launches of an operation whose entries' names begin with `name`, as `softmax_one_read_axis`."""
    if case.outer_dim_inner[2] < 2:
        raise Unsupported(f"axis must not be the last, got axis {case.axis} of {len(case.shape)}: one_read_rows has it")
    tile = one_read_tile(case, device)
    if is_small(case) and not (tile is not None and owns_columns(tile, case)):
        return small_plan(name, case, device)
    if tile is not None:
        return tile_plan(name, case, device, staged_where_it_pays(tile, case, device))
    return tile_plan(name, case, device, staged_where_it_pays(two_read_tile(case), case, device))


def is_small(case: Case) -> bool:
    """Whether slabs are so short that a block takes many of them."""
    _, dim, inner = case.outer_dim_inner
    return dim * inner * dtypes.itemsize(case.dtype) < SMALL_BYTES


def owns_columns(tile: Tile, case: Case) -> bool:
    """Whether a column is one thread's, in rows long enough for a warp to read whole sectors."""
    row = case.outer_dim_inner[2] * dtypes.itemsize(case.dtype)
    return tile.owned and row >= OWNED_ROW_BYTES and tile.layout == "whole"
