"""Tiles of a view [outer, dim, inner] for kernels round common/one_read_axis.cuh, which softmax and log-softmax share.

A tile is what one block holds in registers: all rows of dim or a share of them, by all of inner or a strip of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd

from kernelbench import dtypes
from kernelbench.axis_tiles import Tile, View, pack_columns, tile_of, view_of
from kernelbench.axis_tuning import TileStep
from kernelbench.errors import Unsupported
from kernelbench.records import Case, DeviceProperties, Launch, LaunchPlan, Scalar

# Of a block, at most, as long as clusters are left to halve it. Of a copy on an H200, 512 slabs of 896 by 48 floats
# reach 0.88 by blocks of 21 KB and 0.82 by 43, of bfloat16 0.86 and 0.77; 2000 by 8192 floats 0.82 by 32 KB, 0.80 by 16.
TILE_BYTES = 32 * 1024
CLUSTER_BYTES = 48 * 1024  # of a block of the largest cluster, beyond which narrower strips are better: 0.63 for 0.50
READ_TILE_BYTES = 32 * 1024  # of a block of two reads
# Packs and threads of a block of a team, of which a multiprocessor holds two: the first leaves registers beside packs,
# the last holds most.
TEAM_BLOCKS = ((8, 384), (8, 512), (16, 320))
STRIP_BYTES = (128, 64)  # of a row segment: a line of the caches; less only where no cluster could hold dim
CONTIGUOUS_BYTES = 256  # rows shorter than two lines are not cut into strips
SHIFTED_BYTES = 256  # of a row segment that begins within a pack, and so has one more: 0.68 where 128 have 0.58
MAX_UNIT = 512  # packs side by side of a contiguous tile, at most
WIDENED_BYTES = 16 * 1024  # of a strip of few rows, which is wider in their place
WIDEST, WIDEST_SHIFTED = 256, 64  # packs of a strip's row, at most
# Threads of a block that covers several slabs; fewer where rows are no whole packs: one slab of 48 threads reaches 0.88
# of a copy, five together 0.85.
SMALL_BLOCK, SMALL_CUT_BLOCK = 256, 64
SMALL_BYTES = 1024  # of a slab, below which a block takes many, if their lanes do not find their columns by themselves
SMALL_TILE_BYTES = 16 * 1024
SMALL_HELD = 16  # elements of a column that a thread holds, at most
SMALL = 3  # the layout of small slabs
TEAMS = 8192  # as team_exchange.cuh has them
JOIN_COLUMNS, JOIN_WAYS = 32, 16
ALL, SUMS, FINISH = 0, 1, 2  # steps, as axis_tiles.cuh numbers them


@dataclass(frozen=True)
class Cut:
    """A way to lay tiles over a view, before rows and threads are chosen."""

    layout: str
    segment: int  # packs side by side
    width: int  # columns


def cuts(view: View, per_pack: int) -> Iterator[Cut]:
    """From the one that memory serves best; each is right for any dim."""
    itemsize = 16 // per_pack
    if view.inner % per_pack == 0:
        if view.inner * itemsize < CONTIGUOUS_BYTES:
            yield Cut("whole", view.inner // per_pack, view.inner)
            return
        packs = STRIP_BYTES[0] // 16
        while view.dim * packs * 16 < WIDENED_BYTES and 2 * packs * per_pack <= view.inner and packs < WIDEST:
            packs *= 2
        for most in (packs, *(strip // 16 for strip in STRIP_BYTES[1:])):
            segment = evenly(view.inner // per_pack, most)
            yield Cut("whole", segment, segment * per_pack)
        return
    unit = view.inner // gcd(view.inner, per_pack)
    if unit <= MAX_UNIT:
        yield Cut("ragged", unit, view.inner)
        return
    most = SHIFTED_BYTES // itemsize
    while view.dim * most * itemsize < WIDENED_BYTES and 2 * most <= view.inner and most < WIDEST_SHIFTED * per_pack:
        most *= 2
    width = evenly(view.inner, most)
    yield Cut("shifted", -(-(width + per_pack - 1) // per_pack), width)


def evenly(count: int, most: int) -> int:
    """A share of at most `most`, of as few and equal shares as there are."""
    return -(-count // -(-count // most))


def clusters(device: DeviceProperties) -> tuple[int, ...]:
    """Blocks; the fewest first."""
    return (1, 2, 4, 8, 16) if device.compute_capability >= (9, 0) else (1,)


def one_read_tile(view: View, itemsize: int, device: DeviceProperties) -> Tile | None:
    """The tile of a single block or cluster that holds all of dim; None where none does."""
    per_pack = 16 // itemsize
    best = None
    for cut in cuts(view, per_pack):
        found = None
        for parts in clusters(device):
            tile = tile_of(view, cut.layout, cut.segment, cut.width, -(-view.dim // parts), per_pack)
            if tile is None or tile.shared_bytes > device.shared_per_block_optin:
                continue
            found = replace(tile, parts=parts, exchange="cluster" if parts > 1 else "block")
            if tile.held_bytes <= TILE_BYTES:
                break
        if found is not None and (best is None or found.held_bytes < best.held_bytes):
            best = found
        if best is not None and best.held_bytes <= CLUSTER_BYTES:
            break
    return several(best, view) if best is not None else None


def several(tile: Tile, view: View) -> Tile:
    """Several slabs a block, where one alone would be few threads."""
    if tile.parts > 1 or view.inner != tile.width:
        return tile
    block = SMALL_BLOCK if tile.layout == "whole" else SMALL_CUT_BLOCK
    return replace(tile, slabs=max(1, min(64, block // tile.threads)))


def resident(tile: Tile, device: DeviceProperties) -> int:
    """Blocks that the whole GPU holds at once."""
    registers = device.registers_per_multiprocessor // (tile.bound[0] * tile.bound[1]) // 8 * 8
    return device.resident_blocks(tile.threads, registers, tile.shared_bytes) * device.multiprocessors


def team_tile(view: View, itemsize: int, device: DeviceProperties) -> Tile | None:
    """The tile of a block of a team that holds all of dim on the whole GPU; None where that is too small."""
    per_pack = 16 // itemsize
    for cut in cuts(view, per_pack):
        for packs, threads in TEAM_BLOCKS:
            tile = full_tile(view, cut, per_pack, packs, threads)
            if tile is None:
                continue
            parts = -(-view.dim // tile.rows)
            tile = replace(tile, parts=parts, exchange="team")
            if 2 <= parts <= resident(tile, device) and view.outer * tile.strips(view) <= TEAMS:
                return tile
    return None


def full_tile(view: View, cut: Cut, per_pack: int, packs: int, threads: int) -> Tile | None:
    """The tile of as many rows as so many threads hold."""
    rows = threads // cut.segment * packs
    if cut.layout == "ragged":
        rows = (rows * cut.segment * per_pack - per_pack) // cut.width
    while rows >= 1:
        tile = tile_of(view, cut.layout, cut.segment, cut.width, min(rows, view.dim), per_pack, packs)
        if tile is not None and tile.threads <= threads:
            return replace(tile, bound=(threads, 2))
        rows -= max(1, rows // 16)
    return None


def two_read_tile(view: View, itemsize: int) -> Tile:
    """The tile of a block that sums up its share of dim, and later reads it once more."""
    per_pack = 16 // itemsize
    for cut in cuts(view, per_pack):
        rows = max(1, min(view.dim, READ_TILE_BYTES // (16 * cut.segment)))
        while rows and (tile := tile_of(view, cut.layout, cut.segment, cut.width, rows, per_pack)) is None:
            rows //= 2
        if rows and tile is not None:
            return replace(tile, parts=-(-view.dim // tile.rows), exchange="two reads")
    raise Unsupported(f"inner must be at least 2, got {view.inner}")


def grid_of(tile: Tile, view: View, device: DeviceProperties) -> tuple[int, int, int]:
    """As place_of reads it: strips side by side and slabs below each other, or everything along x."""
    strips = tile.strips(view)
    if tile.exchange in ("team", "two reads"):
        items = tile.parts * strips * view.outer
        grid = (min(items, resident(tile, device)) if tile.exchange == "team" else items, 1, 1)
    elif strips > 1:
        rows = min(view.outer, device.max_grid[1])
        grid = (tile.parts * strips, rows, -(-view.outer // rows))
    else:
        grid = (tile.parts * -(-view.outer // tile.slabs), 1, 1)
    for axis, (asked, most) in enumerate(zip(grid, device.max_grid, strict=True)):
        if asked > most:
            raise Unsupported(f"blocks along axis {axis} of the grid must be at most {most}, got {asked}")
    return grid


def defines_of(tile: Tile, options: dict[str, int]) -> tuple[tuple[str, str | int], ...]:
    defines: dict[str, str | int] = {
        "LAYOUT": tile.number,
        "PACKS": tile.packs,
        "SEGMENT": tile.lanes,
        "GROUP": tile.group,
        "FOLD": tile.fold,
        "CLUSTER": tile.parts if tile.exchange == "cluster" else 1,
        "TEAM": int(tile.exchange == "team"),
        "READS": 2 if tile.exchange == "two reads" else 1,
        "THREADS": tile.bound[0],
        "BLOCKS": tile.bound[1],
        "LOADS": 1,
        "STORES": 1,
    }
    return tuple((defines | options).items())


def tile_plan(name: str, case: Case, device: DeviceProperties, tile: Tile, **options: int) -> LaunchPlan:
    """The launches of a tile: one if each element is read once, else sums of the parts, their joining, and results.

    `name` begins those of the entries. `options` are defines of the kernel other than those of the tile: LOADS,
    STORES, THREADS, BLOCKS.
    """
    view = view_of(case)
    strips, grid = tile.strips(view), grid_of(tile, view, device)

    def launch(step: int, pairs: str) -> Launch:
        values = (Scalar("int64", view.outer), Scalar("int32", view.dim), Scalar("int64", view.inner))
        extents = (tile.width, strips, tile.rows, tile.parts, step)
        return Launch(
            entry=f"{name}_{dtypes.suffix(case.dtype)}",
            grid=grid,
            block=(tile.segment, tile.at_once, tile.slabs),
            arguments=("x", "y", pairs, *values, *(Scalar("int32", extent) for extent in extents)),
            shared_bytes=tile.shared_bytes,
            cooperative=tile.exchange == "team",
        )

    defines = defines_of(tile, options)
    reason = f"{tile.rows} rows of {tile.width} columns a block, {tile.packs} packs a thread"
    if tile.exchange == "team":
        nbytes = 8 * view.outer * strips * (tile.parts + 1) * tile.width
        reasons = (reason, f"{tile.parts} blocks share dim, through global memory: no cluster holds it")
        return LaunchPlan((launch(ALL, "partials"),), defines, (("partials", nbytes),), reasons)
    if tile.exchange != "two reads":
        shared = f"{tile.parts} blocks share dim" if tile.parts > 1 else f"{tile.slabs} slabs a block"
        return LaunchPlan((launch(ALL, "partials"),), defines, (("partials", 8),), (reason, shared))
    join = Launch(
        entry=f"{name}_join",
        grid=(-(-view.inner // JOIN_COLUMNS) * view.outer, 1, 1),
        block=(JOIN_COLUMNS, JOIN_WAYS, 1),
        arguments=("partials", "joined", Scalar("int64", view.inner), Scalar("int32", tile.parts)),
    )
    return LaunchPlan(
        (launch(SUMS, "partials"), join, launch(FINISH, "joined")),
        defines,
        (("partials", 8 * view.outer * tile.parts * view.inner), ("joined", 8 * view.outer * view.inner)),
        (reason, f"{tile.parts} parts of dim: no cluster holds it, so it is read twice"),
    )


def small_plan(name: str, case: Case, device: DeviceProperties, tile_bytes: int = SMALL_TILE_BYTES) -> LaunchPlan:
    """The launch for slabs of which a block takes many, as one stretch of memory."""
    outer, dim, inner = case.outer_dim_inner
    itemsize = dtypes.itemsize(case.dtype)
    per_pack = pack_columns(case.dtype)
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
    unused = {"PACKS": 1, "SEGMENT": 0, "GROUP": 0, "FOLD": 0, "CLUSTER": 1, "TEAM": 0, "READS": 1}
    defines = {"LAYOUT": SMALL, **unused, "THREADS": SMALL_BLOCK, "BLOCKS": 3, "LOADS": 1, "STORES": 1}
    reasons = (f"{slabs} slabs a block as one stretch, {lanes} threads a column",)
    return LaunchPlan((launch,), tuple(defines.items()), reasons=reasons)


def axis_plan(name: str, case: Case, device: DeviceProperties, step: TileStep | None = None) -> LaunchPlan:
    """The launches of an operation whose entries' names begin with `name`, as `softmax_one_read_axis`.

    `step`: what is to be otherwise than the tile.
    """
    if case.outer_dim_inner[2] < 2:
        raise Unsupported(f"axis must not be the last, got axis {case.axis} of {len(case.shape)}: one_read_rows has it")
    tile = tile_for(case, device)
    if step is not None and (changed := step.taken(tile, view_of(case), clusters(device)[-1])) is not tile:
        assert changed is not None
        tile = several(changed, view_of(case))
    if tile is None:
        return small_plan(name, case, device)
    return tile_plan(name, case, device, tile, **(step.options if step else {}))


def tile_for(case: Case, device: DeviceProperties) -> Tile | None:
    """The tile that a case is best served by; None for small slabs, of which a block takes many."""
    view, itemsize = view_of(case), dtypes.itemsize(case.dtype)
    tile = one_read_tile(view, itemsize, device)
    if is_small(case) and (tile is None or tile.group == 0):
        return None
    if tile is not None:
        return tile
    return team_tile(view, itemsize, device) or two_read_tile(view, itemsize)


def is_small(case: Case) -> bool:
    """Whether slabs are so short that a block takes many of them."""
    _, dim, inner = case.outer_dim_inner
    return dim * inner * dtypes.itemsize(case.dtype) < SMALL_BYTES
