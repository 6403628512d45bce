"""Which tile of words of 4 bytes holds a view [outer, dim, inner] whose rows begin anywhere, for axis_choices.

Of tiles that hold dim, those are best of which a GPU holds most bytes at once: threads are whole warps, each of as many
words as registers allow. Where that is about equal, wide rows are, which memory serves better.
"""

from __future__ import annotations

from kernelbench import DeviceProperties

from .axis_tiles import (
    CLUSTERS,
    PACK,
    WIDENED_BYTES,
    WORD,
    Cut,
    Tile,
    View,
    cluster_of,
    clusters,
    evenly,
    resident,
    tile_of,
)

# Of a tile. Of a copy on an H200, 500 slabs of 512 by 65 floats reach 0.88 by 33 KB, 0.85 by 16; 64 of 1000 by 255
# bfloat16 0.69 by 33 KB, 0.61 by 16; but 64 of 1000 by 513 floats 0.84 by 14 KB, 0.77 by 51.
TILE_BYTES = 34 * 1024
# Of a tile of a cluster at least: 127 slabs of 1009 by 63 bfloat16 reach 0.71 by eight blocks of 16 KB, 0.54 by
# 16 of 8 KB; 4000 of 100 by 49 0.84 by one block, 0.66 by two of 5 KB.
LEAST_BYTES = 9 * 1024
# Rows that are held whole where few blocks hold dim of them. 2000 slabs of 128 by 130 floats reach 0.93 by two blocks,
# 0.65 by strips of 44; 3000 of 50 by 257 0.94 and 0.79; but 64 of 256 by 197 0.66 by eight, 0.81 by strips of 50.
WHOLE_BYTES, WHOLE_PARTS = 2048, 4
# Of a segment of a row, of strips: where clusters of up to eight hold dim, and where dim is longer.
WIDE_BYTES, WIDE_PARTS = {4: 512, 2: 384}, 8
NARROW_BYTES = 256
WIDEST = 256  # words of a strip's row, at most
# Of what a GPU holds at once of another cut's tile, what that of an earlier cut must reach. 127 slabs of 1009 by 63
# floats reach 0.89 by 16 blocks, 0.86 by eight, of which a GPU holds 0.86 as much; but 64 of 300 by 901 0.84 by strips
# of 113 and 0.75 as much, 0.76 by strips of 61.
EARLIER_CUT = 0.74


def word_tile_for(view: View, itemsize: int, device: DeviceProperties) -> Tile | None:
    """The tile of a block or cluster that holds all of dim; None where none does."""
    if view.inner * itemsize % PACK == 0:
        return None
    best, most = None, 0
    for cut, parts in cuts(view, itemsize).items():
        for tile in held_tiles(view, cut, parts, device):
            size = resident(tile, device) * tile.held_bytes  # that a GPU holds at once
            share = 1.0 if best is None or tile.width == best.width else EARLIER_CUT
            if share * size >= most:
                best, most = tile, size
    return best


def held_tiles(view: View, cut: Cut, most_parts: int, device: DeviceProperties) -> list[Tile]:
    """Of a block, or of the blocks of a cluster; the fewest first."""
    found = []
    for parts in clusters(device):
        tile = tile_of(view, cut, -(-view.dim // parts)) if parts <= most_parts else None
        if tile is not None and (LEAST_BYTES if parts > 1 else 0) <= tile.held_bytes <= TILE_BYTES:
            found.append(cluster_of(parts, tile))
    return [tile for tile in found if tile.shared_bytes <= device.shared_per_block_optin]


def cuts(view: View, itemsize: int) -> dict[Cut, int]:
    """From the one that memory serves best, with the most blocks of a cluster that it is worth."""
    row = view.inner * itemsize
    whole = {strips(view, itemsize, row): WHOLE_PARTS} if row <= WHOLE_BYTES else {}
    return (
        whole | {strips(view, itemsize, WIDE_BYTES[itemsize]): WIDE_PARTS} | {narrow_cut(view, itemsize): CLUSTERS[-1]}
    )


def narrow_cut(view: View, itemsize: int) -> Cut:
    """Strips for long dim."""
    return strips(view, itemsize, NARROW_BYTES)


def strips(view: View, itemsize: int, strip: int) -> Cut:
    """Strips of rows that begin anywhere, of so many bytes, or more where there are few rows."""
    per_word, most = WORD // itemsize, strip // itemsize
    while view.dim * most * itemsize < WIDENED_BYTES and 2 * most <= view.inner and most < WIDEST * per_word:
        most *= 2
    width = evenly(view.inner, most)
    return Cut("shifted", -(-(width + per_word - 1) // per_word), width, per_word)
