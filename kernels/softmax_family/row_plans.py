"""Launch plans of rows: of softmax and log-softmax, which include one_read_rows_entries.cuh, and of layer norm."""

from __future__ import annotations

from typing import NamedTuple

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, Unsupported, dtypes
from .hardware import PACK, WARP
from .row_techniques import Choice, Held, Split, Staged, StagedLanes

MAX_COLUMNS = 2**30  # of held rows: int indices of the kernels go up to a block beyond the end of the row


class EntryArguments(NamedTuple):
    """What entries take beside the sizes of rows."""

    arrays: tuple[str, ...] = ("x", "y")  # x the first
    scalars: tuple[Scalar, ...] = ()  # behind the sizes


SOFTMAX = EntryArguments()


def plan_of(
    name: str, choice: Choice, case: Case, device: DeviceProperties, given: EntryArguments = SOFTMAX
) -> LaunchPlan:
    """The launches of a technique; Unsupported where a grid is too large."""
    if isinstance(choice, Held):
        return _held_plan(name, choice, case, device, given)
    if isinstance(choice, Staged):
        return _staged_plan(name, choice, case, device, given)
    if isinstance(choice, StagedLanes):
        return _staged_lanes_plan(name, choice, case, device, given)
    return _split_plan(name, choice, case, device, given)


def checked(launch: Launch, device: DeviceProperties) -> Launch:
    """The launch; Unsupported where its grid is too large."""
    if launch.grid[0] > device.max_grid[0]:
        raise Unsupported(f"blocks must be at most {device.max_grid[0]}, got {launch.grid[0]}")
    return launch


def _common(choice: Choice, technique: str, case: Case) -> tuple[tuple[str, str | int], ...]:
    return (
        ("TECHNIQUE", technique),
        ("ITEM_BYTES", dtypes.itemsize(case.dtype)),
        ("BLOCK", choice.block),
        ("RESIDENT", choice.resident),
        ("HINT", choice.hint),
    )


def _held_plan(name: str, choice: Held, case: Case, device: DeviceProperties, given: EntryArguments) -> LaunchPlan:
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    if choice.warps > 1:
        grid = rows * choice.blocks
        reason = f"{choice.blocks} blocks of {choice.warps} warps per row" if choice.blocks > 1 else ""
        reason = reason or f"{choice.warps} warps per row"
    else:
        grid = -(-rows // (choice.block // choice.lanes * choice.rows))
        reason = f"{choice.lanes} lanes per row, {choice.rows} rows at once"
    reason += f", {choice.packs} packs of 16 bytes per thread in registers"
    if choice.shared_packs:
        reason += f" and {choice.shared_packs} in shared memory"
    if choice.masked:
        reason += "; rows begin anywhere, so packs at their ends are masked"
    launch = Launch(
        f"{name}_{dtypes.suffix(case.dtype)}",
        (grid, 1, 1),
        (choice.block, 1, 1),
        (*given.arrays, Scalar("int64", rows), Scalar("int32", columns), *given.scalars),
        shared_bytes=choice.shared_packs * choice.block * PACK,
    )
    constants = [("PACKS", choice.packs), ("MASKED", int(choice.masked))]
    if choice.warps == 1:
        constants += [("LANES", choice.lanes), ("ROWS", choice.rows)]
    else:
        constants += [
            ("WARPS", choice.warps),
            ("BLOCKS", choice.blocks),
            ("SHARED_PACKS", choice.shared_packs),
            ("RECOMPUTE", int(choice.recompute)),
        ]
    defines = (*_common(choice, "HELD" if choice.warps > 1 else "IN_WARP", case), *constants)
    return LaunchPlan((checked(launch, device),), defines, reasons=(reason,))


def _staged_plan(name: str, choice: Staged, case: Case, device: DeviceProperties, given: EntryArguments) -> LaunchPlan:
    rows, _ = case.rows_columns()
    launch = Launch(
        f"{name}_{dtypes.suffix(case.dtype)}",
        (-(-rows // (choice.block * choice.group)), 1, 1),
        (choice.block, 1, 1),
        (*given.arrays, Scalar("int64", rows), *given.scalars),
    )
    reason = f"{choice.group} whole rows per thread through shared memory: rows do not end with a pack of 16 bytes"
    constants = (("COLUMNS", choice.columns), ("GROUP", choice.group))
    return LaunchPlan((checked(launch, device),), (*_common(choice, "STAGED", case), *constants), reasons=(reason,))


def _staged_lanes_plan(
    name: str, choice: StagedLanes, case: Case, device: DeviceProperties, given: EntryArguments
) -> LaunchPlan:
    rows, columns = case.rows_columns()
    warps, itemsize = choice.block // WARP, dtypes.itemsize(case.dtype)
    launch = Launch(
        f"{name}_{dtypes.suffix(case.dtype)}",
        (-(-rows // (warps * choice.warp_rows)), 1, 1),
        (choice.block, 1, 1),
        (*given.arrays, Scalar("int64", rows), Scalar("int32", columns), *given.scalars),
        shared_bytes=warps * (choice.warp_rows * columns * itemsize + PACK),  # a span may begin within a pack
    )
    reason = (
        f"{choice.lanes} lanes per row, {choice.loads} 4-byte loads each through shared memory: rows end within a pack"
    )
    constants = (("LANES", choice.lanes), ("WORDS", choice.loads), ("GROUP", choice.group), ("ROWS", choice.rows))
    defines = (*_common(choice, "STAGED_LANES", case), *constants)
    return LaunchPlan((checked(launch, device),), defines, reasons=(reason,))


def _split_plan(name: str, choice: Split, case: Case, device: DeviceProperties, given: EntryArguments) -> LaunchPlan:
    rows, columns = case.rows_columns()
    per_pack = PACK // dtypes.itemsize(case.dtype)
    chunk = (choice.packs * choice.block - 1) * per_pack  # wherever a chunk begins, a block holds all its packs
    chunks = -(-columns // chunk)
    grid = (chunks, min(rows, device.max_grid[1]), 1)
    sizes = (Scalar("int64", rows), Scalar("int64", columns), Scalar("int32", chunk))
    suffix = dtypes.suffix(case.dtype)
    launches = (
        Launch(f"{name}_parts_{suffix}", grid, (choice.block, 1, 1), (given.arrays[0], "parts", *sizes)),
        Launch(
            f"{name}_finish_{suffix}",
            grid,
            (choice.block, 1, 1),
            (*given.arrays, "parts", *sizes, *given.scalars),
        ),
    )
    defines = (*_common(choice, "SPLIT", case), ("PACKS", choice.packs))
    reason = f"{chunks} chunks per row in two launches: rows are too long to hold, or too few to fill the GPU"
    return LaunchPlan(
        tuple(checked(one, device) for one in launches),
        defines,
        scratch=(("parts", 8 * rows * chunks),),
        reasons=(reason,),
    )
