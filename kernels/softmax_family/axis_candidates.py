"""All that may be tried for softmax and log-softmax of a view [outer, dim, inner]: every cut of it, by every number of
blocks that can share dim, as registers and shared memory hold it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from kernelbench import Case, DeviceProperties, Unsupported, dtypes
from .axis_choices import (
    CO_RESIDENT_SHARE,
    DEEP_BYTES,
    DEEP_THREADS,
    DEEPER,
    HIGH_PACKS,
    HIGH_THREADS,
    KEPT,
    MAX_UNIT,
    OWNED_ROWS,
    UNEVEN_BYTES,
    WIDEST,
    co_resident_of,
    co_resident_size,
    cuts,
    long_cuts,
    narrow_strips,
    roomy,
    several,
    ticket_of,
    tile_for,
)
from .axis_grids import grid_of, lead_of, resident
from .axis_tiles import (
    LARGE_BOUND,
    LOAD,
    PACK,
    Cut,
    Tile,
    View,
    cluster_of,
    clusters,
    deep_tile,
    evenly,
    narrow_pack,
    tile_of,
    unaligned_bound,
    view_of,
)
from .slab_plans import Slabs, copied_slabs, is_small, rule_copied, rule_slabs

MOST = 40
LEAST_STRIP_BYTES, MOST_STRIP_BYTES = 4096, 64 * 1024  # of all of dim
WIDE_BYTES = 512  # per row of a strip, up to which strips of long dim are tried
LEAST_THREADS = 64
FEWER_PACKS = (2, 4)  # per thread
STRIPS, STRIPS_WORDS = (2, 4, 8), 32  # strips of a slab per block, and registers of a thread for their packs
LEAST_SHARED_BYTES = 2048  # of a tile where several blocks share dim

AxisChoice = Tile | Slabs


def axis_rule(case: Case, device: DeviceProperties) -> AxisChoice:
    """The choice of axis_choices."""
    return rule_copied(case) or tile_for(case, device) or rule_slabs(case)


@lru_cache(maxsize=16)  # each candidate's plan looks it up
def axis_candidates(case: Case, device: DeviceProperties) -> tuple[AxisChoice, ...]:
    """Choices that the device can launch for a view, at most 40. The first is that of axis_choices."""
    view, itemsize = view_of(case), dtypes.itemsize(case.dtype)
    rule = axis_rule(case, device)
    found = {_alike(rule): rule}
    if isinstance(rule, Tile) and case.elements * itemsize <= device.l2_bytes:
        hinted = replace(rule, hint=1)
        found[_alike(hinted)] = hinted
    slabs = [rule_slabs(case)] if is_small(case) and rule_slabs(case).staged else []
    found |= {one: one for one in (*slabs, *copied_slabs(case)) if one not in found}
    for tile in _tiles(view, itemsize, device):
        if _runs(tile, view, device):
            found.setdefault(_alike(tile), tile)
    return tuple(found.values())[:MOST]


def _alike(choice: AxisChoice) -> AxisChoice:
    """Equal for choices that differ in what the compiler is told about registers only."""
    return replace(choice, bound=(0, 0)) if isinstance(choice, Tile) else choice


def _runs(tile: Tile, view: View, device: DeviceProperties) -> bool:
    """Whether every block has rows and two warps, and the device can launch them."""
    if (
        tile.threads * tile.slabs < LEAST_THREADS
        or (tile.parts - 1) * tile.rows >= view.dim
        or not resident(tile, device)
    ):
        return False
    try:
        grid_of(tile, view, device, lead_of(tile, view, device.l2_bytes) if tile.exchange == "tickets" else 0)
    except Unsupported:
        return False
    return True


def _tiles(view: View, itemsize: int, device: DeviceProperties) -> Iterator[Tile]:
    """Those of groups first, which are few."""
    own_cuts = dict.fromkeys((*cuts(view, itemsize), *_further_cuts(view, itemsize)))
    for cut in long_cuts(view, itemsize):
        shared = (co_resident_of(view, cut, size, device, share) for size, share in _group_sizes(cut, itemsize))
        yield from (tile for tile in (*shared, ticket_of(view, cut)) if tile is not None and tile.parts > 1)
    for parts in clusters(device):
        for cut in own_cuts:
            for tile in _held(view, cut, itemsize, -(-view.dim // parts)):
                found = several(cluster_of(parts, tile), view)
                if parts == 1 or tile.held_bytes >= LEAST_SHARED_BYTES:
                    yield found
                yield from several_strips(found, view)


def _group_sizes(cut: Cut, itemsize: int) -> Iterator[tuple[tuple[int, int, int], int]]:
    """(Threads, packs in registers, most packs) of a co-resident group's blocks, and the share of the resident blocks
    that it may take: all of them serve a view that is one group."""
    threads, kept, most = co_resident_size(cut, itemsize)
    for share in (CO_RESIDENT_SHARE, 1):
        yield from (((threads, kept, packs), share) for packs in (most, max(kept, most * 2 // 3), kept))


def _further_cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """Whole rows, and strips from a line of the caches to what a small block holds."""
    per_pack, row = PACK // itemsize, view.inner * itemsize
    if view.outer * view.dim == 1:
        return
    if row % PACK:
        nbytes = narrow_pack(view, itemsize)
        for packs in (64, 128, 256) if nbytes > 2 or view.dim <= OWNED_ROWS else ():
            if packs == WIDEST or view.dim * packs * nbytes >= LEAST_STRIP_BYTES:
                yield narrow_strips(view, itemsize, packs)
        for loads in _widths(view.dim, row, LOAD, (16, 32, 64, 128, 256)):
            width = evenly(view.inner, loads * LOAD // itemsize)
            yield Cut("shifted", -(-(width + LOAD // itemsize - 1) * itemsize // LOAD), width, LOAD // itemsize)
        return
    if row <= UNEVEN_BYTES:
        yield Cut("whole", view.inner // per_pack, view.inner, per_pack)
    for packs in _widths(view.dim, row, PACK, (8, 16, 32, 64, 128, 256)):
        segment = evenly(view.inner // per_pack, packs)
        yield Cut("whole", segment, segment * per_pack, per_pack)


def several_strips(tile: Tile, view: View) -> Iterator[Tile]:
    """The tile with further strips, where one strip of few rows asks memory for too little at once."""
    if tile.group != 1 or tile.pack_bytes == PACK or tile.packs != view.dim or tile.width == view.inner:
        return
    for strips in STRIPS:
        words = strips * tile.packs * tile.registers
        if words <= STRIPS_WORDS and (strips - 1) * tile.width < view.inner:
            more = replace(tile, more_strips=strips - 1)
            yield replace(more, bound=unaligned_bound(more))


def _widths(dim: int, row: int, pack_bytes: int, packs: tuple[int, ...]) -> Iterator[int]:
    """The numbers of packs side by side, among these, that cut a row of so many bytes into strips of a good size."""
    for each in packs:
        is_large = dim * each * pack_bytes > MOST_STRIP_BYTES and each * pack_bytes > WIDE_BYTES
        if each * pack_bytes < 2 * row and dim * each * pack_bytes >= LEAST_STRIP_BYTES and not is_large:
            yield each


def _held(view: View, cut: Cut, itemsize: int, rows: int) -> Iterator[Tile]:
    """Tiles of `rows` rows: in registers, then with part of the packs in shared memory."""
    tile = tile_of(view, cut, rows)
    narrow = cut.is_whole and cut.pack_bytes < PACK  # for these, all rows by one thread instead of fewer packs
    fewer = FEWER_PACKS if not narrow else (rows,) if rows == view.dim <= OWNED_ROWS else ()
    for each in (tile, *(tile_of(view, cut, rows, packs) for packs in fewer)):
        if each is not None and (each.group or cut.pack_bytes > 2):
            yield each
    if cut.pack_bytes < PACK or cut.segment > MAX_UNIT:
        return
    deep = deep_tile(view, cut, rows, DEEP_THREADS, KEPT)
    if deep is not None and deep.shared_packs and deep.held_bytes <= 2 * DEEP_BYTES[cut.layout]:
        yield roomy(deep)
    if cut.layout == "whole":
        high = deep_tile(view, cut, rows, HIGH_THREADS, HIGH_PACKS)
        if high is not None and not high.shared_packs and high.packs > KEPT:
            yield replace(high, bound=LARGE_BOUND)
        deeper = deep_tile(view, cut, rows, *DEEPER[itemsize]) if tile is None else None
        if deeper is not None and deeper.shared_packs:
            yield roomy(deeper)
