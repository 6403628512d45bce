"""Rows that layer norm holds in words, with gamma and beta: softmax_family/words.py has those of lanes."""

from collections.abc import Iterator
from dataclasses import replace

from kernelbench import Case, DeviceProperties, LaunchPlan, dtypes
from ..softmax_family.cost import Quantities
from ..softmax_family.hardware import WARP
from ..softmax_family.quantities import of_words
from ..softmax_family.row_plans import EntryArguments
from ..softmax_family.words import Words, lane_words, with_room, word_bytes, words_plan

NAME = "layer_norm_one_read_words"
REGISTERS, ROW_REGISTERS = 32, 8  # per thread for all else: the first for one row, the second for each further row
# All these numbers were chosen by the times of candidates (docs/tuning.md).
WARPS = {2: 9, 3: 9, 4: 9, 6: 9, 8: 12}  # warps of a row that has a block, and the least words per thread of each
MOST_WARPS = {8: 8, 4: 8, 2: 4}  # most warps of a row, by bytes of a word
MOST_WORDS, MOST_REGISTERS = 24, 32  # per thread: words of several warps, and registers for words of x
SINGLE_WORK = 1.7  # instructions of an element that is a word of its own, in those of others: a warp loads fewer bytes


def norm_words(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> Iterator[Words]:
    """Choices for rows that are not whole packs: by lanes of a warp, and by warps of a block."""
    word = word_bytes(columns, itemsize)
    if word is not None:
        count = columns * itemsize // word
        found = (*lane_words(count, word, MOST_REGISTERS), *_by_warps(count, word))
        yield from with_room(found, rows * columns * itemsize, device, _registers)


def _by_warps(count: int, word: int) -> Iterator[Words]:
    for warps, least in WARPS.items():
        threads = WARP * warps
        one = Words(word, threads, -(-count // threads), 1, threads, 0)
        if warps <= MOST_WARPS[word] and least <= one.words <= MOST_WORDS and one.registers <= MOST_REGISTERS:
            yield one


def _registers(one: Words) -> int:
    """Of a thread, for gamma and beta as well."""
    return REGISTERS + (2 + one.rows) * one.registers + ROW_REGISTERS * (one.rows - 1)


def of_norm_words(choice: Words, case: Case, device: DeviceProperties) -> Quantities:
    """For the cost function. Gamma and beta arrive with x, so that nothing waits for them alone."""
    return of_words(choice, case, device, SINGLE_WORK if choice.word == dtypes.itemsize(case.dtype) else 1)


def norm_words_plan(choice: Words, case: Case, device: DeviceProperties, given: EntryArguments) -> LaunchPlan:
    found = words_plan(NAME, choice, case, device, given)
    return replace(found, reasons=(f"{found.reasons[0]}; gamma and beta are loaded first, and kept",))
