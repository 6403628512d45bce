"""Launches of softmax and log-softmax along an axis that is not the last, by kernels round common/one_read_axis.cuh."""

from __future__ import annotations

from kernelbench.core import dtypes
from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case, DeviceProperties, Launch, LaunchPlan, Scalar
from kernelbench.softmax_plans.axis_choices import MANY_PARTS, several, tile_for
from kernelbench.softmax_plans.axis_tiles import CHUNK, Tile, View, clusters, resident, view_of
from kernelbench.softmax_plans.axis_tuning import TileStep
from kernelbench.softmax_plans.slab_plans import slab_plan

USUAL_CLOCK_HZ = 1.5e9  # where a GPU's is not known
UNITS = 1 << 18  # of a launch, at most
# Of the L2: what is summed up while the columns of a strip are joined, before it is read again. Of a copy on an H200,
# 8 by 50000 by 48 bfloat16 reach 0.66 by a third of the L2, 0.60 by a fifth, 0.57 by a fifteenth.
AHEAD_SHARE = 3
# Of the blocks of gangs that a GPU holds, those that load at once. Of a copy on an H200, 34 by 20000 by 48 floats reach
# 0.79 so, 0.74 by all of them, 0.75 by a third.
LOADING_SHARE = 0.6


def lead_of(tile: Tile, view: View, ahead: int) -> int:
    """Tiles by which sums are ahead of results: those of a strip, and `ahead` bytes of others."""
    tiles = tile.parts * tile.strips(view) * view.outer
    return min(tiles, tile.parts + ahead // tile.held_bytes)


def grid_of(tile: Tile, view: View, device: DeviceProperties, lead: int = 0) -> tuple[int, int, int]:
    """As place_of reads it: strips side by side and slabs below each other, or all along x. `lead`: of lead_of."""
    strips = tile.strips(view)
    if tile.exchange in ("tickets", "gang"):
        if (units := strips * view.outer) > UNITS:
            raise Unsupported(f"strips of slabs whose blocks wait must be at most {UNITS}, got {units}")
        grid = (tile.parts * units + lead, 1, 1)
    elif strips > 1:
        rows = min(view.outer, device.max_grid[1])
        grid = (tile.parts * strips, rows, -(-view.outer // rows))
    else:
        grid = (tile.parts * -(-view.outer // tile.slabs), 1, 1)
    for axis, (asked, most) in enumerate(zip(grid, device.max_grid, strict=True)):
        if asked > most:
            raise Unsupported(f"blocks along axis {axis} of the grid must be at most {most}, got {asked}")
    return grid


def turns(tile: Tile, device: DeviceProperties) -> tuple[Scalar, ...]:
    """Blocks that begin one after another, and cycles from one to the next: what memory needs to read a tile.

    Of gangs, blocks that load at once; none where tickets are taken.

    Of a copy on an H200, 64 by 1000 by 196 floats by clusters of 16 reach 0.80 so, 0.72 all at once.
    """
    if tile.exchange == "tickets":
        return ()
    if tile.exchange == "gang":
        return (Scalar("int32", max(1, int(resident(tile, device) * LOADING_SHARE))),)
    cycles = tile.slabs * tile.held_bytes / device.peak_bytes_per_s * (device.max_clock_hz or USUAL_CLOCK_HZ)
    if tile.parts == 1:  # which do not wait for each other: 1024 tiles of 16 KB reach 1.01 so, 0.96 by all of it
        cycles /= 2
    if tile.layout == "shifted" and tile.parts >= MANY_PARTS:  # 64 by 1000 by 513 floats 0.84 so, 0.82 else
        cycles *= 2
    return Scalar("int32", resident(tile, device)), Scalar("float32", round(cycles, 2))


def defines_of(tile: Tile, view: View, options: dict[str, int]) -> tuple[tuple[str, str | int], ...]:
    defines: dict[str, str | int] = {
        "LAYOUT": tile.number,
        "ITEM_BYTES": tile.itemsize,
        "PACKS": tile.packs,
        "SLOTS": tile.slots,
        "SEGMENT": tile.lanes,
        "GROUP": tile.group,
        "FOLD": tile.fold,
        "WIDE": tile.segment,
        "HIGH": tile.at_once,
        "WAYS": tile.ways,
        "JOIN_CHUNK": CHUNK,
        "MOST_UNITS": UNITS,
        "EXACT": int(tile.is_exact(view)),
        "CLUSTER": tile.parts if tile.exchange == "cluster" else 1,
        "TICKETS": int(tile.exchange == "tickets"),
        "GANG": int(tile.exchange == "gang"),
        "THREADS": tile.bound[0],
        "BLOCKS": tile.bound[1],
        "LOADS": 0,
        "STORES": 0,
    }
    return tuple((defines | options).items())


def tile_plan(
    name: str, case: Case, device: DeviceProperties, tile: Tile, ahead: int | None = None, **options: int
) -> LaunchPlan:
    """The launch of a tile.

    `name` begins that of the entry. `ahead`: of lead_of, where blocks take tickets. `options` are defines of the kernel
    other than those of the tile: LOADS, STORES, THREADS, BLOCKS.
    """
    view = view_of(case)
    strips = tile.strips(view)
    extents = [tile.width, strips, tile.rows, tile.parts]
    scratch: tuple[tuple[str, int], ...] = ()
    lead = 0
    if tile.exchange == "tickets":
        lead = lead_of(tile, view, device.l2_bytes // AHEAD_SHARE if ahead is None else ahead)
        extents += [lead, (tile.parts + lead) // 2]  # what was summed up is joined halfway to its results
        scratch = (("partials", 8 * view.outer * strips * (tile.parts + 1) * tile.width),)
        shared = (
            f"{tile.parts} blocks share dim, more than a gang: by tickets tiles are read again from the L2,"
            f" {lead} tiles ({lead * tile.held_bytes / 1e6:.1f} MB) after they were summed up"
        )
    elif tile.exchange == "gang":
        scratch = (("partials", 8 * view.outer * strips * tile.parts * tile.width),)
        shared = f"a gang of {tile.parts} blocks shares dim"
    elif tile.parts > 1:
        shared = f"a cluster of {tile.parts} blocks shares dim"
    else:
        shared = f"{tile.slabs} slabs a block" if tile.slabs > 1 else "all of dim in a block"
    values = (Scalar("int64", view.outer), Scalar("int32", view.dim), Scalar("int64", view.inner))
    sizes = (Scalar("int32", extent) for extent in extents)
    launch = Launch(
        entry=f"{name}_{dtypes.suffix(case.dtype)}",
        grid=grid_of(tile, view, device, lead),
        block=(tile.segment, tile.at_once, tile.slabs),
        arguments=("x", "y", *(one for one, _ in scratch), *values, *sizes, *turns(tile, device)),
        shared_bytes=tile.shared_bytes,
        gang=tile.parts if tile.exchange == "gang" else 1,
    )
    slots = f" and {tile.slots} in shared memory" if tile.slots else ""
    kind = "words" if tile.layout == "shifted" else "packs"
    reason = f"{tile.rows} rows of {tile.width} columns a block, {tile.packs} {kind} a thread{slots}"
    return LaunchPlan((launch,), defines_of(tile, view, options), scratch, (reason, shared))


def axis_plan(name: str, case: Case, device: DeviceProperties, step: TileStep | None = None) -> LaunchPlan:
    """The launches of an operation whose entries' names begin with `name`, as `softmax_one_read_axis`.

    `step`: what is to be otherwise than the tile.
    """
    if case.outer_dim_inner[2] < 2:
        raise Unsupported(f"axis must not be the last, got axis {case.axis} of {len(case.shape)}: one_read_rows has it")
    tile = tile_for(case, device)
    if step is not None and (changed := step.taken(tile, view_of(case), clusters(device)[-1])) is not tile:
        assert changed is not None
        tile = several(changed, view_of(case))
    if tile is None:
        return slab_plan(name, case, device)
    return tile_plan(name, case, device, tile, **(step.options if step else {}))
