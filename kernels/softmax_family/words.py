"""Rows that are words of 8, 4 or 2 bytes, but not packs of 16: their sizes, and their launch by a _words.cu."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, dtypes
from ..common.launch_helpers import evicts_first
from .hardware import PACK, WARP
from .row_plans import EntryArguments, checked

SOURCE = "_words.cu"
LANE_BLOCK = 64  # threads where a row has lanes of a warp, which take one row or two at once
# These sizes were chosen by the times of candidates (docs/tuning.md).
LEAST_BYTES = 32  # of neighbours that the lanes of a row load at once: a sector
LEAST_FULL = 3 / 4  # of the words of a row's lanes that lie in the row
PART_REGISTERS = 12  # most per thread for the words of a row, where rows share a warp
LEAST_RESIDENT = 2  # blocks per multiprocessor: one alone leaves it idle between its loads and its stores


@dataclass(frozen=True)
class Words:
    """The constants of a _words.cu."""

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


def lane_words(count: int, word: int, most: int) -> Iterator[Words]:
    """Choices for rows of `count` words by lanes of a warp, with up to `most` registers for the words of a thread."""
    for lanes in (2, 4, 8, 16, WARP):
        own = -(-count // lanes)
        one = Words(word, lanes, own, 1, LANE_BLOCK, 0)
        full = count >= LEAST_FULL * lanes * own and lanes * word >= LEAST_BYTES
        if full and one.registers <= (most if lanes == WARP else PART_REGISTERS):
            yield one
            if 2 * one.registers <= most:
                yield replace(one, rows=2)


def with_room(
    found: Iterable[Words], nbytes: int, device: DeviceProperties, registers: Callable[[Words], int]
) -> Iterator[Words]:
    """Those of which enough blocks have room. `nbytes`: of x; `registers`: how many a thread takes."""
    for one in found:
        resident = device.resident_blocks(one.block, registers(one), 0)
        if resident >= LEAST_RESIDENT:
            yield replace(one, resident=resident, hint=int(evicts_first(nbytes, device)))


def words_plan(name: str, choice: Words, case: Case, device: DeviceProperties, given: EntryArguments) -> LaunchPlan:
    """The launch of a _words.cu, by the entry whose name begins with `name`."""
    rows, columns = case.rows_columns()
    launch = Launch(
        f"{name}_{dtypes.suffix(case.dtype)}",
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
    lanes = f"{choice.threads} lanes per row, {choice.rows} rows at once"
    reason = f"{choice.threads // WARP} warps per row" if choice.threads > WARP else lanes
    reason += f", {choice.words} words of {choice.word} bytes per thread"
    return LaunchPlan((checked(launch, device),), tuple(constants.items()), reasons=(reason,), source=SOURCE)
