"""Tiles of a view [outer, dim, inner] for kernels round common/one_read_axis.cuh, which softmax and log-softmax share.

A tile is what one block holds in registers: all rows of dim or a share of them, by all of inner or a strip of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd

from kernelbench import dtypes
from kernelbench.axis_tiles import BOUND, CUT_BOUND, Tile, View, tile_of, view_of
from kernelbench.axis_tuning import TileStep
from kernelbench.errors import Unsupported
from kernelbench.plans import max_cluster
from kernelbench.records import Case, DeviceProperties, Launch, LaunchPlan, Scalar
from kernelbench.slab_plans import is_small, slab_plan

# Of a block, at most, as long as clusters are left to halve it. Of a copy on an H200, 512 slabs of 896 by 48 floats
# reach 0.88 by blocks of 21 KB and 0.82 by 43, bfloat16 0.86 and 0.77; 2000 by 8192 floats 0.82 by 32 KB, 0.80 by 16.
TILE_BYTES = 32 * 1024
CLUSTER_BYTES = 48 * 1024  # of a block of the largest cluster, beyond which narrower strips are better: 0.63 for 0.50
# Packs and threads of a block that takes tickets, of which a multiprocessor holds several.
TICKET_PACKS, TICKET_THREADS = 8, 256
UNITS = 1 << 18  # as tickets.cuh has them
UNIT_SHARE = 2  # of the L2: a strip of dim, at most, as long as strips are left to be narrowed
# Of the L2: what is summed up while the columns of a strip are joined, before it is read again. Of a copy on an H200,
# 8 by 50000 by 48 bfloat16 reach 0.66 by a third of the L2, 0.60 by a fifth, 0.57 by a fifteenth.
AHEAD_SHARE = 3
STRIP_BYTES = (128, 64)  # of a row segment: a line of the caches; less only where no cluster could hold dim
CONTIGUOUS_BYTES = 256  # rows shorter than two lines are not cut into strips
SHIFTED_BYTES = 256  # of a row segment that begins within a pack, and so has one more: 0.68 where 128 have 0.58
MAX_UNIT = 512  # packs side by side of a contiguous tile, at most
WIDENED_BYTES = 16 * 1024  # of a strip of few rows, which is wider in their place
WIDEST, WIDEST_SHIFTED = 256, 64  # packs of a strip's row, at most
# Threads of a block that covers several slabs; fewer where rows are no whole packs: one slab of 48 threads reaches 0.88
# of a copy, five together 0.85.
SMALL_BLOCK, SMALL_CUT_BLOCK = 256, 64


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
    yield shifted_cut(view, per_pack)


def shifted_cut(view: View, per_pack: int) -> Cut:
    """Strips of rows that are no whole packs."""
    itemsize = 16 // per_pack
    most = SHIFTED_BYTES // itemsize
    while view.dim * most * itemsize < WIDENED_BYTES and 2 * most <= view.inner and most < WIDEST_SHIFTED * per_pack:
        most *= 2
    width = evenly(view.inner, most)
    return Cut("shifted", -(-(width + per_pack - 1) // per_pack), width)


def evenly(count: int, most: int) -> int:
    """A share of at most `most`, of as few and equal shares as there are."""
    return -(-count // -(-count // most))


def clusters(device: DeviceProperties) -> tuple[int, ...]:
    """Blocks; the fewest first."""
    return tuple(blocks for blocks in (1, 2, 4, 8, 16) if blocks <= max_cluster(device))


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
    if tile.group:  # few packs leave room for more blocks; halves whose columns are several of a pack need registers
        blocks = 5 if tile.packs <= 2 else 3 if tile.packs > 4 and tile.fold and tile.per_pack == 8 else 4
        tile = replace(tile, bound=(SMALL_BLOCK, blocks))
    block = SMALL_BLOCK if tile.layout == "whole" else SMALL_CUT_BLOCK
    return replace(tile, slabs=max(1, min(64, block // tile.threads)))


def ticket_tile(view: View, itemsize: int, device: DeviceProperties) -> Tile:
    """The tile of a block that sums up its share of dim, or reads it once more from the L2."""
    per_pack = 16 // itemsize
    tiles = [
        replace(tile, parts=-(-view.dim // tile.rows), exchange="tickets")
        for cut in long_cuts(view, per_pack)
        if (tile := full_tile(view, cut, per_pack, TICKET_PACKS, TICKET_THREADS)) is not None
    ]
    return next((tile for tile in tiles if unit_bytes(tile) <= device.l2_bytes // UNIT_SHARE), tiles[0])


def long_cuts(view: View, per_pack: int) -> Iterator[Cut]:
    """As cuts, and strips of rows that are no whole packs, where a slab is too much."""
    row = view.inner * 16 // per_pack
    yield from cuts(view, per_pack)
    if row % 16 and row > SHIFTED_BYTES:
        yield shifted_cut(view, per_pack)


def unit_bytes(tile: Tile) -> int:
    """Of the tiles that share columns."""
    return tile.parts * tile.held_bytes


def lead_of(tile: Tile, view: View, ahead: int) -> int:
    """Tiles by which sums are ahead of results: those of a strip, and `ahead` bytes of others."""
    tiles = tile.parts * tile.strips(view) * view.outer
    return min(tiles, tile.parts + ahead // tile.held_bytes)


def full_tile(view: View, cut: Cut, per_pack: int, packs: int, threads: int) -> Tile | None:
    """The tile of as many rows as so many threads hold."""
    rows = threads // cut.segment * packs
    if cut.layout == "ragged":
        rows = (rows * cut.segment * per_pack - per_pack) // cut.width
    while rows >= 1:
        tile = tile_of(view, cut.layout, cut.segment, cut.width, min(rows, view.dim), per_pack, packs)
        if tile is not None and tile.threads <= threads:
            most = (BOUND if tile.layout == "whole" else CUT_BOUND)[0]
            return replace(tile, bound=(threads, max(1, most // threads)))
        rows -= max(1, rows // 16)
    return None


def grid_of(tile: Tile, view: View, device: DeviceProperties, lead: int = 0) -> tuple[int, int, int]:
    """As place_of reads it: strips side by side and slabs below each other, or all along x. `lead`: of lead_of."""
    strips = tile.strips(view)
    if tile.exchange == "tickets":
        if (units := strips * view.outer) > UNITS:
            raise Unsupported(f"strips of slabs, by tickets, must be at most {UNITS}, got {units}")
        grid = (tile.parts * units + lead, 1, 1)
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
        "WIDE": tile.segment,
        "HIGH": tile.at_once,
        "CLUSTER": tile.parts if tile.exchange == "cluster" else 1,
        "TICKETS": int(tile.exchange == "tickets"),
        "THREADS": tile.bound[0],
        "BLOCKS": tile.bound[1],
        "LOADS": 0 if tile.exchange == "tickets" else 1,  # what is read again is to stay in the L2
        "STORES": 1,
    }
    if tile.exchange == "tickets":
        defines["AGAIN"] = 1
    return tuple((defines | options).items())


def tile_plan(
    name: str, case: Case, device: DeviceProperties, tile: Tile, ahead: int | None = None, **options: int
) -> LaunchPlan:
    """The launch of a tile.

    `name` begins that of the entry. `ahead`: of lead_of, where blocks take tickets. `options` are defines of the kernel
    other than those of the tile: LOADS, STORES, THREADS, BLOCKS.
    """
    view = view_of(case)
    strips = tile.strips(view)
    extents = [tile.width, strips, tile.rows, tile.parts]
    scratch: tuple[tuple[str, int], ...] = ()
    lead = 0
    if tile.exchange == "tickets":
        lead = lead_of(tile, view, device.l2_bytes // AHEAD_SHARE if ahead is None else ahead)
        extents += [lead, (tile.parts + lead) // 2]  # what was summed up is joined halfway to its results
        scratch = (("partials", 8 * view.outer * strips * (tile.parts + 1) * tile.width),)
        shared = (
            f"{tile.parts} blocks share dim, more than a cluster: by tickets tiles are read again from the L2,"
            f" {lead} tiles ({lead * tile.held_bytes / 1e6:.1f} MB) after they were summed up"
        )
    else:
        shared = f"{tile.parts} blocks share dim" if tile.parts > 1 else f"{tile.slabs} slabs a block"
    values = (Scalar("int64", view.outer), Scalar("int32", view.dim), Scalar("int64", view.inner))
    launch = Launch(
        entry=f"{name}_{dtypes.suffix(case.dtype)}",
        grid=grid_of(tile, view, device, lead),
        block=(tile.segment, tile.at_once, tile.slabs),
        arguments=("x", "y", *(one for one, _ in scratch), *values, *(Scalar("int32", extent) for extent in extents)),
        shared_bytes=tile.shared_bytes,
    )
    reason = f"{tile.rows} rows of {tile.width} columns a block, {tile.packs} packs a thread"
    return LaunchPlan((launch,), defines_of(tile, options), scratch, (reason, shared))


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
        return slab_plan(name, case, device)
    return tile_plan(name, case, device, tile, **(step.options if step else {}))


def tile_for(case: Case, device: DeviceProperties) -> Tile | None:
    """The tile that a case is best served by; None for small slabs, of which a block takes many."""
    view, itemsize = view_of(case), dtypes.itemsize(case.dtype)
    tile = one_read_tile(view, itemsize, device)
    if is_small(case) and (tile is None or tile.group == 0):
        return None
    if tile is None or (tile.parts == clusters(device)[-1] > 1 and tile.held_bytes > TILE_BYTES):
        return ticket_tile(view, itemsize, device)
    return roomy(tile, view, device) if itemsize < 4 and tile.layout == "whole" else tile


def roomy(tile: Tile, view: View, device: DeviceProperties) -> Tile:
    """With more registers, where fewer blocks of a multiprocessor run all tiles at once all the same.

    Of a copy on an H200, 128 by 32768 bfloat16 reach 0.89 by 80 registers, 0.81 by 64, of which some are spilled.
    """
    blocks = tile.parts * tile.strips(view) * -(-view.outer // tile.slabs)
    warps = -(-tile.segment * tile.at_once * tile.slabs // 32)
    if blocks > device.multiprocessors * (CUT_BOUND[0] // (32 * warps)):
        return tile
    return replace(tile, bound=CUT_BOUND)
