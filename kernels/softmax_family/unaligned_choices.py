"""The choice of a tile of 4-byte loads for a view [outer, dim, inner] whose rows begin anywhere, for axis_choices.

The best tile that holds dim is the one of which a GPU holds most bytes at once: whole warps of threads, each with as
many loads as registers allow. If this is about equal, the tile with wider rows wins, because memory reads it faster.
"""

from __future__ import annotations

from kernelbench import DeviceProperties
from .axis_grids import resident
from .axis_tiles import (
    CLUSTERS,
    LOAD,
    PACK,
    WIDENED_BYTES,
    Cut,
    Tile,
    View,
    cluster_of,
    clusters,
    evenly,
    tile_of,
)

# Fitted to recorded runs, by the share of a copy's bandwidth that a tile reaches.
TILE_BYTES = 34 * 1024  # largest tile
LEAST_BYTES = 9 * 1024  # smallest tile of a cluster
# Rows of at most WHOLE_BYTES are not cut where at most WHOLE_PARTS blocks then hold dim.
WHOLE_BYTES, WHOLE_PARTS = 2048, 4
# Bytes per row of a strip, by itemsize, where clusters of at most WIDE_PARTS hold dim; then for longer dim.
WIDE_BYTES, WIDE_PARTS = {4: 512, 2: 384}, 8
NARROW_BYTES = 256
WIDEST = 256  # 4-byte loads of a strip's row, at most
# The tile of an earlier cut is preferred if the GPU holds at least this share of the bytes that it holds of the best.
EARLIER_CUT = 0.74


def unaligned_tile_for(view: View, itemsize: int, device: DeviceProperties) -> Tile | None:
    """The tile of a block or cluster that holds all of dim; None where none does, and where rows are whole packs."""
    if view.inner * itemsize % PACK == 0:
        return None
    best, most = None, 0
    for cut, parts in cuts(view, itemsize).items():
        for tile in held_tiles(view, cut, parts, device):
            size = resident(tile, device) * tile.held_bytes  # bytes that a GPU holds at once
            share = 1.0 if best is None or tile.width == best.width else EARLIER_CUT
            if share * size >= most:
                best, most = tile, size
    return best


def held_tiles(view: View, cut: Cut, most_parts: int, device: DeviceProperties) -> list[Tile]:
    """The tiles of a block and of clusters of at most `most_parts` that hold dim, the fewest blocks first."""
    found = []
    for parts in clusters(device):
        tile = tile_of(view, cut, -(-view.dim // parts)) if parts <= most_parts else None
        if tile is not None and (LEAST_BYTES if parts > 1 else 0) <= tile.held_bytes <= TILE_BYTES:
            found.append(cluster_of(parts, tile))
    return [tile for tile in found if tile.shared_bytes <= device.shared_per_block_optin]


def cuts(view: View, itemsize: int) -> dict[Cut, int]:
    """Cuts, the best for memory first, each with the most blocks per cluster for which it is tried."""
    row = view.inner * itemsize
    whole = {strips(view, itemsize, row): WHOLE_PARTS} if row <= WHOLE_BYTES else {}
    return (
        whole | {strips(view, itemsize, WIDE_BYTES[itemsize]): WIDE_PARTS} | {narrow_cut(view, itemsize): CLUSTERS[-1]}
    )


def narrow_cut(view: View, itemsize: int) -> Cut:
    """Strips for long dim."""
    return strips(view, itemsize, NARROW_BYTES)


def strips(view: View, itemsize: int, strip: int) -> Cut:
    """Strips of rows that begin anywhere, `strip` bytes wide, or wider where there are few rows."""
    per_load, most = LOAD // itemsize, strip // itemsize
    while view.dim * most * itemsize < WIDENED_BYTES and 2 * most <= view.inner and most < WIDEST * per_load:
        most *= 2
    width = evenly(view.inner, most)
    return Cut("shifted", -(-(width + per_load - 1) // per_load), width, per_load)
