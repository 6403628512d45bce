"""Launch plans of softmax and log-softmax along an axis that is not the last, for kernels with one_read_axis.cuh."""

from __future__ import annotations

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, Unsupported, dtypes
from .axis_choices import MANY_PARTS, several, tile_for
from .axis_tiles import Tile, View, clusters, resident, view_of
from .axis_tuning import TileStep
from .slab_plans import MOST_UNITS, SHARED_CONSTANTS, slab_plan

USUAL_CLOCK_HZ = 1.5e9  # where a GPU's is not known
AHEAD_SHARE = 3  # a third of the L2 is summed up before results follow, while columns of a strip are joined
LOADING_SHARE = 0.6  # share of the resident blocks of co-resident groups that load at once


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
        grid = (tile.parts * strips, rows, -(-view.outer // rows))
    else:
        grid = (tile.parts * -(-view.outer // tile.slabs), 1, 1)
    for axis, (asked, most) in enumerate(zip(grid, device.max_grid, strict=True)):
        if asked > most:
            raise Unsupported(f"blocks along axis {axis} of the grid must be at most {most}, got {asked}")
    return grid


def staggered_start(tile: Tile, device: DeviceProperties) -> tuple[Scalar, ...]:
    """(Blocks that start one after another, cycles between two starts: the time in which memory reads a tile).

    For co-resident groups only the number of blocks that load at once; nothing for blocks that take tickets.
    """
    if tile.exchange == "tickets":
        return ()
    if tile.exchange == "co-resident":
        return (Scalar("int32", max(1, int(resident(tile, device) * LOADING_SHARE))),)
    cycles = tile.slabs * tile.held_bytes / device.peak_bytes_per_s * (device.max_clock_hz or USUAL_CLOCK_HZ)
    if tile.parts == 1:  # blocks that do not wait for each other
        cycles /= 2
    if tile.layout == "shifted" and tile.parts >= MANY_PARTS:
        cycles *= 2
    return Scalar("int32", resident(tile, device)), Scalar("float32", round(cycles, 2))


def defines_of(tile: Tile, view: View, options: dict[str, int]) -> tuple[tuple[str, str | int], ...]:
    defines: dict[str, str | int] = {
        "LAYOUT": tile.number,
        "ITEM_BYTES": tile.itemsize,
        "PACKS": tile.packs,
        "SLOTS": tile.shared_packs,
        "SEGMENT": tile.lanes,
        "GROUP": tile.group,
        "FOLD": tile.fold,
        "WIDE": tile.segment,
        "HIGH": tile.at_once,
        "WAYS": tile.ways,
        "EXACT": int(tile.is_exact(view)),
        "CLUSTER": tile.parts if tile.exchange == "cluster" else 1,
        "TICKETS": int(tile.exchange == "tickets"),
        "GANG": int(tile.exchange == "co-resident"),
        "THREADS": tile.bound[0],
        "BLOCKS": tile.bound[1],
        "LOADS": 0,
        "STORES": 0,
        **SHARED_CONSTANTS,
    }
    return tuple((defines | options).items())


def tile_plan(
    name: str, case: Case, device: DeviceProperties, tile: Tile, ahead: int | None = None, **options: int
) -> LaunchPlan:
    """The launch of a tile, by an entry whose name begins with `name`.

    `ahead`: bytes of lead_of(), where blocks take tickets. `options`: the defines LOADS and STORES, else 0.
    """
    view = view_of(case)
    strips = tile.strips(view)
    extents = [tile.width, strips, tile.rows, tile.parts]
    scratch: tuple[tuple[str, int], ...] = ()
    lead = 0
    if tile.exchange == "tickets":
        lead = lead_of(tile, view, device.l2_bytes // AHEAD_SHARE if ahead is None else ahead)
        extents += [lead, (tile.parts + lead) // 2]  # sums are joined halfway between the two
        scratch = (("partials", 8 * view.outer * strips * (tile.parts + 1) * tile.width),)
        shared = (
            f"{tile.parts} blocks share dim, more than can be co-resident: by tickets, tiles are read again from the "
            f"L2, {lead} tiles ({lead * tile.held_bytes / 1e6:.1f} MB) after they were summed up"
        )
    elif tile.exchange == "co-resident":
        scratch = (("partials", 8 * view.outer * strips * tile.parts * tile.width),)
        shared = f"a co-resident group of {tile.parts} blocks shares dim"
    elif tile.parts > 1:
        shared = f"a cluster of {tile.parts} blocks shares dim"
    else:
        shared = f"{tile.slabs} slabs per block" if tile.slabs > 1 else "all of dim in one block"
    values = (Scalar("int64", view.outer), Scalar("int32", view.dim), Scalar("int64", view.inner))
    sizes = (Scalar("int32", extent) for extent in extents)
    launch = Launch(
        entry=f"{name}_{dtypes.suffix(case.dtype)}",
        grid=grid_of(tile, view, device, lead),
        block=(tile.segment, tile.at_once, tile.slabs),
        arguments=("x", "y", *(one for one, _ in scratch), *values, *sizes, *staggered_start(tile, device)),
        shared_bytes=tile.shared_bytes,
        co_resident=tile.parts if tile.exchange == "co-resident" else 1,
    )
    shared_packs = f" and {tile.shared_packs} in shared memory" if tile.shared_packs else ""
    kind = "4-byte loads" if tile.layout == "shifted" else "packs"
    reason = f"{tile.rows} rows of {tile.width} columns per block, {tile.packs} {kind} per thread{shared_packs}"
    return LaunchPlan((launch,), defines_of(tile, view, options), scratch, (reason, shared))


def axis_plan(name: str, case: Case, device: DeviceProperties, step: TileStep | None = None) -> LaunchPlan:
    """The launch for a view [outer, dim, inner], by an entry whose name begins with `name`: `softmax_one_read_axis`.

    `step`: changes to the rule's tile. Raises Unsupported for the last axis, and for a step that does not fit.
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
