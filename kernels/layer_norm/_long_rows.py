"""Long rows that co-resident groups of blocks hold: their sizes, and the launch of layer_norm/long_rows.cuh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, dtypes
from ..common.launch_helpers import evicts_first
from ..softmax_family.axis_plans import LOADING_SHARE
from ..softmax_family.hardware import PACK
from ..softmax_family.row_plans import MAX_COLUMNS, EntryArguments

MOST_GROUPS = 1024  # each has a counter
LEAST_PACKS = 2**14  # of a row: shorter ones are held by clusters of small blocks
SIZES = ((8, 256, 1), (4, 256, 2), (3, 256, 3), (4, 256, 1), (8, 128, 1))  # (packs, threads, rows at once)
PARTS_BYTES = 8  # of a chunk's moments


@dataclass(frozen=True)
class LongRows:
    """The constants of long_rows.cuh."""

    packs: int  # per thread and row
    rows: int  # at once
    chunk: int  # elements of a row per block
    chunks: int
    masked: bool  # rows begin anywhere
    block: int  # threads
    resident: int  # blocks per multiprocessor
    hint: int = 0


def long_rows(
    rows: int, columns: int, itemsize: int, device: DeviceProperties, packs: int, block: int, at_once: int = 1
) -> LongRows | None:
    """None where rows are too many, or where a group would not be resident as a whole."""
    masked, per_pack = columns * itemsize % PACK != 0, PACK // itemsize
    most = (packs * block - masked) * per_pack
    chunk = -(-columns // (-(-columns // most) * per_pack)) * per_pack
    chunks = -(-columns // chunk)
    shared = PARTS_BYTES * at_once * (chunks + block // device.warp_size)
    resident = device.resident_blocks(block, 32 + 16 * masked + 4 * packs * at_once, shared)
    if -(-rows // at_once) > MOST_GROUPS or 2 * chunks > resident * device.multiprocessors:
        return None
    hint = int(evicts_first(rows * columns * itemsize, device))
    return LongRows(packs, at_once, chunk, chunks, masked, block, resident, hint)


def long_rows_candidates(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> Iterator[LongRows]:
    if columns * itemsize < LEAST_PACKS * PACK:
        return
    for packs, block, at_once in SIZES:
        one = long_rows(rows, columns, itemsize, device, packs, block, at_once)
        if one is not None and at_once <= rows:
            yield one


def long_rows_plan(
    name: str, choice: LongRows, case: Case, device: DeviceProperties, given: EntryArguments
) -> LaunchPlan:
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    loading = max(1, int(choice.resident * device.multiprocessors * LOADING_SHARE))
    sizes = (Scalar("int64", rows), Scalar("int32", columns), Scalar("int32", choice.chunk), Scalar("int32", loading))
    launch = Launch(
        f"{name}_{dtypes.suffix(case.dtype)}",
        (-(-rows // choice.rows) * choice.chunks, 1, 1),
        (choice.block, 1, 1),
        (*given.arrays, "parts", *sizes, *given.scalars),
        shared_bytes=PARTS_BYTES * choice.rows * choice.chunks,
        co_resident=choice.chunks,
    )
    constants: dict[str, str | int] = {
        "TECHNIQUE": "LONG_ROWS",
        "ITEM_BYTES": dtypes.itemsize(case.dtype),
        "BLOCK": choice.block,
        "RESIDENT": choice.resident,
        "HINT": choice.hint,
        "PACKS": choice.packs,
        "ROWS": choice.rows,
        "MASKED": int(choice.masked),
        "MOST_GROUPS": MOST_GROUPS,
    }
    reason = f"a co-resident group of {choice.chunks} blocks holds {choice.rows} rows in registers"
    scratch = (("parts", PARTS_BYTES * rows * choice.chunks),)
    return LaunchPlan((launch,), tuple(constants.items()), scratch, (reason,))
