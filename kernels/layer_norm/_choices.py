"""Candidates for layer norm of [rows, columns], of which the cost function of softmax names the fastest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import log2

from kernelbench import Case, Constant, CostModel, DeviceProperties, dtypes
from ..softmax_family.cost import CONSTANTS as SHARED_CONSTANTS
from ..softmax_family.cost import Quantities, fastest, predicted_seconds
from ..softmax_family.hardware import PACK, WARP
from ..softmax_family.quantities import of_device, of_rows
from ..softmax_family.row_candidates import row_candidates
from ..softmax_family.row_plans import MAX_COLUMNS
from ..softmax_family.row_techniques import (
    SECTOR_ROWS,
    Choice,
    Held,
    Split,
    Staged,
    StagedLanes,
    blocks_by_registers,
    hinted,
)
from ._long_rows import LongRows, long_rows

# Registers per thread in addition to those of softmax. Masked packs: the packs of gamma and beta that hold their
# weights. Whole rows per thread: the addresses of gamma and beta; half a row of each is counted in with_weights.
MASKED_REGISTERS, STAGED_REGISTERS = 16, 8
LANE_ELEMENTS = 4, 16  # least and most per lane that takes rows from shared memory, and keeps the weights of as many

# The constants of softmax, but for three; docs/tuning.md says what set them.
CONSTANTS = SHARED_CONSTANTS | {
    "weights": Constant(3e-7, "s", "a pack of gamma and beta that a thread loads, and waits for", 5e-8, 2e-6),
    "barrier": Constant(6e-8, "s", "a step of an exchange between the warps of a block, or a sum of lanes", 1e-8, 1e-6),
    "start": Constant(4.3e-9, "s", "each block of a cluster that the GPU starts", 1e-10, 2e-8),
}
VALUES = {name: one.value for name, one in CONSTANTS.items()}


@lru_cache(maxsize=64)
def choose(case: Case, device: DeviceProperties) -> Choice | LongRows:
    """The candidate that the cost function expects to be the fastest."""
    return candidates(case, device)[fastest(quantities(case, device), VALUES)]


@lru_cache(maxsize=16)  # each candidate's plan looks it up
def candidates(case: Case, device: DeviceProperties) -> tuple[Choice | LongRows, ...]:
    """Those of softmax with registers for gamma and beta, then rows by lanes, then groups of blocks for long rows."""
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    itemsize = dtypes.itemsize(case.dtype)
    others = row_candidates(case, device, keeps_exponentials=False)
    held = (with_weights(one, columns, itemsize, device) for one in others if not isinstance(one, StagedLanes))
    by_lanes = staged_lanes(columns, itemsize)
    hinted_lanes = [hinted(by_lanes, rows * columns * itemsize, device)] if by_lanes else []
    return (*held, *hinted_lanes, *long_rows(rows, columns, itemsize, device))


def quantities(case: Case, device: DeviceProperties) -> tuple[Mapping[str, float], ...]:
    """Of each candidate, for the cost function."""
    return tuple(_quantities(one, case, device).by_name for one in candidates(case, device))


def with_weights(found: Choice, columns: int, itemsize: int, device: DeviceProperties) -> Choice:
    """A choice for softmax, with registers for gamma and beta."""
    if not isinstance(found, Staged) and not (isinstance(found, Held) and found.masked):
        return found
    more = STAGED_REGISTERS + columns * itemsize // 4 if isinstance(found, Staged) else MASKED_REGISTERS
    registers = device.registers_per_multiprocessor // (found.resident * found.block) + more
    return replace(found, resident=blocks_by_registers(registers, found.block))


def staged_lanes(columns: int, itemsize: int) -> StagedLanes | None:
    """Rows that begin anywhere, by the fewest lanes that hold them and their weights; None where none are needed or
    suffice. `loads` are elements. Rows of a warp are whole sectors. Twice as many lanes were never faster (H100)."""
    least, most = LANE_ELEMENTS
    if columns * itemsize % PACK == 0 or not 4 * (least - 1) < columns <= WARP * most:
        return None
    lanes = next(lanes for lanes in (4, 8, 16, WARP) if columns <= lanes * most)
    elements, warp_rows = -(-columns // lanes), SECTOR_ROWS * 2 // itemsize
    return StagedLanes(
        lanes, elements, warp_rows * lanes // WARP, resident=blocks_by_registers(24 + 3 * elements, WARP)
    )


def _weights(choice: Choice | LongRows) -> int:
    """Packs of gamma, and as many of beta, that a thread loads. The weights of a masked pack lie in two packs."""
    if isinstance(choice, Held):
        return (choice.packs * choice.rows + choice.shared_packs) * (1 + choice.masked)
    if isinstance(choice, LongRows):
        return choice.packs * (1 + choice.masked)
    return 2 * choice.packs if isinstance(choice, Split) else 0  # each of Split's packs may be masked


def _quantities(choice: Choice | LongRows, case: Case, device: DeviceProperties) -> Quantities:
    if not isinstance(choice, LongRows):
        found = replace(of_rows(choice, case, device, keeps_exponentials=False), weights=_weights(choice))
        # Lanes take their rows one after another, each with two sums.
        return replace(found, barriers=2 * choice.group) if isinstance(choice, StagedLanes) else found
    rows, _ = case.rows_columns()
    itemsize, warps, blocks = dtypes.itemsize(case.dtype), choice.block // WARP, rows * choice.chunks
    nbytes = case.elements * itemsize
    return Quantities(
        **of_device(device),
        moved_bytes=2 * nbytes,
        stretch_bytes=nbytes,
        blocks=blocks,
        resident=choice.resident,
        access_bytes=WARP * PACK,
        block_warps=warps,
        barriers=log2(1 + warps),
        waiting=1,
        warps=blocks * warps,
        elements=blocks * warps * choice.packs * (PACK // itemsize),
        half=float(itemsize < 4),
        weights=_weights(choice),
    )


MODEL = CostModel("layer_norm", CONSTANTS, quantities, predicted_seconds)
