"""All that may be tried for softmax and log-softmax of a view [outer, dim, inner]: every cut of it, by every number of
blocks that can share dim, as registers and shared memory hold it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from kernelbench import Case, DeviceProperties, Unsupported, dtypes
from .axis_cuts import WIDEST, all_cuts, is_small, long_cuts
from .axis_grids import grid_of, lead_of, resident_blocks_of_gpu
from .axis_tiles import (
    BOUND,
    CUT_BOUND,
    LEAST_THREADS,
    MOST_LOADS,
    Cut,
    Tile,
    View,
    cluster_of,
    clusters,
    deep_tile,
    tile_of,
    unaligned_bound,
    view_of,
)
from .hardware import PACK, WARP
from .row_techniques import THREAD_PACKS
from .slab_plans import THREADS, Slabs, small_slabs

MOST = 40
FEWER_PACKS = (2, 4)  # per thread
# Most registers of a thread for the packs of two strips, of small and of large views: with 16, the large
# [562, 8, 44805] of float32 took 12 % longer than with one strip at a time.
SMALL_STRIPS_WORDS, LARGE_STRIPS_WORDS = 16, 10
# (threads, packs in registers, most packs), by itemsize, the rest in shared memory: for long dim; then for rows that
# begin anywhere.
DEEPER = {4: (THREADS, 10, 30), 2: (THREADS, THREAD_PACKS, 24)}
UNALIGNED_DEEP = (THREADS, 24, 96)
# (threads, packs in registers, most packs) per block of a co-resident group, by itemsize.
CO_RESIDENT = {4: (THREADS, THREAD_PACKS, 20), 2: (192, THREAD_PACKS, 24)}

AxisChoice = Tile | Slabs


@lru_cache(maxsize=16)  # each candidate's plan looks it up
def axis_candidates(case: Case, device: DeviceProperties) -> tuple[AxisChoice, ...]:
    """Choices that the device can launch for a view, at most 40."""
    view, itemsize = view_of(case), dtypes.itemsize(case.dtype)
    found: dict[AxisChoice, AxisChoice] = {one: one for one in small_slabs(case)}
    for tile in _tiles(view, itemsize, device):
        if _runs(tile, view, device):
            found.setdefault(replace(tile, bound=(0, 0)), tile)  # others differ in what the compiler is told only
    return tuple(found.values())[:MOST]


def _runs(tile: Tile, view: View, device: DeviceProperties) -> bool:
    """Whether every block has rows and, unless it is the only one, two warps, and the device can launch them."""
    alone = tile.parts == tile.strips(view) == 1 and view.outer <= tile.slabs
    few = tile.threads * tile.slabs <= WARP and not alone
    if few or (tile.parts - 1) * tile.rows >= view.dim or not resident_blocks_of_gpu(tile, device):
        return False
    try:
        grid_of(tile, view, device, lead_of(tile, view, device.l2_bytes) if tile.exchange == "tickets" else 0)
    except Unsupported:
        return False
    return True


def _tiles(view: View, itemsize: int, device: DeviceProperties) -> Iterator[Tile]:
    """Those of groups first, which are few."""
    for cut in long_cuts(view, itemsize):
        shared = (co_resident_of(view, cut, size, device) for size in _group_sizes(cut, itemsize))
        yield from (tile for tile in (*shared, ticket_of(view, cut)) if tile is not None and tile.parts > 1)
    for parts in clusters(device):
        for cut in dict.fromkeys(all_cuts(view, itemsize)):
            for tile in _held(view, cut, itemsize, -(-view.dim // parts), device.max_cluster > 1):
                found = several_slabs(cluster_of(parts, tile), view)
                yield found
                if (two := two_strips(found, view)) is not None:
                    yield two


def _group_sizes(cut: Cut, itemsize: int) -> Iterator[tuple[int, int, int]]:
    """(Threads, packs in registers, most packs) of a co-resident group's blocks."""
    threads, kept, most = CO_RESIDENT[itemsize] if cut.layout != "shifted" else UNALIGNED_DEEP
    return ((threads, kept, packs) for packs in (most, max(kept, most * 2 // 3), kept))


def _held(view: View, cut: Cut, itemsize: int, rows: int, clusters: bool) -> Iterator[Tile]:
    """Tiles of `rows` rows: in registers, then with part of the packs in shared memory.

    Rows that begin anywhere stay in registers where the GPU has clusters: in no recorded case there did packs in shared
    memory make them more than 2 % faster.
    """
    tile = tile_of(view, cut, rows)
    fewer: tuple[int, ...] = FEWER_PACKS
    if cut.pack_bytes < PACK:  # for whole packs of fewer bytes, all rows by one thread; else as many as fit
        fewer = (rows,) if cut.is_whole and rows == view.dim <= MOST_LOADS else ()
    yield from (each for each in (tile, *(tile_of(view, cut, rows, packs) for packs in fewer)) if each is not None)
    if cut.layout == "whole" or (cut.layout == "shifted" and not clusters):
        deeper = deep_tile(view, cut, rows, *(DEEPER[itemsize] if cut.layout == "whole" else UNALIGNED_DEEP))
        if deeper is not None and deeper.shared_packs:
            yield roomy(deeper)
    if cut.pack_bytes < PACK or cut.segment > WIDEST:
        return
    deep = deep_tile(view, cut, rows, THREADS, THREAD_PACKS)
    if deep is not None and deep.shared_packs:
        yield roomy(deep)


def roomy(tile: Tile) -> Tile:
    """The tile with the registers of CUT_BOUND, which packs in shared memory need while they are worked on."""
    threads = -(-tile.threads // 32) * 32
    return replace(tile, bound=(threads, max(1, CUT_BOUND[0] // threads)))


def several_slabs(tile: Tile, view: View) -> Tile:
    """The tile with several slabs per block, where one slab would have few threads."""
    if tile.parts > 1 or tile.shared_packs or view.inner != tile.width:
        return tile
    if tile.group and tile.pack_bytes < PACK:
        tile = replace(tile, slabs=max(1, min(64, THREADS // tile.threads)))
        return replace(tile, bound=unaligned_bound(tile))
    if tile.group:  # few packs leave room for more blocks; halves with several columns per pack need registers
        blocks = 5 if tile.packs <= 2 else 3 if tile.packs > 4 and tile.fold and tile.per_pack == 8 else 4
        tile = replace(tile, bound=(THREADS, blocks))
    block = THREADS if tile.layout == "whole" else LEAST_THREADS
    if tile.group == 1 and tile.per_pack == 4:
        block = LEAST_THREADS
    tile = replace(tile, slabs=max(1, min(64, block // tile.threads)))
    return replace(tile, bound=unaligned_bound(tile)) if tile.pack_bytes < PACK else tile


def two_strips(tile: Tile, view: View) -> Tile | None:
    """The tile with a second strip, where one strip of few rows asks memory for too little at once."""
    if tile.group != 1 or tile.pack_bytes == PACK or tile.packs != view.dim or tile.width == view.inner:
        return None
    most = SMALL_STRIPS_WORDS if is_small(view, tile.itemsize) else LARGE_STRIPS_WORDS
    if 2 * tile.packs * tile.registers > most:
        return None
    two = replace(tile, more_strips=1)
    return replace(two, bound=unaligned_bound(two))


def co_resident_of(view: View, cut: Cut, size: tuple[int, int, int], device: DeviceProperties) -> Tile | None:
    """The tile of a block whose co-resident group holds all of dim, with the (threads, packs in registers, most packs)
    of `size`; None where a GPU does not hold the blocks of a group at once."""
    threads, kept, packs = size
    at_once = threads // cut.segment
    if 4 * at_once * cut.segment < 3 * threads:  # else more than a quarter of the threads would be idle
        at_once += 1
        threads = at_once * cut.segment
    rows = packs * (at_once - at_once % cut.per_pack if cut.layout == "shifted" else at_once)
    if cut.layout == "ragged":
        rows = (rows * cut.segment * cut.per_pack - cut.per_pack) // cut.width
    tile = deep_tile(view, cut, min(rows, view.dim), threads, kept, packs) if rows >= 1 else None
    if tile is None:
        return None
    tile = replace(roomy(tile), parts=-(-view.dim // tile.rows), exchange="co-resident")
    return tile if tile.parts <= resident_blocks_of_gpu(tile, device) else None


def ticket_of(view: View, cut: Cut) -> Tile | None:
    """The tile of a block that sums up its share of dim, and reads it once more from the L2: as many rows as
    THREADS hold, None if they hold none."""
    packs = THREAD_PACKS if cut.layout != "shifted" else MOST_LOADS
    rows = THREADS // cut.segment * packs
    if cut.layout == "ragged":
        rows = (rows * cut.segment * cut.per_pack - cut.per_pack) // cut.width
    while rows >= 1:
        tile = tile_of(view, cut, min(rows, view.dim), packs)
        if tile is not None and tile.threads <= THREADS:
            most = (BOUND if tile.layout == "whole" else CUT_BOUND)[0]
            bound = (THREADS, max(1, most // THREADS))
            return replace(tile, bound=bound, parts=-(-view.dim // tile.rows), exchange="tickets")
        rows -= max(1, rows // 16)
    return None
