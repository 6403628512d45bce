"""Checks of the rows of results.csv, which may come from strangers: a file with an invalid cell is refused."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, isinf, nan
from pathlib import Path
from typing import Any

from kernelbench.core.errors import ResultsError
from kernelbench.core.operations import read_shape
from kernelbench.core.texts import MAX_TEXT, csv_cell, from_cell, kept_text, one_line
from kernelbench.core.units import number_of
from kernelbench.runs.files import MAX_RESULTS_BYTES
from kernelbench.runs.row_records import RESULTS, TEXTS, Row, row_of

_COLUMNS = {one.name: one for one in RESULTS}
_CHOICES = {one.name: one.choices for one in RESULTS if one.choices}
_ANY_LENGTH = {one.name for one in RESULTS if one.any_length}
# Characters that a CSV reader takes for the end of a line or refuses, and that earlier versions wrote without escapes.
_RAW = re.compile("\r(?!\n)|\0")
ROW_KEY = ("case", "implementation", "cache", "method")
MAX_EXTENT = 2**63 - 1
_MAX_RANK = 8
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_SHAPE = re.compile(rf"\d{{1,19}}(x\d{{1,19}}){{0,{_MAX_RANK - 1}}}")


def read_cells(path: Path, text: str) -> tuple[list[list[str]], bool]:
    """The cells of a CSV file, header first, and whether its last row is complete; a row that was cut off is left out.
    ResultsError if it is not CSV."""
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
        return cells, False  # cut within quotes, so the reader never returned the last row
    return (cells, True) if whole else (cells[:-1], False)


def read_rows(path: Path, cells: list[list[str]]) -> tuple[Row, ...]:
    """The rows of results.csv, without characters that control a terminal.

    ResultsError for a missing column, and for the first row that no run could have written, or that is there twice,
    with its line.
    """
    header = [one_line(name) for name in cells[0]] if cells else []
    if len(set(header)) < len(header) or not header:
        raise ResultsError(f"{path}:1: expected the names of columns, each once")
    for number, line in enumerate(cells[1:], start=2):
        if len(line) != len(header):
            raise refused(path, number, f"cannot be read: {number_of(len(line), 'cell')}, expected {len(header)}")
        if max(map(len, line)) <= MAX_TEXT:
            continue
        longest = max(len(one) for name, one in zip(header, line, strict=True) if name not in _ANY_LENGTH)
        if longest > MAX_TEXT:
            raise refused(path, number, f"a cell of {longest} characters; the limit is {MAX_TEXT}")
    rows: list[dict[str, Any]] = [{} for _ in cells[1:]]
    for column, about in _COLUMNS.items():
        if column not in header and not about.later:
            raise ResultsError(f"{path}: column '{column}' is missing; this file was not written by this version")
        place = header.index(column) if column in header else None
        read: dict[str, Any] = {}  # most cells of a column are like one before
        for number, (row, line) in enumerate(zip(rows, cells[1:], strict=True), start=2):
            cell = "" if place is None else line[place]
            try:
                if cell not in read:
                    read[cell] = _value(column, kept_text(from_cell(cell)))
                row[column] = read[cell]
            except ValueError as error:
                raise refused(path, number, str(error)) from None
    for number, row in enumerate(rows, start=2):
        for problem in _problems(row):
            raise refused(path, number, problem)
    _require_each_once(path, rows)
    return tuple(map(row_of, rows))


def refused(path: Path, number: int, problem: str) -> ResultsError:
    """The error for row `number`, where the header is 1, with advice."""
    return ResultsError(f"{path}:{number}: {problem}; delete that line to read the others; --resume measures it again")


def _require_each_once(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    there: dict[tuple[str, ...], int] = {}
    for number, row in enumerate(rows, start=2):
        key = tuple(row[name] for name in ROW_KEY)
        if (first := there.setdefault(key, number)) != number:
            raise ResultsError(
                f"{path}:{number}: {', '.join(filter(None, key))} has a row in line {first} already; expected one row "
                "per case, implementation, cache and method; delete one of the two lines; without both, --resume "
                "measures it again"
            )


def require_suite(path: Path, rows: Sequence[Row], suite: str, where: str) -> None:
    """ResultsError for the first row of another suite than `suite`, which is that of `where`; a row may name none."""
    for number, row in enumerate(rows, start=2):
        if row.suite not in (suite, ""):
            raise ResultsError(
                f"{path}:{number}: its suite is '{one_line(row.suite):.80}', but that of {where} is "
                f"'{one_line(suite):.80}'; a run has one suite: delete the lines of the other one, or restore both "
                "files from one run"
            )


def _value(column: str, text: str) -> Any:
    """The value of a cell: a text, a number, or None if empty; ValueError if its column does not allow it."""
    if column in TEXTS:
        return text
    if not text:
        return None
    try:
        number = float(text) if text.isascii() and "_" not in text else nan
    except ValueError:
        number = nan
    if isfinite(number) or (isinf(number) and _COLUMNS[column].infinite):
        return number
    raise ValueError(f"'{column}' must be a number or empty, got '{text:.80}'")


def cell_text(value: Any) -> str:
    """A value as a cell: floats with 9 significant digits (a nanosecond in a second), None and NaN empty, texts cut to
    the limit of a run."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return ""
    return f"{value:.9g}" if isinstance(value, float) else csv_cell(kept_text(str(value)))


def row_problem(row: Mapping[str, Any]) -> str:
    """Why the reader would refuse this row once it is written; '' if it would not. `row`: values by column name."""
    try:
        return next(
            _problems({name: _value(name, kept_text(from_cell(cell_text(row.get(name))))) for name in _COLUMNS}), ""
        )
    except ValueError as error:
        return str(error)


def _problems(row: Mapping[str, Any]) -> Iterator[str]:
    for name in ("implementation", "operation"):
        if not _WORD.fullmatch(row[name]):
            yield f"'{name}' must be a name, got {row[name]!r:.80}"
    for name, choices in _CHOICES.items():
        if row[name] not in choices:
            yield f"'{name}' must be one of {', '.join(filter(None, choices))}, got {row[name]!r:.80}"
    yield from _shape_problems(row)
    for name, value in row.items():
        if isinstance(value, float) and value < 0 and not _COLUMNS[name].negative:
            yield f"'{name}' must not be below 0, got {value:g}"
    if row["status"] == "ok" and row["method"]:
        times = [row[name] for name in ("median_s", "low_s", "high_s")]
        if not all(value is not None and value > 0 for value in times):
            yield "a row with a method needs median_s, low_s and high_s above 0"
    yield from _contradictions(row)


def _contradictions(row: Mapping[str, Any]) -> Iterator[str]:
    low, median, high = (row[name] for name in ("low_s", "median_s", "high_s"))
    if None not in (low, median) and low > median:
        yield f"'low_s' must not be above median_s, {median:g}, got {low:g}"
    if None not in (high, median) and high < median:
        yield f"'high_s' must not be below median_s, {median:g}, got {high:g}"
    if row["status"] == "ok" and row["check"] == "failed":
        yield "'status' must not be ok where check is failed"


def _shape_problems(row: Mapping[str, Any]) -> Iterator[str]:
    """Problems of shape and axis, as columns and in the key of the case."""
    if not _SHAPE.fullmatch(row["shape"]):
        yield f"'shape' must be like 32x64, got {row['shape']!r:.80}"
        return
    extents = read_shape(row["shape"])
    if not all(1 <= extent <= MAX_EXTENT for extent in extents):
        yield f"'shape' must have extents from 1 to 2^63 - 1, got {row['shape']}"
    axis, rank = row["axis"], len(extents)
    if axis is None or axis != int(axis) or not -rank <= axis < rank:
        yield f"'axis' must be a whole number from {-rank} to {rank - 1}, got {nan if axis is None else axis:g}"
        return
    words: dict[str, str] = {}
    for word in row["case"].split():
        name, equals, value = word.partition("=")
        if equals:
            words.setdefault(name, value)  # the first one: a later parameter may have the same name
    if "\n" in row["case"] or not row["case"].strip():
        yield f"'case' must be the key of a case, got {row['case']!r:.80}"
    for name, value in (("shape", row["shape"]), ("axis", str(int(axis))), ("dtype", row["dtype"])):
        if words.get(name, value) != value:
            yield f"'case' says {name}={words[name]:.80}, but its column {value}"
