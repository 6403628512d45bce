"""Rows that a block or cluster takes in turn: their sizes, and the launch of layer_norm/rows_in_turn.cuh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log2

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, dtypes
from ..common.launch_helpers import evicts_first
from ..softmax_family.cost import Quantities
from ..softmax_family.hardware import PACK, WARP
from ..softmax_family.quantities import of_device
from ..softmax_family.row_plans import MAX_COLUMNS, EntryArguments, checked
from ..softmax_family.row_techniques import most_packs

# Blocks per row and packs per thread. The trials behind these numbers are in results/h200/trials.yaml.
SIZES = (1, 3), (1, 5), (1, 7), (2, 7)
TURNS = 4, 6  # rows per group: more rows share gamma and beta, and with fewer, groups end more evenly
MOST_WARPS = 16  # per row in a block
SPARE = 0.13  # packs that threads have room for beyond those of the row, at most, as a share of these
PARTS_BYTES = 16  # of shared memory for each warp of a row
REGISTERS = 48  # of a thread, besides its packs


@dataclass(frozen=True)
class InTurn:
    """The constants of rows_in_turn.cuh."""

    warps: int  # per row in a block
    blocks: int  # per row: a cluster
    packs: int  # per thread
    groups: int  # of blocks; each takes rows in turn
    block: int  # threads
    resident: int  # blocks per multiprocessor
    hint: int = 0

    @property
    def shared_bytes(self) -> int:
        """Dynamic, per block: for the next row, gamma and beta."""
        return 3 * self.packs * self.block * PACK


def rows_in_turn(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> Iterator[InTurn]:
    """Choices for rows of half types that begin anywhere, more than are resident at once."""
    packs = most_packs(columns, itemsize)
    if columns * itemsize % PACK == 0 or itemsize == 4:
        return  # of float32, 8190 x 4097 gained nothing
    unit = PACK // itemsize  # rows so far apart begin at the same element of a pack
    hint = int(evicts_first(rows * columns * itemsize, device))
    for blocks, own in SIZES:
        one = _of_size(rows, packs, blocks, own, device)
        if one is None or rows * blocks <= one.resident * device.multiprocessors:
            continue
        if one.block * blocks * own <= (1 + SPARE) * packs:
            for turns in TURNS:
                yield replace(one, hint=hint, groups=-(-rows // (turns * unit)) * unit)


def _of_size(rows: int, packs: int, blocks: int, own: int, device: DeviceProperties) -> InTurn | None:
    """The choice for rows of so many packs by `blocks` blocks, `own` packs per thread, each by a group of its own; None
    if it does not fit."""
    warps = -(-packs // (WARP * blocks * own))
    if blocks > device.max_cluster or not min(4, 2 * blocks) <= warps <= MOST_WARPS:
        return None
    if WARP * warps * blocks * (own - 1) >= packs:
        return None  # fewer packs per thread would do
    one = InTurn(warps, blocks, own, rows, WARP * warps, 0)
    shared = one.shared_bytes + PARTS_BYTES * (warps * blocks + 1)
    resident = device.resident_blocks(one.block, REGISTERS + 4 * own, shared)
    return replace(one, resident=resident) if resident else None


def of_in_turn(choice: InTurn, case: Case, device: DeviceProperties) -> Quantities:
    """For the cost function. A thread shifts gamma and beta, and waits for those of each pack."""
    rows, _ = case.rows_columns()
    itemsize, warps, blocks = dtypes.itemsize(case.dtype), choice.block // WARP, choice.groups * choice.blocks
    nbytes, turns = case.elements * itemsize, rows / choice.groups
    return Quantities(
        **of_device(device),
        moved_bytes=2 * nbytes,
        stretch_bytes=nbytes,
        blocks=blocks,
        resident=choice.resident,
        access_bytes=WARP * PACK,
        block_warps=warps,
        barriers=turns * log2(1 + warps),
        cluster=choice.blocks,
        warps=blocks * warps,
        elements=rows * choice.blocks * warps * choice.packs * (PACK // itemsize),
        half=float(itemsize < 4),
        turns=turns,
        weights=choice.packs,
    )


def in_turn_plan(name: str, choice: InTurn, case: Case, device: DeviceProperties, given: EntryArguments) -> LaunchPlan:
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    launch = Launch(
        f"{name}_{dtypes.suffix(case.dtype)}",
        (choice.groups * choice.blocks, 1, 1),
        (choice.block, 1, 1),
        (*given.arrays, Scalar("int64", rows), Scalar("int32", columns), *given.scalars),
        shared_bytes=choice.shared_bytes,
    )
    constants: dict[str, str | int] = {
        "TECHNIQUE": "HELD",
        "IN_TURN": 1,
        "ITEM_BYTES": dtypes.itemsize(case.dtype),
        "BLOCK": choice.block,
        "RESIDENT": choice.resident,
        "HINT": choice.hint,
        "PACKS": choice.packs,
        "WARPS": choice.warps,
        "BLOCKS": choice.blocks,
    }
    reason = f"{choice.blocks} blocks" if choice.blocks > 1 else "a block"
    reason += f" of {choice.warps} warps for {-(-rows // choice.groups)} rows in turn"
    reason += f", {choice.packs} packs of 16 bytes per thread beside gamma and beta in shared memory"
    return LaunchPlan((checked(launch, device),), tuple(constants.items()), reasons=(reason,))
