"""All that may be tried for softmax and log-softmax of a view [outer, dim, inner]: every cut of it, by every number of
blocks that can share dim, as registers and shared memory hold it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from kernelbench import Case, DeviceProperties, Unsupported, dtypes
from .axis_cuts import MAX_UNIT, OWNED_ROWS, all_cuts, long_cuts
from .axis_grids import grid_of, lead_of, resident
from .axis_tiles import (
    BOUND,
    CUT_BOUND,
    LARGE_BOUND,
    MOST_LOADS,
    PACK,
    WARP,
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
from .slab_plans import Slabs, small_slabs

MOST = 40
FEWER_PACKS = (2, 4)  # per thread
STRIPS, STRIPS_WORDS = (2, 4), 16  # strips of a slab per block, and registers of a thread for their packs
LEAST_SHARED_BYTES = 2048  # of a tile where several blocks share dim
KEPT = 8  # packs per thread in registers where the rest is in shared memory
DEEP_BYTES, DEEP_THREADS = {"whole": 100 * 1024, "ragged": 64 * 1024}, 256  # largest such tile, by layout
# (threads, packs in registers, most packs), by itemsize: for long dim; then for rows that begin anywhere.
DEEPER = {4: (256, 10, 30), 2: (256, 8, 24)}
UNALIGNED_DEEP = (256, 24, 96)
HIGH_PACKS, HIGH_THREADS = 16, 96  # of tiles of few threads that hold many packs in registers
# (threads, packs in registers, most packs) per block of a co-resident group, by itemsize.
CO_RESIDENT = {4: (256, KEPT, 20), 2: (192, KEPT, 24)}
CO_RESIDENT_SHARE = 2  # a group is at most a half of the blocks that a GPU holds: others load while it waits
# Packs and threads of a block that takes tickets, of which a multiprocessor holds several.
TICKET_PACKS, TICKET_THREADS = 8, 256
SMALL_BLOCK, SMALL_CUT_BLOCK = 256, 64  # threads per block of several slabs; the second where rows are not whole packs

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
    if few or (tile.parts - 1) * tile.rows >= view.dim or not resident(tile, device):
        return False
    try:
        grid_of(tile, view, device, lead_of(tile, view, device.l2_bytes) if tile.exchange == "tickets" else 0)
    except Unsupported:
        return False
    return True


def _tiles(view: View, itemsize: int, device: DeviceProperties) -> Iterator[Tile]:
    """Those of groups first, which are few."""
    for cut in long_cuts(view, itemsize):
        shared = (co_resident_of(view, cut, size, device, share) for size, share in _group_sizes(cut, itemsize))
        yield from (tile for tile in (*shared, ticket_of(view, cut)) if tile is not None and tile.parts > 1)
    for parts in clusters(device):
        for cut in dict.fromkeys(all_cuts(view, itemsize)):
            for tile in _held(view, cut, itemsize, -(-view.dim // parts)):
                found = several_slabs(cluster_of(parts, tile), view)
                if parts == 1 or tile.held_bytes >= LEAST_SHARED_BYTES:
                    yield found
                yield from several_strips(found, view)


def _group_sizes(cut: Cut, itemsize: int) -> Iterator[tuple[tuple[int, int, int], int]]:
    """(Threads, packs in registers, most packs) of a co-resident group's blocks, and the share of the resident blocks
    that it may take: all of them serve a view that is one group."""
    threads, kept, most = CO_RESIDENT[itemsize] if cut.layout != "shifted" else UNALIGNED_DEEP
    for share in (CO_RESIDENT_SHARE, 1):
        yield from (((threads, kept, packs), share) for packs in (most, max(kept, most * 2 // 3), kept))


def _held(view: View, cut: Cut, itemsize: int, rows: int) -> Iterator[Tile]:
    """Tiles of `rows` rows: in registers, then with part of the packs in shared memory."""
    tile = tile_of(view, cut, rows)
    narrow = cut.is_whole and cut.pack_bytes < PACK  # for these, all rows by one thread instead of fewer packs
    fewer = FEWER_PACKS if not narrow else (rows,) if rows == view.dim <= OWNED_ROWS else ()
    for each in (tile, *(tile_of(view, cut, rows, packs) for packs in fewer)):
        if each is not None and (each.group or cut.pack_bytes > 2):
            yield each
    if cut.layout in ("shifted", "whole"):
        deeper = deep_tile(view, cut, rows, *(DEEPER[itemsize] if cut.layout == "whole" else UNALIGNED_DEEP))
        if deeper is not None and deeper.shared_packs:
            yield roomy(deeper)
    if cut.pack_bytes < PACK or cut.segment > MAX_UNIT:
        return
    deep = deep_tile(view, cut, rows, DEEP_THREADS, KEPT)
    if deep is not None and deep.shared_packs and deep.held_bytes <= DEEP_BYTES[cut.layout]:
        yield roomy(deep)
    if cut.layout == "whole":
        high = deep_tile(view, cut, rows, HIGH_THREADS, HIGH_PACKS)
        if high is not None and not high.shared_packs and high.packs > KEPT:
            yield replace(high, bound=LARGE_BOUND)


def roomy(tile: Tile) -> Tile:
    """The tile with the registers of CUT_BOUND, which packs in shared memory need while they are worked on."""
    threads = -(-tile.threads // 32) * 32
    return replace(tile, bound=(threads, max(1, CUT_BOUND[0] // threads)))


def several_slabs(tile: Tile, view: View) -> Tile:
    """The tile with several slabs per block, where one slab would have few threads."""
    if tile.parts > 1 or tile.shared_packs or view.inner != tile.width:
        return tile
    if tile.group and tile.pack_bytes < PACK:
        tile = replace(tile, slabs=max(1, min(64, SMALL_BLOCK // tile.threads)))
        return replace(tile, bound=unaligned_bound(tile))
    if tile.group:  # few packs leave room for more blocks; halves with several columns per pack need registers
        blocks = 5 if tile.packs <= 2 else 3 if tile.packs > 4 and tile.fold and tile.per_pack == 8 else 4
        tile = replace(tile, bound=(SMALL_BLOCK, blocks))
    block = SMALL_BLOCK if tile.layout == "whole" else SMALL_CUT_BLOCK
    if tile.group == 1 and tile.per_pack == 4:
        block = SMALL_CUT_BLOCK
    return replace(tile, slabs=max(1, min(64, block // tile.threads)))


def several_strips(tile: Tile, view: View) -> Iterator[Tile]:
    """The tile with further strips, where one strip of few rows asks memory for too little at once."""
    if tile.group != 1 or tile.pack_bytes == PACK or tile.packs != view.dim or tile.width == view.inner:
        return
    for strips in STRIPS:
        words = strips * tile.packs * tile.registers
        if words <= STRIPS_WORDS and (strips - 1) * tile.width < view.inner:
            more = replace(tile, more_strips=strips - 1)
            yield replace(more, bound=unaligned_bound(more))


def co_resident_of(
    view: View, cut: Cut, size: tuple[int, int, int], device: DeviceProperties, share: int
) -> Tile | None:
    """The tile of a block whose co-resident group holds all of dim, with the (threads, packs in registers, most packs)
    of `size`; None where a group is more than 1 / `share` of the blocks that a GPU holds."""
    threads, kept, packs = size
    at_once = threads // cut.segment
    rows = packs * (at_once - at_once % cut.per_pack if cut.layout == "shifted" else at_once)
    if cut.layout == "ragged":
        rows = (rows * cut.segment * cut.per_pack - cut.per_pack) // cut.width
    tile = deep_tile(view, cut, min(rows, view.dim), threads, kept, packs) if rows >= 1 else None
    if tile is None:
        return None
    tile = replace(roomy(tile), parts=-(-view.dim // tile.rows), exchange="co-resident")
    return tile if tile.parts <= resident(tile, device) // share else None


def ticket_of(view: View, cut: Cut) -> Tile | None:
    """The tile of a block that sums up its share of dim, and reads it once more from the L2: as many rows as
    TICKET_THREADS hold, None if they hold none."""
    packs = TICKET_PACKS if cut.layout != "shifted" else MOST_LOADS
    rows = TICKET_THREADS // cut.segment * packs
    if cut.layout == "ragged":
        rows = (rows * cut.segment * cut.per_pack - cut.per_pack) // cut.width
    while rows >= 1:
        tile = tile_of(view, cut, min(rows, view.dim), packs)
        if tile is not None and tile.threads <= TICKET_THREADS:
            most = (BOUND if tile.layout == "whole" else CUT_BOUND)[0]
            bound = (TICKET_THREADS, max(1, most // TICKET_THREADS))
            return replace(tile, bound=bound, parts=-(-view.dim // tile.rows), exchange="tickets")
        rows -= max(1, rows // 16)
    return None
