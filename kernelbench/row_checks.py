"""Rows of results.csv as strangers may hand them on: each cell is what its column says, or the file is refused."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from kernelbench import dtypes
from kernelbench.errors import ResultsError
from kernelbench.records import Status
from kernelbench.texts import from_cell, one_line, printable

if TYPE_CHECKING:
    import pandas

_MAX_CELL = 20_000  # characters; a reason may hold a compiler's command
_MAX_EXTENT = 2**63 - 1
_MAX_RANK = 8
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_SHAPE = re.compile(rf"\d{{1,19}}(x\d{{1,19}}){{0,{_MAX_RANK - 1}}}")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "dtype": dtypes.NAMES,
    "status": get_args(Status),
    "role": ("", "kernel", "peer", "yardstick", "specimen"),
    "arithmetic": ("", "accurate", "fast"),
    "cache": ("", "cold", "warm"),
    "method": ("", "events", "graph"),
    "check": ("", "passed", "failed"),
}
_BELOW_ZERO = ("axis", "temperature_c")


def read_cells(path: Path, text: str) -> tuple[list[list[str]], bool]:
    """The cells of a CSV file as they stand there, its header first, and whether its last row is whole: one that was
    cut off is left out. ResultsError where it is no CSV."""
    lines = text.splitlines(keepends=True)
    reader = csv.reader(lines, strict=True)
    cells: list[list[str]] = []
    whole = text.endswith("\n")
    try:
        cells.extend(reader)
    except csv.Error as error:
        if whole or reader.line_num < len(lines):
            raise ResultsError(f"{path}: cannot be read ({error})") from error
        return cells, False  # cut within quotes, so that the last row never came
    return (cells, True) if whole else (cells[:-1], False)


def read_rows(path: Path, cells: list[list[str]]) -> pandas.DataFrame:
    """The table of results.csv, all of it text, without characters that a terminal obeys.

    ResultsError names the line of a row that is cut short or too long, and of a text that is too long.
    """
    import pandas

    header = cells[0] if cells else []
    if len(set(header)) < len(header) or not header:
        raise ResultsError(f"{path}:1: expected the names of columns, each once")
    for number, line in enumerate(cells[1:], start=2):
        if len(line) != len(header):
            raise refused(path, number, f"cannot be read: {len(line)} cells, but there are {len(header)} columns")
        if max(map(len, line)) > _MAX_CELL:
            raise refused(path, number, f"a cell of {max(map(len, line))} characters; the limit is {_MAX_CELL}")
    table = [[printable(from_cell(one)) for one in line] for line in cells[1:]]
    return pandas.DataFrame(table, columns=[one_line(name) for name in header], dtype=str)


def refused(path: Path, number: int, problem: str) -> ResultsError:
    """The error for row `number`, the header being 1, with the way on."""
    return ResultsError(f"{path}:{number}: {problem}; without that line the others are read, and --resume measures it")


def check_rows(path: Path, rows: pandas.DataFrame) -> None:
    """ResultsError for the first row that no run could have written."""
    for number, row in enumerate(rows.to_dict("records"), start=2):
        for problem in _problems(row):
            raise refused(path, number, problem)


def _problems(row: Mapping[Any, Any]) -> Iterator[str]:
    for name in ("implementation", "operation"):
        if not _WORD.fullmatch(row[name]):
            yield f"'{name}' must be a name, got {row[name]!r:.80}"
    for name, choices in _CHOICES.items():
        if row[name] not in choices:
            yield f"'{name}' must be one of {', '.join(filter(None, choices))}, got {row[name]!r:.80}"
    yield from _shape_problems(row)
    for name, value in row.items():
        if isinstance(value, float) and value < 0 and name not in _BELOW_ZERO:
            yield f"'{name}' must not be below 0, got {value:g}"
    if row["status"] == "ok" and row["method"]:
        times = [row[name] for name in ("median_s", "low_s", "high_s")]
        if not all(value > 0 for value in times):
            yield "a row with a method needs median_s, low_s and high_s above 0"


def _shape_problems(row: Mapping[Any, Any]) -> Iterator[str]:
    """Shape and axis, as columns and within the key of the case."""
    if not _SHAPE.fullmatch(row["shape"]):
        yield f"'shape' must be such as 32x64, got {row['shape']!r:.80}"
        return
    extents = [int(extent) for extent in row["shape"].split("x")]
    if not all(1 <= extent <= _MAX_EXTENT for extent in extents):
        yield f"'shape' must have extents from 1 to 2^63 - 1, got {row['shape']}"
    axis, rank = row["axis"], len(extents)
    if not (axis == axis and axis == int(axis) and -rank <= axis < rank):  # noqa: PLR0124 - NaN
        yield f"'axis' must be a whole number from {-rank} to {rank - 1}, got {axis:g}"
        return
    words = dict(word.split("=", 1) for word in row["case"].split() if "=" in word)
    if "\n" in row["case"] or not row["case"].strip():
        yield f"'case' must be the key of a case, got {row['case']!r:.80}"
    for name, value in (("shape", row["shape"]), ("axis", str(int(axis))), ("dtype", row["dtype"])):
        if words.get(name, value) != value:
            yield f"'case' says {name}={words[name]:.80}, but its column {value}"
