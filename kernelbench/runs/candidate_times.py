"""The recorded times of candidates, from which a cost function is fitted: a CSV that grows case by case.

nvidia-h200.softmax.csv       one row per case and candidate
nvidia-h200.softmax.csv.gz    the same, packed, which is read only
"""

import csv
import io
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from kernelbench.core.cost_model import CandidateTime
from kernelbench.core.errors import InputError, ResultsError
from kernelbench.core.writing import write_whole
from kernelbench.runs import files

COLUMNS = tuple(one.name for one in fields(CandidateTime))
_NUMBERS = ("seconds", "floor_s", "noise")  # may be empty


def append_times(path: Path, times: Sequence[CandidateTime]) -> None:
    """Add the candidates of one case at once. ResultsError where the file has other columns, or cannot be written."""
    known = _whole_lines(path) if path.exists() else ""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if not known:
        writer.writerow(COLUMNS)
    elif not known.startswith(",".join(COLUMNS) + "\n"):
        raise ResultsError(f"{path}:1: expected the columns {', '.join(COLUMNS)}; name another --times")
    for one in times:
        writer.writerow([_cell(getattr(one, name)) for name in COLUMNS])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, known + text.getvalue())
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written ({error.strerror})") from error


def read_times(path: Path) -> tuple[CandidateTime, ...]:
    """All complete rows; ResultsError names file and line of what cannot be read."""
    rows = csv.reader(io.StringIO(_whole_lines(path)))
    header = next(rows, [])
    if tuple(header) != COLUMNS:
        raise ResultsError(f"{path}:1: expected the columns {', '.join(COLUMNS)}")
    return tuple(_time(path, number, header, row) for number, row in enumerate(rows, 2))


def recorded_cases(paths: Iterable[Path], sources: Mapping[str, Container[str]]) -> set[tuple[str, str]]:
    """(Kernel, case) of all times in the files that exist. InputError if a kernel's source has changed since: if its
    hash is none of those in `sources`."""
    there: set[tuple[str, str]] = set()
    for path in paths:
        for row in read_times(path) if path.exists() else ():
            if row.kernel in sources and row.source not in sources[row.kernel]:
                raise InputError(
                    f"{path}: {row.kernel} has changed since its times were recorded; name another --times"
                )
            there.add((row.kernel, row.case))
    return there


def _time(path: Path, line: int, header: Sequence[str], row: Sequence[str]) -> CandidateTime:
    if len(row) != len(header):
        raise ResultsError(f"{path}:{line}: expected {len(header)} cells, got {len(row)}")
    cells = dict(zip(header, row, strict=True))

    def number(name: str) -> float:
        try:
            value = float(cells[name])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ResultsError(f"{path}:{line}: '{name}' must be a number, got {cells[name]!r:.40}")
        return value

    numbers: dict[str, Any] = {name: number(name) if cells[name] else None for name in _NUMBERS}
    return CandidateTime(**{**cells, "is_rule": cells["is_rule"] == "1", **numbers})


def _whole_lines(path: Path) -> str:
    """Without a last line that was cut off."""
    text = files.read_text(path, files.MAX_RESULTS_BYTES)
    return text[: text.rfind("\n") + 1]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.9g}" if isinstance(value, float) else str(value)
