"""Rows that are words of 8, 4 or 2 bytes, but not packs of 16: their sizes, and the launch of layer_norm/_words.cu."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, dtypes
from ..common.launch_helpers import evicts_first
from ..softmax_family.cost import Quantities
from ..softmax_family.hardware import PACK, SCHEDULERS, WARP
from ..softmax_family.quantities import of_device
from ..softmax_family.row_plans import EntryArguments, checked

SOURCE, NAME = "_words.cu", "layer_norm_one_read_words"
LANE_BLOCK = 64  # threads where a row has lanes of a warp, which take one row or two at once
LEAST_BYTES = 32  # of neighbours that the lanes of a row load at once: a sector
LEAST_FULL = 3 / 4  # of the words of a row's lanes that lie in the row
WARPS = {2: 9, 3: 9, 4: 9, 6: 9, 8: 12}  # warps of a row that has a block, and the least words per thread of each
MOST_WARPS = {8: 8, 4: 8, 2: 4}  # most warps of a row, by bytes of a word
MOST_WORDS = 24  # per thread of several warps
LEAST_RESIDENT = 2  # blocks per multiprocessor: one alone leaves it idle between its loads and its stores
MOST_REGISTERS, PART_REGISTERS = 32, 12  # per thread for words of x; the second where rows share a warp
REGISTERS, ROW_REGISTERS = 32, 8  # per thread for all else: the first for one row, the second for each further row
# These two weights of the cost function, and the sizes above, were chosen by the times of candidates (docs/tuning.md).
SINGLE_WORK = 1.7  # instructions of an element that is a word of its own, in those of others: a warp loads fewer bytes
SHARED_SECTORS = 0.2  # weight of the sectors that unaligned accesses touch in addition, where rows share a warp


@dataclass(frozen=True)
class Words:
    """The constants of _words.cu."""

    word: int  # bytes
    threads: int  # per row: lanes of a warp, or whole warps
    words: int  # per thread and row
    rows: int  # that a thread works on at once
    block: int  # threads
    resident: int  # blocks per multiprocessor for which registers must suffice
    hint: int = 0

    @property
    def registers(self) -> int:
        """Registers for a thread's words of one row."""
        return self.words * max(1, self.word // 4)

    def blocks_for(self, rows: int) -> int:
        return -(-rows // (self.block // self.threads * self.rows))


def word_bytes(columns: int, itemsize: int) -> int | None:
    """Bytes of the largest words that rows consist of; None for whole packs."""
    nbytes = columns * itemsize
    return next(word for word in (8, 4, 2) if nbytes % word == 0) if nbytes % PACK else None


def words(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> Iterator[Words]:
    """Choices for rows that are not whole packs: by lanes of a warp, and by warps of a block."""
    word = word_bytes(columns, itemsize)
    if word is None:
        return
    count, hint = columns * itemsize // word, int(evicts_first(rows * columns * itemsize, device))
    for lanes in (2, 4, 8, 16, WARP):
        own = -(-count // lanes)
        one = Words(word, lanes, own, 1, LANE_BLOCK, 0, hint)
        full = count >= LEAST_FULL * lanes * own and lanes * word >= LEAST_BYTES
        if full and one.registers <= (MOST_REGISTERS if lanes == WARP else PART_REGISTERS):
            yield from _resident(one, device)
            if 2 * one.registers <= MOST_REGISTERS:
                yield from _resident(replace(one, rows=2), device)
    for warps, least in WARPS.items():
        threads = WARP * warps
        one = Words(word, threads, -(-count // threads), 1, threads, 0, hint)
        if warps <= MOST_WARPS[word] and least <= one.words <= MOST_WORDS and one.registers <= MOST_REGISTERS:
            yield from _resident(one, device)


def _resident(one: Words, device: DeviceProperties) -> Iterator[Words]:
    """The choice, with registers for gamma and beta as well, if enough blocks have room."""
    registers = REGISTERS + (2 + one.rows) * one.registers + ROW_REGISTERS * (one.rows - 1)
    resident = device.resident_blocks(one.block, registers, 0)
    if resident >= LEAST_RESIDENT:
        yield replace(one, resident=resident)


def of_words(choice: Words, case: Case, device: DeviceProperties) -> Quantities:
    """For the cost function. Gamma and beta arrive with x, so that nothing waits for them alone."""
    rows, _ = case.rows_columns()
    itemsize, warps = dtypes.itemsize(case.dtype), choice.block // WARP
    blocks = choice.blocks_for(rows)
    nbytes, single = case.elements * itemsize, choice.word == itemsize
    elements = blocks * warps * choice.words * choice.rows * (choice.word // itemsize)
    return Quantities(
        **of_device(device),
        moved_bytes=2 * nbytes,
        stretch_bytes=nbytes,
        blocks=blocks,
        resident=choice.resident,
        partial=SHARED_SECTORS if choice.threads <= WARP else 0,
        access_bytes=min(WARP, choice.threads) * choice.word,
        # The partition of a multiprocessor that gets the most of a row's warps takes the longest.
        block_warps=SCHEDULERS * ceil(warps / SCHEDULERS) if choice.threads > WARP else warps,
        warps=blocks * warps,
        elements=elements * (SINGLE_WORK if single else 1),
        half=float(itemsize < 4),
    )


def words_plan(choice: Words, case: Case, device: DeviceProperties, given: EntryArguments) -> LaunchPlan:
    rows, columns = case.rows_columns()
    launch = Launch(
        f"{NAME}_{dtypes.suffix(case.dtype)}",
        (choice.blocks_for(rows), 1, 1),
        (choice.block, 1, 1),
        (*given.arrays, Scalar("int64", rows), Scalar("int32", columns), *given.scalars),
    )
    constants = {
        "ITEM_BYTES": dtypes.itemsize(case.dtype),
        "WORD": choice.word,
        "THREADS": choice.threads,
        "WORDS": choice.words,
        "ROWS": choice.rows,
        "BLOCK": choice.block,
        "RESIDENT": choice.resident,
        "HINT": choice.hint,
    }
    reason = (
        f"{choice.threads // WARP} warps per row"
        if choice.threads > WARP
        else f"{choice.threads} lanes per row, {choice.rows} rows at once"
    )
    reason += f", {choice.words} words of {choice.word} bytes per thread; gamma and beta are loaded first, and kept"
    return LaunchPlan((checked(launch, device),), tuple(constants.items()), reasons=(reason,), source=SOURCE)
