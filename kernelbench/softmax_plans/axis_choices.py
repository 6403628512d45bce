"""Which tile of a view [outer, dim, inner] a case is best served by, for kernels round common/one_read_axis.cuh.

A tile is what one block holds in registers and shared memory: all rows of dim or a share of them, by all of inner or a
strip of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd

from kernelbench import dtypes
from kernelbench.plans import max_cluster
from kernelbench.records import Case, DeviceProperties
from kernelbench.softmax_plans.axis_tiles import (
    BOUND,
    CUT_BOUND,
    LARGE_BOUND,
    PACK,
    WARP,
    WORD,
    WORDS,
    Cut,
    Tile,
    View,
    deep_tile,
    tile_of,
    view_of,
)
from kernelbench.softmax_plans.slab_plans import is_small

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
# Of tiles of words, as long as clusters are left to halve it: 63 slabs of 256 by 1025 bfloat16 reach 0.75 by 26 KB,
# 0.65 by 13. And by clusters of more than MANY_PARTS, which are for narrow strips alone: 8 slabs of 2000 by 1026 floats
# reach 0.73 by 28 KB, 0.65 by gangs.
WORD_TILE_BYTES, MOST_WORD_BYTES = {4: 20 * 1024, 2: 30 * 1024}, 56 * 1024
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
SHIFTED_BYTES, NARROW_BYTES = {4: 512, 2: 384}, 256  # of a row segment that begins anywhere; where dim is long
MAX_UNIT = 512  # packs side by side of a contiguous tile, at most
WIDENED_BYTES = 16 * 1024  # of a strip of few rows, which is wider in their place
WIDEST, WIDEST_WORDS = 256, 256  # packs of a strip's row, at most
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
            tile = held_tile(view, cut, itemsize, parts)
            if tile is not None and tile.shared_bytes <= device.shared_per_block_optin:
                return several(tile, view)
    return None


def held_tile(view: View, cut: Cut, itemsize: int, parts: int) -> Tile | None:
    """The tile of one of `parts` blocks, in registers or in slots as well; None where there should be more of them."""
    rows, whole, many = -(-view.dim // parts), cut.layout == "whole", parts >= MANY_PARTS
    tile = tile_of(view, cut, rows)
    if cut.layout == "shifted":
        return cluster_of(parts, tile) if tile and tile.held_bytes <= most_word_bytes(cut, itemsize, parts) else None
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


def cluster_of(parts: int, tile: Tile) -> Tile:
    return replace(tile, parts=parts, exchange="cluster" if parts > 1 else "block")


def most_word_bytes(cut: Cut, itemsize: int, parts: int) -> int:
    if parts <= MANY_PARTS:
        return WORD_TILE_BYTES[itemsize]
    return MOST_WORD_BYTES if cut.width * itemsize <= NARROW_BYTES else 0


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


def resident(tile: Tile, device: DeviceProperties) -> int:
    """Blocks that a GPU holds at once, by the registers that the compiler allows for."""
    threads = -(-tile.threads * tile.slabs // 32) * 32
    bound, blocks = tile.bound
    registers = min(255, device.registers_per_multiprocessor // (max(bound, 32) * blocks) // 8 * 8)
    return device.multiprocessors * device.resident_blocks(threads, registers, tile.shared_bytes)


def clusters(device: DeviceProperties) -> tuple[int, ...]:
    """Blocks; the fewest first."""
    return tuple(blocks for blocks in (1, 2, 4, 8, 16) if blocks <= max_cluster(device))


def cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """From the one that memory serves best; each is right for any dim."""
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
        return
    yield shifted_cut(view, itemsize, SHIFTED_BYTES[itemsize])
    yield shifted_cut(view, itemsize, NARROW_BYTES)


def long_cuts(view: View, itemsize: int) -> Iterator[Cut]:
    """As cuts, and narrow strips of rows that are no whole packs, where a slab is too much."""
    row = view.inner * itemsize
    yield from (cut for cut in cuts(view, itemsize) if cut.layout != "shifted")
    if row % PACK and row > NARROW_BYTES:
        yield shifted_cut(view, itemsize, NARROW_BYTES)


def shifted_cut(view: View, itemsize: int, strip: int) -> Cut:
    """Strips of rows that begin anywhere, of so many bytes, or more where there are few rows."""
    per_word, most = WORD // itemsize, strip // itemsize
    while view.dim * most * itemsize < WIDENED_BYTES and 2 * most <= view.inner and most < WIDEST_WORDS * per_word:
        most *= 2
    width = evenly(view.inner, most)
    return Cut("shifted", -(-(width + per_word - 1) // per_word), width, per_word)


def evenly(count: int, most: int) -> int:
    """A share of at most `most`, of as few and equal shares as there are."""
    return -(-count // -(-count // most))
