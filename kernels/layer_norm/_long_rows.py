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
BLOCK = 256  # threads
PACKS = 4, 8  # per thread: on long rows of an H100, either takes up to 14 % less time than the other
PARTS_BYTES = 8  # of a chunk's moments


@dataclass(frozen=True)
class LongRows:
    """The constants of long_rows.cuh."""

    packs: int  # per thread
    chunk: int  # elements of a row per block
    chunks: int
    masked: bool  # rows begin anywhere
    block: int  # threads
    resident: int  # blocks per multiprocessor
    hint: int = 0


def long_rows(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> Iterator[LongRows]:
    """A choice for each of PACKS, but where rows are short or too many, or a group would not be resident as a whole."""
    if columns * itemsize < LEAST_PACKS * PACK or rows > MOST_GROUPS:
        return
    masked, per_pack = columns * itemsize % PACK != 0, PACK // itemsize
    for packs in PACKS:
        most = (packs * BLOCK - masked) * per_pack
        chunk = -(-columns // (-(-columns // most) * per_pack)) * per_pack
        chunks = -(-columns // chunk)
        shared = PARTS_BYTES * (chunks + BLOCK // device.warp_size)
        resident = device.resident_blocks(BLOCK, 32 + 16 * masked + 4 * packs, shared)
        if 2 * chunks <= resident * device.multiprocessors:
            hint = int(evicts_first(rows * columns * itemsize, device))
            yield LongRows(packs, chunk, chunks, masked, BLOCK, resident, hint)


def long_rows_plan(
    name: str, choice: LongRows, case: Case, device: DeviceProperties, given: EntryArguments
) -> LaunchPlan:
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    loading = max(1, int(choice.resident * device.multiprocessors * LOADING_SHARE))
    sizes = (Scalar("int64", rows), Scalar("int32", columns), Scalar("int32", choice.chunk), Scalar("int32", loading))
    launch = Launch(
        f"{name}_{dtypes.suffix(case.dtype)}",
        (rows * choice.chunks, 1, 1),
        (choice.block, 1, 1),
        (*given.arrays, "parts", *sizes, *given.scalars),
        shared_bytes=PARTS_BYTES * choice.chunks,
        co_resident=choice.chunks,
    )
    constants: dict[str, str | int] = {
        "TECHNIQUE": "LONG_ROWS",
        "ITEM_BYTES": dtypes.itemsize(case.dtype),
        "BLOCK": choice.block,
        "RESIDENT": choice.resident,
        "HINT": choice.hint,
        "PACKS": choice.packs,
        "MASKED": int(choice.masked),
        "MOST_GROUPS": MOST_GROUPS,
    }
    reason = f"a co-resident group of {choice.chunks} blocks holds a row in registers"
    scratch = (("parts", PARTS_BYTES * rows * choice.chunks),)
    return LaunchPlan((launch,), tuple(constants.items()), scratch, (reason,))
