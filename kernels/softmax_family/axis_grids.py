"""Grids of tiles, and how many blocks a GPU holds at once, for kernels that include one_read_axis.cuh."""

from __future__ import annotations

from kernelbench import DeviceProperties, Unsupported
from .axis_tiles import Tile, View
from .hardware import SCHEDULERS, WARP
from .slab_plans import MOST_UNITS

AHEAD_SHARE = 3  # a third of the L2 is summed up before results follow, while columns of a strip are joined


def lead_of(tile: Tile, view: View, ahead: int) -> int:
    """Tiles between summing up a tile and writing its results: those of a strip, and `ahead` bytes of other strips."""
    tiles = tile.parts * tile.strips(view) * view.outer
    return min(tiles, tile.parts + ahead // tile.held_bytes)


def grid_of(tile: Tile, view: View, device: DeviceProperties, lead: int = 0) -> tuple[int, int, int]:
    """The grid as place_of() reads it: strips along x and slabs along y and z, or all along x.

    `lead`: tiles of lead_of(). Raises Unsupported for more units or blocks than a launch may have.
    """
    strips = tile.strips(view)
    if tile.exchange in ("tickets", "co-resident"):
        if (units := strips * view.outer) > MOST_UNITS:
            raise Unsupported(f"strips of slabs whose blocks wait must be at most {MOST_UNITS}, got {units}")
        grid = (tile.parts * units + lead, 1, 1)
    elif strips > 1:
        rows = min(view.outer, device.max_grid[1])
        grid = (tile.parts * -(-strips // tile.held_strips), rows, -(-view.outer // rows))
    else:
        grid = (tile.parts * -(-view.outer // tile.slabs), 1, 1)
    for axis, (asked, most) in enumerate(zip(grid, device.max_grid, strict=True)):
        if asked > most:
            raise Unsupported(f"blocks along axis {axis} of the grid must be at most {most}, got {asked}")
    return grid


def resident_blocks_of_gpu(tile: Tile, device: DeviceProperties) -> int:
    """Blocks that a GPU holds at once, if the compiler takes all registers that it may."""
    threads = -(-tile.threads * tile.slabs // WARP) * WARP
    bound, blocks = tile.bound
    warps = -(-max(bound, WARP) * blocks // (SCHEDULERS * WARP)) * SCHEDULERS  # as many on each of them
    registers = min(255, device.registers_per_multiprocessor // (warps * WARP) // 8 * 8)
    return device.multiprocessors * device.resident_blocks(threads, registers, tile.shared_bytes)
