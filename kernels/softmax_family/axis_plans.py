"""Launch plans of softmax and log-softmax along an axis that is not the last, for kernels with one_read_axis.cuh."""

from __future__ import annotations

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, dtypes
from ..common.launch_helpers import evicts_first
from .axis_candidates import AxisChoice
from .axis_grids import AHEAD_SHARE, grid_of, lead_of, resident_blocks_of_gpu
from .axis_tiles import Tile, View, view_of
from .hardware import PACK, USUAL_CLOCK_HZ
from .slab_plans import SHARED_CONSTANTS, Slabs, slab_plan

MANY_PARTS = 8  # from this many parts on, tiles of 4-byte loads start twice as far apart
LOADING_SHARE = 0.6  # share of the resident blocks of co-resident groups that load at once


def staggered_start(tile: Tile, device: DeviceProperties) -> tuple[Scalar, ...]:
    """(Blocks that start one after another, cycles between two starts: the time in which memory reads a tile).

    For co-resident groups only the number of blocks that load at once; nothing for blocks that take tickets.
    """
    if tile.exchange == "tickets":
        return ()
    if tile.exchange == "co-resident":
        return (Scalar("int32", max(1, int(resident_blocks_of_gpu(tile, device) * LOADING_SHARE))),)
    cycles = tile.slabs * tile.held_bytes / device.peak_bytes_per_s * (device.max_clock_hz or USUAL_CLOCK_HZ)
    if tile.parts == 1:  # blocks that do not wait for each other
        cycles /= 2
    if tile.layout == "shifted" and tile.parts >= MANY_PARTS:
        cycles *= 2
    return Scalar("int32", resident_blocks_of_gpu(tile, device)), Scalar("float32", round(cycles, 2))


def defines_of(tile: Tile, view: View) -> tuple[tuple[str, str | int], ...]:
    defines: dict[str, str | int] = {
        "LAYOUT": ("whole", "ragged", "shifted").index("whole" if tile.is_whole else tile.layout),
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
        **SHARED_CONSTANTS,
    }
    if tile.layout.startswith("whole-"):
        defines["PACK_BYTES"] = tile.pack_bytes
    if tile.more_strips:
        defines["STRIPS"] = tile.held_strips
    return tuple(defines.items())


def tile_plan(name: str, case: Case, device: DeviceProperties, tile: Tile, ahead: int | None = None) -> LaunchPlan:
    """The launch of a tile, by an entry whose name begins with `name`.

    `ahead`: bytes of lead_of(), where blocks take tickets.
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
    kind = "packs" if tile.pack_bytes == PACK else f"{tile.pack_bytes}-byte loads"
    if tile.more_strips:
        shared = f"{shared}, and {tile.held_strips} strips of it at once"
    reason = f"{tile.rows} rows of {tile.width} columns per block, {tile.packs} {kind} per thread{shared_packs}"
    nbytes = case.elements * tile.itemsize
    hint = int(evicts_first(nbytes, device))  # 1 of row_packs.cuh
    defines = (*defines_of(tile, view), ("LOADS", hint), ("STORES", hint))
    if nbytes <= device.l2_bytes:  # so short that waiting for parameters counts: the kernel knows the extents
        defines += (("DIM", view.dim), ("INNER", view.inner), ("COLUMNS", tile.width), ("ROWS", tile.rows))
    return LaunchPlan((launch,), defines, scratch, (reason, shared))


def choice_plan(name: str, case: Case, device: DeviceProperties, choice: AxisChoice) -> LaunchPlan:
    """The launch of a tile, or of small slabs."""
    if isinstance(choice, Slabs):
        return slab_plan(name, case, device, choice)
    return tile_plan(name, case, device, choice)
