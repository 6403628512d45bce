"""Which tile of a view [outer, dim, inner] a case is best served by, for kernels round common/one_read_axis.cuh.

A tile is what one block holds in registers and shared memory: all rows of dim or a share of them, by all of inner or a
strip of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd

from kernelbench import Case, DeviceProperties, dtypes

from .axis_tiles import (
    BOUND,
    CLUSTERS,
    CUT_BOUND,
    LARGE_BOUND,
    PACK,
    WARP,
    WIDENED_BYTES,
    WORDS,
    Cut,
    Tile,
    View,
    cluster_of,
    clusters,
    deep_tile,
    evenly,
    resident,
    tile_of,
    view_of,
)
from .slab_plans import is_small
from .word_choices import NARROW_BYTES, narrow_cut, word_tile_for

# Of a tile that registers alone hold, at most, as long as clusters are left to halve it. Of a copy on an H200, 512
# slabs of 896 by 48 bfloat16 reach 0.93 by blocks of 43 KB of which half is in slots, 0.91 by 21 KB in registers; 2048
# of 256 by 64 0.95 by 32 KB and slots, 0.91 without.
TILE_BYTES = {4: 32 * 1024, 2: 16 * 1024}
KEPT = 8  # packs that a thread keeps in registers where the rest is in slots
# Of such a tile, at most. 1310 slabs of 256 by 100 bfloat16, as a stretch, reach 0.91 by 25 KB, 0.86 by 50.
DEEP_BYTES, DEEP_THREADS = {"whole": 50 * 1024, "ragged": 32 * 1024}, 256
# Threads, packs in registers and packs at most, before a cluster has sixteen blocks: of half types and of long rows, in
# one piece. 64 slabs of 1000 by 196 floats reach 0.87 so, 0.79 by sixteen; 64 of 900 by 304 bfloat16 0.69 and 0.53; but
# 85 of 2048 by 96 floats 0.84 and 0.92, strips of 4096 by 512 bfloat16 0.75 and 0.91.
DEEPER = {4: (256, 10, 30), 2: (192, 8, 24)}
# Parts of slabs as a stretch of packs, at most, where rows are not whole packs; others are better held by words. 3971
# slabs of 256 by 33 floats reach 0.93 of a copy by two, by words 0.98; 20000 of 21 by 77, by one, 0.91 and 0.97. Words
# of halves are two columns: 2000 slabs of 256 by 31 reach 0.92 by packs, 0.80 by words; but 127 of 1009 by 31, by two,
# 0.71 and 0.75, and 3971 of 256 by 33, by one, 0.63 and 0.80.
RAGGED_UNIT, RAGGED_PARTS = 32, {4: 1, 2: 2}
# Columns of halves that are held so in any number of parts: 200 slabs of 5000 by 17 reach 0.69 so, by words 0.60; but
# 400 of 2000 by 18 0.68 and 0.78.
NARROW_HALVES = 17
# Parts from which few threads hold many packs in registers: float slabs of 172 KB reach 0.97 so by clusters of eight,
# 0.92 by 8 packs.
MANY_PARTS, HIGH_PACKS, HIGH_THREADS = 8, 16, 96
# Of rows shorter than a pack: 65536 slabs of 256 by 2 bfloat16 reach 0.94 so, 0.70 by 8, whose registers are too many.
FOLDED_PACKS = 4
# Of a gang's blocks: threads, packs in registers and packs at most. 34 slabs of 20000 by 48 bfloat16 reach 0.76 by 192
# threads of 24 packs, 0.72 by 252 of 20; 16 of 100000 by 20 floats 0.77 by 255 of 20, 0.74 by 190.
GANG, WORD_GANG = {4: (256, KEPT, 20), 2: (192, KEPT, 24)}, (256, WORDS, 2 * WORDS)
GANG_SHARE = 2  # of the blocks that a GPU holds at once, which a gang is at most: others load while it waits
# Packs and threads of a block that takes tickets, of which a multiprocessor holds several.
TICKET_PACKS, TICKET_THREADS = 8, 256
UNIT_SHARE = 2  # of the L2: a strip of dim, at most, as long as strips are left to be narrowed
STRIP_BYTES = 128  # of a row segment: a line of the caches
# Two lines where clusters of two to four then hold dim: 32 slabs of 256 by 4096 floats reach 0.98 so, 0.96 by one.
DOUBLED_DIM = range(129, 513)
# Rows that are not cut into strips where a cluster holds dim of them: short ones, and longer ones that are no whole
# lines. 1310 slabs of 256 by 100 floats reach 0.97 of a copy whole, 0.62 by strips.
CONTIGUOUS_BYTES, UNEVEN_BYTES = 256, 1024
MAX_UNIT = 512  # packs side by side of a contiguous tile, at most
WIDEST = 256  # packs of a strip's row, at most
# Threads of a block that covers several slabs; fewer where rows are no whole packs: one slab of 48 threads reaches 0.88
# of a copy, five together 0.85.
SMALL_BLOCK, SMALL_CUT_BLOCK = 256, 64


def tile_for(case: Case, device: DeviceProperties) -> Tile | None:
    """The tile that a case is best served by; None for small slabs, of which a block takes many."""
    view, itemsize = view_of(case), dtypes.itemsize(case.dtype)
    tile = one_read_tile(view, itemsize, device)
    if is_small(case) and (tile is None or tile.group == 0):
        return None
    if tile is None:
        return gang_tile(view, itemsize, device) or ticket_tile(view, itemsize, device)
    return less_crowded(tile, view, device) if itemsize < 4 and tile.layout == "whole" and not tile.slots else tile


def one_read_tile(view: View, itemsize: int, device: DeviceProperties) -> Tile | None:
    """The tile of a single block or cluster that holds all of dim; None where none does."""
    for cut in cuts(view, itemsize):
        for parts in clusters(device):
            if cut.layout == "ragged" and parts > ragged_parts(cut, itemsize):
                break
            tile = held_tile(view, cut, itemsize, parts)
            if tile is not None and tile.shared_bytes <= device.shared_per_block_optin:
                return several(tile, view)
    return word_tile_for(view, itemsize, device)


def ragged_parts(cut: Cut, itemsize: int) -> int:
    if itemsize < 4 and cut.width <= NARROW_HALVES:
        return CLUSTERS[-1]
    return RAGGED_PARTS[itemsize] if cut.segment <= RAGGED_UNIT else 0


def held_tile(view: View, cut: Cut, itemsize: int, parts: int) -> Tile | None:
    """The tile of one of `parts` blocks, in registers or in slots as well; None where there should be more of them."""
    rows, whole, many = -(-view.dim // parts), cut.layout == "whole", parts >= MANY_PARTS
    tile = tile_of(view, cut, rows)
    if tile is not None and view.fold and tile.packs > FOLDED_PACKS:
        folded = tile_of(view, cut, rows, FOLDED_PACKS)
        tile = folded if folded is not None and folded.group else tile
    if tile is not None and tile.held_bytes > TILE_BYTES[itemsize]:
        tile = None
    if tile is not None and many and whole:
        high = deep_tile(view, cut, rows, HIGH_THREADS, HIGH_PACKS)
        tile = tile if high is None else replace(high, bound=LARGE_BOUND)
    if tile is None and (itemsize == 2 or many):
        tile = deep_tile(view, cut, rows, DEEP_THREADS, KEPT)
        tile = None if tile is None or tile.held_bytes > DEEP_BYTES[cut.layout] else roomy(tile)
    in_one_piece = whole and cut.width == view.inner
    if tile is None and in_one_piece and parts == MANY_PARTS and (itemsize == 2 or cut.segment > WARP):
        tile = deep_tile(view, cut, rows, *DEEPER[itemsize])
        tile = roomy(tile) if tile else None
    return cluster_of(parts, tile) if tile else None


def roomy(tile: Tile) -> Tile:
    """With the registers of CUT_BOUND, which packs in slots and what is made of them need."""
    threads = -(-tile.threads // 32) * 32
    return replace(tile, bound=(threads, max(1, CUT_BOUND[0] // threads)))


def less_crowded(tile: Tile, view: View, device: DeviceProperties) -> Tile:
    """With more registers, where fewer blocks of a multiprocessor run all tiles at once all the same.

    Of a copy on an H200, 128 by 32768 bfloat16 reach 0.89 by 80 registers, 0.81 by 64, of which some are spilled.
    """
    blocks = tile.parts * tile.strips(view) * -(-view.outer // tile.slabs)
    warps = -(-tile.segment * tile.at_once * tile.slabs // 32)
    if blocks > device.multiprocessors * (CUT_BOUND[0] // (32 * warps)):
        return tile
    return replace(tile, bound=CUT_BOUND)


def several(tile: Tile, view: View) -> Tile:
    """Several slabs a block, where one alone would be few threads."""
    if tile.parts > 1 or tile.slots or view.inner != tile.width:
        return tile
    if tile.group:  # few packs leave room for more blocks; halves whose columns are several of a pack need registers
        blocks = 5 if tile.packs <= 2 else 3 if tile.packs > 4 and tile.fold and tile.per_pack == 8 else 4
        tile = replace(tile, bound=(SMALL_BLOCK, blocks))
    block = SMALL_BLOCK if tile.layout == "whole" else SMALL_CUT_BLOCK
    if tile.group == 1 and tile.per_pack == 4:
        block = SMALL_CUT_BLOCK
    return replace(tile, slabs=max(1, min(64, block // tile.threads)))


def gang_tile(view: View, itemsize: int, device: DeviceProperties) -> Tile | None:
    """The tile of a block whose gang holds all of dim; None where a GPU has no room for it beside others."""
    for cut in long_cuts(view, itemsize):
        threads, kept, packs = GANG[itemsize] if cut.layout != "shifted" else WORD_GANG
        at_once = threads // cut.segment
        rows = packs * (at_once - at_once % cut.per_pack if cut.layout == "shifted" else at_once)
        if cut.layout == "ragged":
            rows = (rows * cut.segment * cut.per_pack - cut.per_pack) // cut.width
        if rows < 1:
            continue
        tile = deep_tile(view, cut, min(rows, view.dim), threads, kept, packs)
        if tile is None:
            continue
        tile = replace(roomy(tile), parts=-(-view.dim // tile.rows), exchange="gang")
        if tile.parts <= resident(tile, device) // GANG_SHARE:
            return tile
    return None


def ticket_tile(view: View, itemsize: int, device: DeviceProperties) -> Tile:
    """The tile of a block that sums up its share of dim, or reads it once more from the L2."""
    tiles = [
        replace(tile, parts=-(-view.dim // tile.rows), exchange="tickets")
        for cut in long_cuts(view, itemsize)
        if (tile := full_tile(view, cut, TICKET_THREADS)) is not None
    ]
    return next((tile for tile in tiles if unit_bytes(tile) <= device.l2_bytes // UNIT_SHARE), tiles[0])


def unit_bytes(tile: Tile) -> int:
    """Of the tiles that share columns."""
    return tile.parts * tile.held_bytes


def full_tile(view: View, cut: Cut, threads: int) -> Tile | None:
    """The tile of as many rows as so many threads hold."""
    packs = TICKET_PACKS if cut.layout != "shifted" else WORDS
    rows = threads // cut.segment * packs
    if cut.layout == "ragged":
        rows = (rows * cut.segment * cut.per_pack - cut.per_pack) // cut.width
    while rows >= 1:
        tile = tile_of(view, cut, min(rows, view.dim), packs)
        if tile is not None and tile.threads <= threads:
            most = (BOUND if tile.layout == "whole" else CUT_BOUND)[0]
            return replace(tile, bound=(threads, max(1, most // threads)))
        rows -= max(1, rows // 16)
    return None


def cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """Of packs, from the one that memory serves best; none where rows that are no whole packs are long."""
    per_pack, row = PACK // itemsize, view.inner * itemsize
    if row % PACK == 0:
        if row <= CONTIGUOUS_BYTES or (row % STRIP_BYTES and row <= UNEVEN_BYTES):
            yield Cut("whole", view.inner // per_pack, view.inner, per_pack)
        if row < CONTIGUOUS_BYTES:
            return
        packs = STRIP_BYTES // PACK * (2 if view.dim in DOUBLED_DIM else 1)
        while view.dim * packs * PACK < WIDENED_BYTES and 2 * packs * per_pack <= view.inner and packs < WIDEST:
            packs *= 2
        segment = evenly(view.inner // per_pack, packs)
        yield Cut("whole", segment, segment * per_pack, per_pack)
        return
    unit = view.inner // gcd(view.inner, per_pack)
    if unit <= MAX_UNIT:
        yield Cut("ragged", unit, view.inner, per_pack)


def long_cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """As cuts, and narrow strips of rows that are no whole packs, where a slab is too much."""
    row = view.inner * itemsize
    yield from cuts(view, itemsize)
    if row % PACK and row > NARROW_BYTES:
        yield narrow_cut(view, itemsize)
