"""The choice of a tile of a view [outer, dim, inner], for kernels that include one_read_axis.cuh.

A tile is what one block holds in registers and shared memory: all rows of dim or a share of them, by all of inner or a
strip of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd

from kernelbench import Case, DeviceProperties, dtypes
from .axis_grids import resident
from .axis_tiles import (
    BOUND,
    CLUSTERS,
    CUT_BOUND,
    LARGE_BOUND,
    MOST_LOADS,
    PACK,
    WARP,
    WIDENED_BYTES,
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
from .slab_plans import SMALL_BYTES, is_small
from .unaligned_choices import NARROW_BYTES, narrow_cut, unaligned_tile_for

# Fitted to recorded runs, by the share of a copy's bandwidth that a tile reaches.
TILE_BYTES = {4: 32 * 1024, 2: 16 * 1024}  # largest tile kept in registers while a larger cluster could still halve it
KEPT = 8  # packs per thread in registers where the rest is in shared memory
DEEP_BYTES, DEEP_THREADS = {"whole": 50 * 1024, "ragged": 32 * 1024}, 256  # largest such tile, by layout
# (threads, packs in registers, most packs), by itemsize: tried for half types and for long uncut rows, before a cluster
# gets sixteen blocks.
DEEPER = {4: (256, 10, 30), 2: (192, 8, 24)}
# Most parts of dim, by itemsize, for which slabs whose rows are not whole packs are read as one stretch of packs. With
# more parts 4-byte loads are faster; a load of halves covers two columns, so their limit is higher.
RAGGED_UNIT, RAGGED_PARTS = 32, {4: 1, 2: 2}
NARROW_HALVES = 17  # columns of halves up to which packs are faster for any number of parts
# Parts from which few threads hold many packs in registers.
MANY_PARTS, HIGH_PACKS, HIGH_THREADS = 8, 16, 96
FOLDED_PACKS = 4  # per thread, of rows shorter than a pack, which take more registers
# (threads, packs in registers, most packs) per block of a co-resident group, by itemsize; then for unaligned rows.
CO_RESIDENT = {4: (256, KEPT, 20), 2: (192, KEPT, 24)}
UNALIGNED_CO_RESIDENT = (256, MOST_LOADS, 2 * MOST_LOADS)
CO_RESIDENT_SHARE = 2  # a group is at most a half of the blocks that a GPU holds: others load while it waits
# Packs and threads of a block that takes tickets, of which a multiprocessor holds several.
TICKET_PACKS, TICKET_THREADS = 8, 256
UNIT_SHARE = 2  # a strip of dim is at most a half of the L2, while narrower strips are left
STRIP_BYTES = 128  # per row of a strip: a line of the caches
DOUBLED_DIM = range(129, 513)  # dim for which strips are two lines wide: clusters of two to four then hold it
# Most bytes of rows that are not cut into strips: of any rows, and of rows that are not whole lines.
CONTIGUOUS_BYTES, UNEVEN_BYTES = 256, 1024
OWNED_ROWS = 32  # most rows of a thread that has columns of its own, where rows are no multiple of 16 bytes
MAX_UNIT = 512  # packs of a contiguous tile's row, at most
WIDEST = 256  # packs of a strip's row, at most
SMALL_BLOCK, SMALL_CUT_BLOCK = 256, 64  # threads per block of several slabs; the second where rows are not whole packs


def tile_for(case: Case, device: DeviceProperties) -> Tile | None:
    """The best tile for a case; None for small slabs, of which a block takes many."""
    view, itemsize = view_of(case), dtypes.itemsize(case.dtype)
    tile = one_read_tile(view, itemsize, device)
    if is_small(case) and (tile is None or tile.group == 0):
        return None
    if tile is None:
        return co_resident_tile(view, itemsize, device) or ticket_tile(view, itemsize, device)
    return (
        less_crowded(tile, view, device) if itemsize < 4 and tile.layout == "whole" and not tile.shared_packs else tile
    )


def one_read_tile(view: View, itemsize: int, device: DeviceProperties) -> Tile | None:
    """The tile of a single block or cluster that holds all of dim; None where none does."""
    if (tile := owned_tile(view, itemsize)) is not None:
        return tile
    for cut in cuts(view, itemsize):
        for parts in clusters(device):
            if cut.layout == "ragged" and parts > ragged_parts(cut, itemsize):
                break
            tile = held_tile(view, cut, itemsize, parts)
            if tile is not None and tile.shared_bytes <= device.shared_per_block_optin:
                return several(tile, view)
    return unaligned_tile_for(view, itemsize, device)


def owned_tile(view: View, itemsize: int) -> Tile | None:
    """The tile whose threads have columns of their own, where rows are no multiple of 16 bytes; else None."""
    row = view.inner * itemsize
    if row % PACK == 0 or view.outer * view.dim == 1 or view.dim > OWNED_ROWS or view.dim * row < SMALL_BYTES:
        return None
    tile = tile_of(view, narrow_strips(view, itemsize, WIDEST), view.dim, view.dim)
    return several(tile, view) if tile is not None and tile.group else None


def narrow_strips(view: View, itemsize: int, packs: int) -> Cut:
    """Strips of at most `packs` packs side by side, of the size that fills rows which are no multiple of 16 bytes."""
    nbytes = narrow_pack(view, itemsize)
    segment = evenly(view.inner * itemsize // nbytes, packs)
    return Cut(f"whole-{nbytes}", segment, segment * nbytes // itemsize, nbytes // itemsize)


def ragged_parts(cut: Cut, itemsize: int) -> int:
    if itemsize < 4 and cut.width <= NARROW_HALVES:
        return CLUSTERS[-1]
    return RAGGED_PARTS[itemsize] if cut.segment <= RAGGED_UNIT else 0


def held_tile(view: View, cut: Cut, itemsize: int, parts: int) -> Tile | None:
    """The tile of each of `parts` blocks, in registers and shared memory; None where more blocks should share dim."""
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
    """The tile with the registers of CUT_BOUND, which packs in shared memory need while they are worked on."""
    threads = -(-tile.threads // 32) * 32
    return replace(tile, bound=(threads, max(1, CUT_BOUND[0] // threads)))


def less_crowded(tile: Tile, view: View, device: DeviceProperties) -> Tile:
    """The tile with 80 registers instead of 64, which spill, if all tiles are still resident at once."""
    blocks = tile.parts * tile.strips(view) * -(-view.outer // tile.slabs)
    warps = -(-tile.segment * tile.at_once * tile.slabs // 32)
    if blocks > device.multiprocessors * (CUT_BOUND[0] // (32 * warps)):
        return tile
    return replace(tile, bound=CUT_BOUND)


def several(tile: Tile, view: View) -> Tile:
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


def co_resident_tile(view: View, itemsize: int, device: DeviceProperties) -> Tile | None:
    """The tile of a block whose co-resident group holds all of dim; None where a group would fill the GPU."""
    found = (co_resident_of(view, cut, co_resident_size(cut, itemsize), device) for cut in long_cuts(view, itemsize))
    return next((tile for tile in found if tile is not None), None)


def co_resident_size(cut: Cut, itemsize: int) -> tuple[int, int, int]:
    """(Threads, packs in registers, most packs) per block of a co-resident group."""
    return CO_RESIDENT[itemsize] if cut.layout != "shifted" else UNALIGNED_CO_RESIDENT


def co_resident_of(
    view: View, cut: Cut, size: tuple[int, int, int], device: DeviceProperties, share: int = CO_RESIDENT_SHARE
) -> Tile | None:
    """The same tile of one cut, of the size of co_resident_size(), if a group is at most 1 / `share` of the blocks that
    a GPU holds."""
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


def ticket_tile(view: View, itemsize: int, device: DeviceProperties) -> Tile:
    """The tile of a block that sums up its share of dim, and reads it once more from the L2."""
    tiles = [tile for cut in long_cuts(view, itemsize) if (tile := ticket_of(view, cut)) is not None]
    return next((tile for tile in tiles if unit_bytes(tile) <= device.l2_bytes // UNIT_SHARE), tiles[0])


def ticket_of(view: View, cut: Cut) -> Tile | None:
    """The same tile of one cut."""
    tile = full_tile(view, cut, TICKET_THREADS)
    return replace(tile, parts=-(-view.dim // tile.rows), exchange="tickets") if tile else None


def unit_bytes(tile: Tile) -> int:
    """Bytes of the tiles that share columns."""
    return tile.parts * tile.held_bytes


def full_tile(view: View, cut: Cut, threads: int) -> Tile | None:
    """The tile of as many rows as `threads` threads hold; None if they hold none."""
    packs = TICKET_PACKS if cut.layout != "shifted" else MOST_LOADS
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
    """Cuts into packs, the best for memory first; none for long rows that are not whole packs."""
    per_pack, row = PACK // itemsize, view.inner * itemsize
    if view.outer * view.dim == 1:  # the last pack may be a part
        segment = evenly(-(-view.inner // per_pack), WIDEST)
        yield Cut("whole", segment, segment * per_pack, per_pack)
        return
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
    """The cuts of cuts(), then narrow strips where rows are not whole packs and a slab is too large."""
    row = view.inner * itemsize
    yield from cuts(view, itemsize)
    if row % PACK and row > NARROW_BYTES:
        yield narrow_cut(view, itemsize)
