"""Tunable steps away from the tile of axis_plans, for softmax and log-softmax along an axis that is not the last."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelbench import FLOATS, Case, Tunable, Unsupported
from .axis_tiles import Tile, View, tile_of, view_of

# Whole strips, a cluster, contiguous slabs, few long rows, strips of 4-byte loads.
SHAPES = (((1, 128, 32768), 1), ((512, 896, 48), 1), ((64, 1000, 196), 1), ((8, 21, 262144), 1), ((256, 256, 1025), 1))


@dataclass(frozen=True)
class TileStep:
    """Arguments of a plan beside case and device; None and 0 keep the choice of the rule."""

    packs: int | None = None  # per thread
    blocks: int = 0  # of the cluster that shares dim: doubled so many times, halved below 0
    loads: int | None = None  # hints of row_packs.cuh
    stores: int | None = None

    @property
    def options(self) -> dict[str, int]:
        """Defines in place of the tile's."""
        given = {"LOADS": self.loads, "STORES": self.stores}
        return {name: value for name, value in given.items() if value is not None}

    def taken(self, tile: Tile | None, view: View, most_blocks: int) -> Tile | None:
        """The tile, changed; None for small slabs, which have none. Unsupported where no block holds it."""
        if not self.blocks and (not self.packs or (tile is not None and self.packs == tile.packs)):
            return tile
        if tile is None:
            raise Unsupported("small slabs have neither packs per thread nor clusters")
        parts = tile.parts
        if tile.shared_packs:
            raise Unsupported("a tile with packs in shared memory cannot be changed")
        if self.blocks:
            if tile.exchange not in ("block", "cluster"):
                raise Unsupported("the number of blocks that share dim through global memory cannot be changed")
            parts = parts << self.blocks if self.blocks > 0 else parts >> -self.blocks
            if not 1 <= parts <= most_blocks:
                raise Unsupported(f"blocks of a cluster must be at least 1 and at most {most_blocks}, got {parts}")
        rows = -(-view.dim // parts) if self.blocks else tile.rows
        found = tile_of(view, tile, rows, self.packs or tile.packs)
        if found is None or (parts > 1 and found.rows * (parts - 1) >= view.dim):
            raise Unsupported(f"no {parts} blocks hold {view.dim} rows by {self.packs or tile.packs} packs per thread")
        exchange = tile.exchange if not self.blocks else "cluster" if parts > 1 else "block"
        return replace(found, parts=parts, exchange=exchange)


def layout(case: Case) -> str:
    view = view_of(case)
    return f"{view.dim} x {view.inner}"


def tunable(operation: str) -> Tunable:
    """What a search may try for `operation`, whose plan takes the fields of TileStep as arguments."""
    values = {"packs": (0, 1, 2, 3, 4, 5, 6, 7, 8), "blocks": (-1, 0, 1), "loads": (0, 1), "stores": (0, 1)}
    return Tunable(
        values,
        layout=layout,
        cases=tuple(Case(operation, shape, axis, dtype) for dtype in FLOATS for shape, axis in SHAPES),
    )
