"""Expands blocks into cases, and checks that a GPU could hold each."""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from kernelbench.core import dtypes
from kernelbench.core.errors import InputError, Unsupported
from kernelbench.core.operations import shape_text
from kernelbench.core.problems import Problems
from kernelbench.core.records import Case, Operation
from kernelbench.core.units import bytes_text
from kernelbench.suite.case_blocks import CaseBlock

MAX_CASES = 10_000
MAX_ARRAY_BYTES = 2**37  # 128 GiB, about the memory of an H200
_SHOWN_PER_BLOCK = 3  # a wrong shape is often wrong at every value of its axes


def expand_cases(
    blocks: Sequence[CaseBlock], operation: Operation, problems: Problems, *, once: bool = False
) -> tuple[Case, ...]:
    """All cases, block by block: dtype varies slowest, then inputs, then axes as written; parameters vary fastest.

    A case that occurs twice is a mistake; with `once` the second one is left out.
    """
    total = sum(block.size for block in blocks)
    if total > MAX_CASES:
        line = max(blocks, key=lambda block: block.size).line
        problems.add(line, f"the suite has {total} cases; the limit is {MAX_CASES}")
        return ()
    first_lines: dict[object, int] = {}  # identity of a case -> line of its shape
    cases: list[Case] = []
    for block in blocks:
        wrong: list[str] = []
        choices: list[Sequence[Any]] = [axis.rows for axis in block.axes]
        for values in product(block.dtypes, block.inputs, *choices, *block.parameters.values()):
            try:
                case = _case(block, operation, values)
                _check(case, operation)
            except InputError as error:
                wrong.append(str(error))
                continue
            same = _identity(case, operation)
            if same in first_lines:
                if once:
                    continue
                wrong.append(f"case '{case.key}' occurs twice, first in line {first_lines[same]}")
                continue
            first_lines[same] = block.line
            cases.append(case)
        distinct = tuple(dict.fromkeys(wrong))
        for text in distinct[:_SHOWN_PER_BLOCK]:
            problems.add(block.line, text)
        if len(distinct) > _SHOWN_PER_BLOCK:
            problems.add(block.line, f"{len(distinct) - _SHOWN_PER_BLOCK} more cases of this shape are wrong")
    return tuple(cases)


def _case(block: CaseBlock, operation: Operation, values: Sequence[Any]) -> Case:
    """`values`: a dtype, a distribution, one row per axis of the block, one value per parameter."""
    rows, settings = values[2 : len(block.axes) + 2], values[len(block.axes) + 2 :]
    axes: dict[str, int] = {}
    for axis, row in zip(block.axes, rows, strict=True):
        axes.update(zip(axis.names, row, strict=True))
    return Case(
        operation=operation.name,
        shape=tuple(extent.value(axes) for extent in block.shape),
        axis=block.axis,
        dtype=values[0],
        axes=tuple(axes.items()),
        parameters=tuple(zip(block.parameters, settings, strict=True)),
        inputs=values[1],
    )


def _check(case: Case, operation: Operation) -> None:
    """InputError for a case without a meaning, or with an array above MAX_ARRAY_BYTES."""
    arrays = [("an array", case.shape, prod(case.shape) * dtypes.itemsize(case.dtype))]
    if arrays[0][2] <= MAX_ARRAY_BYTES:
        try:
            arrays += [(f"array {spec.name}", spec.shape, spec.nbytes) for spec in operation.filled(case)]
        except Unsupported as error:
            raise InputError(f"{operation.name} cannot compute case '{case.key}': {error}") from None
    for name, shape, size in arrays:
        if size > MAX_ARRAY_BYTES:
            extents = shape_text(shape)
            limit = bytes_text(MAX_ARRAY_BYTES)
            raise InputError(
                f"shape {extents} of {case.dtype} makes {name} of {bytes_text(size)}; the limit is {limit}"
            )


def _identity(case: Case, operation: Operation) -> object:
    """A value that is equal for cases that compute the same, however they are written."""
    parameters = {**operation.parameters, **dict(case.parameters)}
    return case.shape, case.axis % len(case.shape), case.dtype, case.inputs, tuple(parameters.items())
