"""Runs on disk: rows appended the moment they exist, and read back as tables.

A run folder holds
  results.csv        columns.RESULTS; one row a case, implementation, cache and method
  samples.csv.gz     columns.SAMPLES; a gzip member for each case
  environment.json   where, when and with what; limits of the GPU; the suite; who the implementations are
and what compare and report add: comparison.csv, claims.json, charts/, report.html.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbench import columns, run_files
from kernelbench.errors import ResultsError
from kernelbench.row_checks import check_rows, read_rows
from kernelbench.texts import cell

if TYPE_CHECKING:
    import pandas

RESULTS_FILE, SAMPLES_FILE, ENVIRONMENT_FILE = "results.csv", "samples.csv.gz", "environment.json"
_TEXT_COLUMNS = (
    "suite", "case", "operation", "shape", "axes", "dtype", "implementation", "role", "arithmetic", "status",
    "reason", "cache", "method", "stopped", "floor_limited", "check", "launches", "input_loads", "binary", "throttle",
    "sampled",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One run folder, read. Tables are pandas DataFrames with the columns of `kernelbench.columns`."""

    folder: Path
    environment: Mapping[str, Any]
    rows: pandas.DataFrame

    @property
    def suite(self) -> str:
        return str(self.environment.get("suite", self.folder.name))

    @property
    def device(self) -> str:
        return str(self.environment.get("device", {}).get("name", "unknown device"))

    @property
    def simulated(self) -> bool:
        """Whether kernels were counted on the simulator: such a run has no times."""
        return bool(self.environment.get("device", {}).get("simulator"))

    @cached_property
    def samples(self) -> pandas.DataFrame:
        """Raw samples; an empty table where the run has no samples file. Of a case that was written twice,
        since a run was killed between its samples and its rows, the later samples count."""
        import numpy
        import pandas

        path = self.folder / SAMPLES_FILE
        names = columns.names(columns.SAMPLES)
        if not path.exists():
            return pandas.DataFrame(columns=names)
        data = run_files.read_unpacked(path)
        try:
            table = pandas.read_csv(
                io.BytesIO(data), usecols=names, dtype=dict.fromkeys(names[:4], str), keep_default_na=False
            )
            seconds = pandas.to_numeric(table["seconds"])
            table = table.assign(seconds=seconds.where(seconds > 0).astype(float))
        except (ValueError, OverflowError) as error:
            raise ResultsError(f"{path}: cannot be read ({error}); delete it to go on without raw samples") from error
        if not numpy.isfinite(table["seconds"]).all():
            raise ResultsError(f"{path}: a time is not above 0; delete it to go on without raw samples")
        return table.drop_duplicates([*names[:4], "round"], keep="last")


def read_run(folder: Path) -> Run:
    """Read a run folder, whoever wrote it; ResultsError says which file is missing or damaged, and where."""
    results = folder / RESULTS_FILE
    if not results.is_file():
        raise ResultsError(
            f"{folder}: no {RESULTS_FILE} here; expected the folder of a run, as `kernelbench list runs` shows"
        )
    text = run_files.read_text(results, run_files.MAX_RESULTS_BYTES)
    if not text.endswith("\n"):
        raise ResultsError(f"{results}: its last row is cut off; delete that line to go on with the others")
    rows = read_rows(results, text)
    for column in columns.names(columns.RESULTS):
        if column not in rows and column in columns.names(columns.COUNTERS):
            rows[column] = ""  # of a run from before there was a simulator
        if column not in rows:
            raise ResultsError(f"{results}: column '{column}' is missing; this file was not written by this version")
        if column not in _TEXT_COLUMNS:
            rows[column] = _numbers(rows[column], results)
    check_rows(results, rows)
    return Run(folder, run_files.read_environment(folder / ENVIRONMENT_FILE), rows)


def _numbers(cells: pandas.Series, path: Path) -> pandas.Series:
    """Cells as numbers, NaN where they are empty; ResultsError names the first that is anything else."""
    import numpy
    import pandas

    numbers = pandas.to_numeric(cells, errors="coerce")
    wrong = ~numpy.isfinite(numbers) & (cells.astype(str) != "")
    if wrong.any():
        place = int(wrong.to_numpy().argmax())
        raise ResultsError(f"{path}:{place + 2}: '{cells.name}' must be a number or empty, got '{cells.iloc[place]}'")
    return numbers


class Store:
    """A run being written. Every row and sample is on disk when `append` returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._start_results()
        except OSError as error:
            raise ResultsError(
                f"{folder}: cannot write a run here ({error.strerror}); choose another place with --out"
            ) from error

    def _start_results(self) -> None:
        """Write the header; a run that is gone on with keeps the one that it has."""
        path = self.folder / RESULTS_FILE
        self._names = columns.names(columns.RESULTS)
        if path.exists():
            with path.open(newline="") as file:
                self._names = next(csv.reader(file), self._names)
        else:
            run_files.append(path, _csv_text([self._names]).encode())

    def append(self, rows: Sequence[Mapping[str, Any]], samples: Iterable[Sequence[Any]]) -> None:
        """Add whole rows of results.csv (by column name) and their samples, and flush both to disk."""
        text = _csv_text([[_cell(row.get(name)) for name in self._names] for row in rows])
        sample_lines = [list(sample) for sample in samples]
        try:
            if sample_lines:
                self._append_samples(sample_lines)
            run_files.append(self.folder / RESULTS_FILE, text.encode())
        except OSError as error:
            raise ResultsError(
                f"{self.folder}: cannot write ({error.strerror}); rows written so far are kept"
            ) from error

    def _append_samples(self, lines: list[list[Any]]) -> None:
        path = self.folder / SAMPLES_FILE
        if not path.exists():
            lines = [list(columns.names(columns.SAMPLES)), *lines]
        run_files.append(path, gzip.compress(_csv_text(lines).encode(), mtime=0))

    def write_environment(self, environment: Mapping[str, Any]) -> None:
        """Replace environment.json in one step, so that it is never half written."""
        path = self.folder / ENVIRONMENT_FILE
        try:
            run_files.write_whole(path, json.dumps(environment, indent=2, sort_keys=False) + "\n")
        except OSError as error:
            raise ResultsError(f"{path}: cannot write ({error.strerror})") from error


def _cell(value: Any) -> str:
    """Floats with 9 significant digits (a nanosecond in a second); None, and NaN, as an empty cell."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return ""
    return f"{value:.9g}" if isinstance(value, float) else cell(str(value))


def _csv_text(lines: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
