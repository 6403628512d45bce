"""Rows that layer norm holds in words, with gamma and beta: softmax_family/words.py has their sizes."""

from collections.abc import Iterator
from dataclasses import replace

from kernelbench import Case, DeviceProperties, LaunchPlan
from ..softmax_family.row_plans import EntryArguments
from ..softmax_family.words import Words, words, words_plan

NAME = "layer_norm_one_read_words"
REGISTERS, ROW_REGISTERS = 32, 8  # per thread for all else: the first for one row, the second for each further row


def norm_words(rows: int, columns: int, itemsize: int, device: DeviceProperties) -> Iterator[Words]:
    """Choices with registers for gamma and beta as well."""
    return words(rows, columns, itemsize, device, _registers)


def _registers(one: Words) -> int:
    return REGISTERS + (2 + one.rows) * one.registers + ROW_REGISTERS * (one.rows - 1)


def norm_words_plan(choice: Words, case: Case, device: DeviceProperties, given: EntryArguments) -> LaunchPlan:
    found = words_plan(NAME, choice, case, device, given)
    return replace(found, reasons=(f"{found.reasons[0]}; gamma and beta are loaded first, and kept",))
