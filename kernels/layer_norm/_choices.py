"""Candidates for layer norm of [rows, columns], of which the cost function of softmax names the fastest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import TypeVar

from kernelbench import Case, Constant, CostModel, DeviceProperties, dtypes
from ..softmax_family.cost import CONSTANTS as SHARED_CONSTANTS
from ..softmax_family.cost import Quantities, fastest, predicted_seconds
from ..softmax_family.hardware import PACK, WARP
from ..softmax_family.quantities import of_rows
from ..softmax_family.row_candidates import row_candidates
from ..softmax_family.row_plans import MAX_COLUMNS
from ..softmax_family.row_techniques import (
    SECTOR_ROWS,
    Choice,
    Held,
    Split,
    Staged,
    StagedLanes,
    hinted,
)
from ..softmax_family.words import Words
from ._long_rows import LongRows, long_rows, of_long_rows
from ._rows_in_turn import InTurn, of_in_turn, rows_in_turn
from ._words import norm_words, of_norm_words

# Registers per thread, in addition to those of softmax: of masked packs, for two of gamma and two of beta; of whole
# rows per thread, for addresses, beside row_weights.
MASKED_REGISTERS, STAGED_REGISTERS = 16, 8
# Registers of a thread that keeps gamma and beta: of a lane, and of one of several warps; for a pack of x, twice as
# many for half types of several rows, or some spill; for a pack of gamma and one of beta.
LANE_REGISTERS, WARPS_REGISTERS, PACK_REGISTERS, WEIGHT_REGISTERS = 28, 24, 4, 8
KEPT_PACKS = 8  # per thread of several warps, with gamma and beta in registers
# Lanes of half types with more registers, or whole warps with more rows, are no candidates, and some with five packs
# get registers for fewer blocks. For these the compiler would issue the last load only when the first has arrived, and
# rows took 10 to 28 % more time (docs/tuning.md).
HALF_REGISTERS, WARP_ROWS, FIVE_PACKS_REGISTERS = 96, 2, 104
# Instructions for a masked pack in those for another, because gamma and beta are shifted for every row. By four warps
# of 5 and 4 packs per thread, the simulator counts 43 per element of 4,097 bfloat16, and 26 per element of 4,096.
MASKED_WORK = 1.6
# Waits for gamma and beta of a masked pack, in those for another: they lie in two packs, and the next lane loads one.
# This number and the next were chosen by the times of candidates (docs/tuning.md).
MASKED_WAITS = 1.5
# A warp joins the moments of as many warps as it has lanes at once. For those of a cluster it may need several passes,
# and each but the first counts as so many steps of an exchange.
PASS_STEPS = 4
# Lanes take rows in shared memory one after another. A row's two sums, and its waits for shared memory, gamma and beta
# count as so many steps of an exchange, by the same times.
TURN_STEPS = 6
# Up to so many waves, masked packs count the blocks per multiprocessor that their registers leave room for. With more
# waves, choices were better with the registers of softmax, though these are too few; by the same times.
FEW_WAVES = 10
# The L1 serves so many bytes of gamma and beta to blocks and clusters that hold a row. The rest comes from the L2, and
# each byte of it takes this share of the time of a byte of memory.
CACHED_BYTES, BYTE_BEYOND = 2**17, 0.3
# Clusters of so many blocks or more fill this share of the multiprocessors, because their blocks are neighbours.
LARGE, CLUSTERED = 4, 7 / 8
# Least and most per lane that takes rows from shared memory and keeps the weights of as many; of halves twice as many.
LANE_ELEMENTS = 4, 16

# The constants of softmax, but for three; docs/tuning.md says what set them.
CONSTANTS = SHARED_CONSTANTS | {
    "weights": Constant(2e-7, "s", "a pack of gamma and beta that a thread loads, and waits for", 5e-8, 2e-6),
    "barrier": Constant(3.6e-8, "s", "a step of an exchange between a block's warps, or a sum of lanes", 1e-8, 1e-6),
    "start": Constant(4.8e-9, "s", "each block of a cluster that the GPU starts", 1e-10, 2e-8),
}
VALUES = {name: one.value for name, one in CONSTANTS.items()}


@dataclass(frozen=True)
class WeightsFirst(Held):
    """Whole packs of several warps, which load gamma and beta before x, and keep them in registers."""


AnyChoice = Choice | LongRows | InTurn | Words


@lru_cache(maxsize=64)
def choose(case: Case, device: DeviceProperties) -> AnyChoice:
    """The candidate that the cost function expects to be the fastest."""
    return candidates(case, device)[fastest(quantities(case, device), VALUES)]


@lru_cache(maxsize=16)  # each candidate's plan looks it up
def candidates(case: Case, device: DeviceProperties) -> tuple[AnyChoice, ...]:
    """Those of softmax with registers for gamma and beta, then rows by lanes, groups of blocks for long rows, rows in
    turn, and rows in words."""
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    itemsize = dtypes.itemsize(case.dtype)
    others = row_candidates(case, device, keeps_exponentials=False)
    of_softmax = (one for one in others if not isinstance(one, StagedLanes | Words))
    held = (kept for one in of_softmax for kept in with_weights(one, columns, case.dtype, device))
    by_lanes = staged_lanes(columns, itemsize, device)
    hinted_lanes = [hinted(by_lanes, rows * columns * itemsize, device)] if by_lanes else []
    in_turn = rows_in_turn(rows, columns, itemsize, device)
    in_words = norm_words(rows, columns, itemsize, device)
    return (*held, *hinted_lanes, *long_rows(rows, columns, itemsize, device), *in_turn, *in_words)


def quantities(case: Case, device: DeviceProperties) -> tuple[Mapping[str, float], ...]:
    """Of each candidate, for the cost function."""
    return tuple(_quantities(one, case, device).by_name for one in candidates(case, device))


def with_weights(found: Choice, columns: int, dtype: str, device: DeviceProperties) -> Iterator[Choice]:
    """A choice for softmax, with registers for gamma and beta, and as many blocks as a multiprocessor's partitions have
    registers for: with fewer registers most choices spill. Some still do (docs/tuning.md). Lanes of a warp always keep
    gamma and beta of whole packs. Several warps keep them in a further candidate, with room for fewer blocks.
    Nothing if the compiler would delay a load."""
    if not isinstance(found, Held | Staged):
        yield found
        return
    registers = device.registers_per_multiprocessor // (found.resident * found.block) // 8 * 8
    if isinstance(found, Staged):
        yield _in_registers(found, registers + STAGED_REGISTERS + row_weights(columns, dtypes.itemsize(dtype)), device)
    elif found.masked:
        yield _in_registers(found, registers + MASKED_REGISTERS, device)
    elif found.warps == 1:
        if (of_lane := lane_registers(found, dtype)) is not None:
            yield _in_registers(found, of_lane, device)
    else:
        yield found
        registers = WARPS_REGISTERS + found.packs * (PACK_REGISTERS + WEIGHT_REGISTERS)
        resident = device.resident_blocks(found.block, registers, 0)
        if resident and not found.shared_packs and found.packs <= KEPT_PACKS:
            yield WeightsFirst(**vars(replace(found, resident=resident)))


def lane_registers(found: Held, dtype: str) -> int | None:
    """Registers per thread of lanes that keep gamma and beta; None if the compiler would delay a load."""
    half = dtypes.itemsize(dtype) == 2
    of_pack = PACK_REGISTERS * (2 if half and found.rows > 1 else 1)
    registers = LANE_REGISTERS + found.packs * (of_pack * found.rows + WEIGHT_REGISTERS)
    if not half:
        return registers
    whole_warp = found.lanes == WARP
    if registers > HALF_REGISTERS or (whole_warp and found.rows > WARP_ROWS):
        return None
    return FIVE_PACKS_REGISTERS if found.packs == 5 and (whole_warp or dtype == "bfloat16") else registers


HeldOrStaged = TypeVar("HeldOrStaged", Held, Staged)


def _in_registers(found: HeldOrStaged, registers: int, device: DeviceProperties) -> HeldOrStaged:
    return replace(found, resident=max(1, device.resident_blocks(found.block, registers, 0)))


def row_weights(columns: int, itemsize: int) -> int:
    """Registers for the weights of a thread that has whole rows: half a row of gamma and of beta. Half types need half
    as many words, but ptxas takes more: given half as many for rows of 33, it spilled 88 bytes per thread, and their
    time beside a copy's was 14 % longer (docs/tuning.md)."""
    return columns if itemsize == 4 else max(columns // 2, columns - 4)


def staged_lanes(columns: int, itemsize: int, device: DeviceProperties) -> StagedLanes | None:
    """Rows that begin anywhere, by the fewest lanes that hold them and their weights; None where none are needed or
    suffice. `loads` are elements. Rows of a warp are whole sectors, or, of more columns than a warp has with
    LANE_ELEMENTS each, whole packs. Twice as many lanes were never faster (H100)."""
    least, most = LANE_ELEMENTS
    long = columns > WARP * most
    if columns * itemsize % PACK == 0 or columns <= 4 * (least - 1) or columns > WARP * most * (4 // itemsize):
        return None
    lanes = next((lanes for lanes in (4, 8, 16) if columns <= lanes * most), WARP)
    elements, warp_rows = -(-columns // lanes), SECTOR_ROWS * 2 // itemsize // (1 + long)
    resident = device.resident_blocks(WARP, 24 + 3 * elements, 0)
    return StagedLanes(lanes, elements, warp_rows * lanes // WARP, resident=max(1, resident))


def _keeps_weights(choice: Choice) -> bool:
    return isinstance(choice, WeightsFirst) or (isinstance(choice, Held) and choice.warps == 1 and not choice.masked)


def _weights(choice: Choice) -> float:
    """Packs of gamma, and as many of beta, that a thread loads and waits for; 1 if it loads all of them before x."""
    if _keeps_weights(choice):
        return 1
    if isinstance(choice, Held):
        return (choice.packs * choice.rows + choice.shared_packs) * (MASKED_WAITS if choice.masked else 1)
    return 2 * choice.packs if isinstance(choice, Split) else 0  # each of Split's packs may be masked


def _quantities(choice: AnyChoice, case: Case, device: DeviceProperties) -> Quantities:
    if isinstance(choice, InTurn):
        return of_in_turn(choice, case, device)
    if isinstance(choice, LongRows):
        return of_long_rows(choice, case, device)
    if isinstance(choice, Words):
        return of_norm_words(choice, case, device)
    found = replace(of_rows(choice, case, device, keeps_exponentials=False), weights=_weights(choice))
    if isinstance(choice, Held) and _counts_own_registers(choice, found):
        found = replace(found, resident=choice.resident)  # registers of gamma and beta leave no room for more
    if isinstance(choice, Held):
        return _of_held(found, choice, case)
    return replace(found, barriers=TURN_STEPS * choice.group) if isinstance(choice, StagedLanes) else found


def _counts_own_registers(choice: Held, found: Quantities) -> bool:
    if choice.masked:
        return found.blocks <= FEW_WAVES * choice.resident * found.multiprocessors
    return isinstance(choice, WeightsFirst)


def _of_held(found: Quantities, choice: Held, case: Case) -> Quantities:
    if choice.masked:
        # What a warp does besides its packs, as to find the ends of a row, counts as a pair that softmax joins: chosen
        # by the times of candidates (docs/tuning.md).
        found = replace(found, elements=MASKED_WORK * found.elements, pairs=found.warps * (choice.warps > 1))
    if choice.blocks >= LARGE:
        found = replace(found, resident=CLUSTERED * found.resident)
    rows, columns = case.rows_columns()
    beyond = max(0, 2 * columns * dtypes.itemsize(case.dtype) - CACHED_BYTES)
    return replace(
        found,
        read_again_bytes=found.read_again_bytes + BYTE_BEYOND * rows * beyond,
        barriers=found.barriers + PASS_STEPS * (ceil(choice.warps * choice.blocks / WARP) - 1),
    )


MODEL = CostModel("layer_norm", CONSTANTS, quantities, predicted_seconds)
