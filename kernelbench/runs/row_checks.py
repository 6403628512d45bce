"""Rows of results.csv as strangers may hand them on: each cell is what its column says, or the file is refused."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from math import inf, isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from kernelbench.core import columns, dtypes
from kernelbench.core.errors import ResultsError
from kernelbench.core.records import Status
from kernelbench.core.texts import MAX_TEXT, cell, from_cell, kept, one_line
from kernelbench.runs.files import MAX_RESULTS_BYTES

if TYPE_CHECKING:
    import pandas

_CUT = ("reason", "launches", "input_loads")  # texts that earlier versions wrote at any length
# What a CSV reader takes for the end of a line or refuses, and earlier versions wrote as it came.
_RAW = re.compile("\r(?!\n)|\0")
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
_BELOW_ZERO = ("axis", "temperature_c", "min_s", "p5_s")  # earlier versions kept differences of two graphs


def read_cells(path: Path, text: str) -> tuple[list[list[str]], bool]:
    """The cells of a CSV file as they stand there, its header first, and whether its last row is whole: one that was
    cut off is left out. ResultsError where it is no CSV."""
    csv.field_size_limit(MAX_RESULTS_BYTES)
    text = _RAW.sub(lambda found: ascii(found[0])[1:-1], text)
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True)
    cells: list[list[str]] = []
    whole = text.endswith("\n")
    try:
        cells.extend(reader)
    except csv.Error as error:
        if whole or reader.line_num <= text.count("\n"):
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
        longest = max(len(one) for name, one in zip(header, line, strict=True) if name not in _CUT)
        if longest > MAX_TEXT:
            raise refused(path, number, f"a cell of {longest} characters; the limit is {MAX_TEXT}")
    table = [[kept(from_cell(one)) for one in line] for line in cells[1:]]
    return pandas.DataFrame(table, columns=[one_line(name) for name in header], dtype=str)


def refused(path: Path, number: int, problem: str) -> ResultsError:
    """The error for row `number`, the header being 1, with the way on."""
    return ResultsError(f"{path}:{number}: {problem}; without that line the others are read, and --resume measures it")


def numbers(path: Path, cells: pandas.Series) -> pandas.Series:
    """A column of text as numbers, NaN where it is empty; ResultsError names the first cell that is anything else."""
    import numpy
    import pandas

    found = pandas.to_numeric(cells, errors="coerce")
    wrong = numpy.isnan(found) if cells.name in columns.INFINITE else ~numpy.isfinite(found)
    wrong &= cells.astype(str) != ""
    if wrong.any():
        place = int(wrong.to_numpy().argmax())
        raise refused(path, place + 2, _no_number(str(cells.name), cells.iloc[place]))
    return found


def check_rows(path: Path, rows: pandas.DataFrame) -> None:
    """ResultsError for the first row that no run could have written."""
    for number, row in enumerate(rows.to_dict("records"), start=2):
        for problem in _problems(row):
            raise refused(path, number, problem)


def written(value: Any) -> str:
    """A value as a cell: floats with 9 significant digits (a nanosecond in a second), None and NaN empty, texts as a
    run keeps them."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return ""
    return f"{value:.9g}" if isinstance(value, float) else cell(kept(str(value)))


def row_problem(row: Mapping[str, Any]) -> str:
    """Why the reader would refuse this row once it is written, or ''. `row` holds values by column name."""
    read: dict[str, Any] = {}
    for name in columns.names(columns.RESULTS):
        text = kept(from_cell(written(row.get(name))))
        if name in columns.TEXTS:
            read[name] = text
            continue
        try:
            read[name] = float(text) if text else nan
        except ValueError:
            return _no_number(name, text)
        if text and not (isfinite(read[name]) or (read[name] == inf and name in columns.INFINITE)):
            return _no_number(name, text)
    return next(_problems(read), "")


def _no_number(name: str, text: str) -> str:
    return f"'{name}' must be a number or empty, got '{text:.80}'"


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
    words: dict[str, str] = {}
    for word in row["case"].split():
        name, equals, value = word.partition("=")
        if equals:
            words.setdefault(name, value)  # the first: a parameter behind it may have the same name
    if "\n" in row["case"] or not row["case"].strip():
        yield f"'case' must be the key of a case, got {row['case']!r:.80}"
    for name, value in (("shape", row["shape"]), ("axis", str(int(axis))), ("dtype", row["dtype"])):
        if words.get(name, value) != value:
            yield f"'case' says {name}={words[name]:.80}, but its column {value}"
