"""Rows that a warp, a block or a cluster takes one after another, and reads gamma and beta once for: their sizes, and
the launch of layer_norm/rows_in_turn.cuh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, dtypes
from .row_choices import PACK_BYTES, RESERVED_BYTES, WARP, most_packs
from .row_plans import MAX_COLUMNS, Arguments

ALIKE = 8  # rows that lie a multiple of this apart begin at the same place in a pack, whatever their type
MOST_PACKS = 12  # per thread, which take 48 registers
LEAST_USED = 0.75  # share of the threads' packs that a row fills
TURNS = (2, 4, 8)  # rows per group, beside as many groups as are resident at once


@dataclass(frozen=True)
class InTurn:
    """The constants of rows_in_turn.cuh."""

    warps: int  # per row in a block
    blocks: int  # per row: a cluster
    packs: int  # per thread
    masked: bool  # rows begin anywhere
    groups: int  # of blocks, each of which takes every groups-th row
    block: int  # threads
    resident: int  # blocks per multiprocessor for which registers and shared memory suffice
    hint: int = 0

    @property
    def shared_bytes(self) -> int:
        return 2 * self.packs * self.block * PACK_BYTES


def in_turn(
    rows: int, columns: int, itemsize: int, device: DeviceProperties, warps: int, blocks: int, turns: int = 0
) -> InTurn | None:
    """Groups of so many rows each, or, for 0, as many groups as are resident at once; None where they hold no row."""
    masked = columns * itemsize % PACK_BYTES != 0
    packs, block = -(-most_packs(columns, itemsize) // (WARP * warps * blocks)), WARP * warps
    shared = 2 * packs * block * PACK_BYTES
    if packs > MOST_PACKS or blocks > device.max_cluster or shared + RESERVED_BYTES > device.shared_per_block_optin:
        return None
    resident = device.resident_blocks(block, 32 + 16 * masked + 4 * packs, shared + 64 * warps)
    groups = -(-rows // turns) if turns else device.multiprocessors * resident // blocks
    groups = groups // ALIKE * ALIKE
    hint = int(rows * columns * itemsize <= device.l2_bytes)
    return InTurn(warps, blocks, packs, masked, groups, block, resident, hint) if 0 < groups < rows else None


def in_turn_candidates(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> Iterator[InTurn]:
    packs = most_packs(columns, itemsize)
    for warps, blocks in ((1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (8, 2), (8, 4), (8, 8), (16, 8), (8, 16)):
        for turns in (0, *TURNS):
            one = in_turn(rows, columns, itemsize, device, warps, blocks, turns)
            if one is not None and packs >= LEAST_USED * WARP * warps * blocks * one.packs:
                yield one


def in_turn_plan(name: str, choice: InTurn, case: Case, device: DeviceProperties, given: Arguments) -> LaunchPlan:
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    launch = Launch(
        f"{name}_{dtypes.suffix(case.dtype)}",
        (choice.groups * choice.blocks, 1, 1),
        (choice.block, 1, 1),
        (*given.arrays, Scalar("int64", rows), Scalar("int32", columns), *given.scalars),
        shared_bytes=choice.shared_bytes,
    )
    who = "a warp" if choice.warps == 1 else f"{choice.warps} warps"
    who = f"{choice.blocks} blocks of {who}" if choice.blocks > 1 else who
    reason = (
        f"{who} for each of {choice.groups} groups of rows, one row after another, {choice.packs} packs of 16 bytes "
        "per thread in registers; gamma and beta stay in shared memory"
    )
    constants: dict[str, str | int] = {
        "TECHNIQUE": "IN_TURN",
        "BLOCK": choice.block,
        "RESIDENT": choice.resident,
        "HINT": choice.hint,
        "PACKS": choice.packs,
        "MASKED": int(choice.masked),
        "WARPS": choice.warps,
        "BLOCKS": choice.blocks,
    }
    return LaunchPlan((launch,), tuple(constants.items()), reasons=(reason,))
