"""Writes and reads counters.csv: a run's launches with the hardware's counters beside the simulator's."""

import csv
import io
import os
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, get_args

from kernelbench.core import columns
from kernelbench.core.errors import ResultsError
from kernelbench.core.hardware_counters import COMPARED, HARDWARE_METRICS, SIMULATED, STALLS, Agreement, CountedLaunch
from kernelbench.core.texts import from_cell, kept_text
from kernelbench.core.writing import write_whole
from kernelbench.runs import files
from kernelbench.runs.row_checks import MAX_EXTENT, cell_text, read_cells

COUNTERS_FILE = "counters.csv"
_NAMES = columns.column_names(columns.HARDWARE_COUNTERS)
_TEXTS = ("case", "implementation", "kernel", "sampled", "agreement", "differences", "explanation", "reason")


def write_counters(folder: Path, launches: Iterable[CountedLaunch]) -> None:
    """Replace counters.csv of a run; ResultsError if it cannot be written."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_NAMES)
    for one in launches:
        cells = _cells(one)
        writer.writerow([cell_text(cells.get(name)) for name in _NAMES])
    try:
        write_whole(folder / COUNTERS_FILE, text.getvalue())
    except OSError as error:
        raise ResultsError(f"{folder}: cannot write {COUNTERS_FILE} ({error.strerror})") from error


def _cells(one: CountedLaunch) -> dict[str, Any]:
    return {
        **{name: getattr(one, name) for name in _TEXTS},
        "launch": one.launch,
        "grid": _extent_text(one.grid),
        "block": _extent_text(one.block),
        "unexplained": " ".join(one.unexplained),
        **{name: int(value) if value.is_integer() else value for name, value in one.hardware.items()},
        "stalls": " ".join(f"{name}={value:.4g}" for name, value in one.stalls.items()),
        **{f"simulated_{name}": value for name, value in one.simulated.items()},
    }


def _extent_text(extent: tuple[int, int, int] | None) -> str:
    return "" if extent is None else "x".join(map(str, extent))


def read_counters(folder: Path) -> tuple[CountedLaunch, ...]:
    """The launches of counters.csv; () without one. ResultsError for a row that no run could have written."""
    path = folder / COUNTERS_FILE
    if not os.path.lexists(path):
        return ()
    cells, whole = read_cells(path, files.read_text(path, files.MAX_RESULTS_BYTES))
    if not whole or not cells or cells[0] != _NAMES:
        raise ResultsError(f"{path}: not written by this version, or cut off; `run --resume --counters` writes it anew")
    found = []
    for number, line in enumerate(cells[1:], start=2):
        try:
            found.append(_launch(dict(zip(_NAMES, map(from_cell, line), strict=True))))
        except ValueError as error:
            raise ResultsError(f"{path}:{number}: cannot be read ({error})") from error
    return tuple(found)


def _launch(row: Mapping[str, str]) -> CountedLaunch:
    """The record of a line; ValueError for a cell that its column does not allow."""
    if row["agreement"] not in get_args(Agreement):
        raise ValueError(f"'agreement' must be one of equal, explained, unexplained, got {row['agreement']!r:.80}")
    stalls = dict(word.split("=", 1) for word in row["stalls"].split())
    if unknown := stalls.keys() - STALLS.keys():
        raise ValueError(f"'stalls' has an unknown reason {min(unknown)!r:.80}")
    return CountedLaunch(
        **{name: kept_text(row[name]) for name in _TEXTS},  # type: ignore[arg-type]  # agreement was checked
        launch=_whole("launch", row["launch"]),
        grid=_extent("grid", row["grid"]),
        block=_extent("block", row["block"]),
        hardware={name: _number(name, row[name]) for name in HARDWARE_METRICS if row[name]},
        stalls={name: _number("stalls", value) for name, value in stalls.items()},
        simulated={name: _whole(name, text) for name in SIMULATED if (text := row[f"simulated_{name}"])},
        unexplained=_metrics("unexplained", row["unexplained"]),
    )


def _number(column: str, text: str) -> float:
    value = float(text) if text.isascii() and "_" not in text else -1.0
    if not (isfinite(value) and value >= 0):
        raise ValueError(f"'{column}' must be a number from 0 up, got {text!r:.80}")
    return value


def _whole(column: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 19):
        raise ValueError(f"'{column}' must be a whole number, got {text!r:.80}")
    return int(text)


def _metrics(column: str, text: str) -> tuple[str, ...]:
    names = tuple(text.split())
    if unknown := set(names) - set(COMPARED):
        raise ValueError(f"'{column}' has an unknown metric {min(unknown)!r:.80}")
    return names


def _extent(column: str, text: str) -> tuple[int, int, int] | None:
    if not text:
        return None
    sizes = tuple(_whole(column, part) for part in text.split("x"))
    if len(sizes) != 3 or not all(0 < size <= MAX_EXTENT for size in sizes):
        raise ValueError(f"'{column}' must be like 4x2x1, got {text!r:.80}")
    return sizes
