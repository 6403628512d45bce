"""Runs on disk: rows are written as soon as they exist, and read back as records.

The folder of a run has
  results.csv        records.RESULTS; one row per case, implementation, cache and method; recorded: results.csv.gz
  samples.csv.gz     a line per measurement; one gzip member per case and implementation
  counters.csv       columns.HARDWARE_COUNTERS; one row per launch, with --counters; see hardware_counters.py
  environment.json   place, time and versions; limits of the GPU; the suite; the implementations
and the files that report adds: comparison.csv, claims.csv, claims.json, charts/, report.html. Each file is
replaced in one step, so that a process killed at any time leaves the old file or the new one.
"""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbench.core import columns, writing
from kernelbench.core.errors import ResultsError, RunWarning
from kernelbench.runs import files
from kernelbench.runs.row_checks import cell_text, read_cells, read_rows, require_suite
from kernelbench.runs.row_records import RESULTS, Row
from kernelbench.runs.samples import (
    RowKey,
    Sample,
    own_samples,
    pack_samples,
    read_samples,
    sample_table,
    samples_by_row,
    samples_file,
)

if TYPE_CHECKING:
    import numpy
    import pandas

RESULTS_FILE, SAMPLES_FILE, ENVIRONMENT_FILE = "results.csv", "samples.csv.gz", "environment.json"
PACKED_RESULTS_FILE = f"{RESULTS_FILE}.gz"
_MOST_BYTES = files.MAX_RESULTS_BYTES
_MOST_SAMPLE_BYTES = files.MAX_SAMPLES_BYTES - 100  # without its header


@dataclass(frozen=True)
class Run:
    """The contents of the folder of a run."""

    folder: Path
    environment: Mapping[str, Any]
    rows: tuple[Row, ...]

    @property
    def suite(self) -> str:
        return str(self.environment.get("suite", self.folder.name))

    @property
    def device(self) -> str:
        return str(self.environment.get("device", {}).get("name", "an unknown GPU"))

    @property
    def simulated(self) -> bool:
        """Whether the run is of the simulator, and so has no times."""
        return bool(self.environment.get("device", {}).get("simulator"))

    @property
    def stopped(self) -> bool:
        """Whether cases are missing because the run ended early or is still going on."""
        return "finished" in self.environment and not self.environment["finished"]

    @property
    def has_failures(self) -> bool:
        """Whether a row failed or was wrong; specimens are wrong on purpose."""
        return any(row.status in ("failed", "wrong") and row.role != "specimen" for row in self.rows)

    @cached_property
    def samples(self) -> pandas.DataFrame:
        """Raw samples, a row each; an empty table if the run has none. See sample_table and own_samples."""
        path = self.folder / SAMPLES_FILE
        table = sample_table(path)
        timed = samples_by_row(table)
        own = own_samples(path, table, timed, self.rows)
        if own is table:
            self.__dict__["samples_by_row"] = timed  # the cache of the property: large runs take a while
        return own

    @cached_property
    def samples_by_row(self) -> Mapping[RowKey, tuple[numpy.ndarray, numpy.ndarray]]:
        """Seconds and rounds of each row that has raw samples."""
        table = self.samples  # which may have made them
        made: Mapping[RowKey, tuple[numpy.ndarray, numpy.ndarray]] | None = self.__dict__.get("samples_by_row")
        return samples_by_row(table) if made is None else made


def results_file(folder: Path) -> Path:
    """The results.csv of a run, or its results.csv.gz where there is only that; neither need be there."""
    plain, packed = folder / RESULTS_FILE, folder / PACKED_RESULTS_FILE
    return packed if os.path.lexists(packed) and not os.path.lexists(plain) else plain


def read_run(folder: Path) -> Run:
    """Read the folder of a run, whoever wrote it; ResultsError names the missing or damaged file, and the place."""
    results = results_file(folder)
    if not results.is_file():
        raise ResultsError(
            f"{folder}: no {RESULTS_FILE} here; expected the folder of a run, as `kernelbench list runs` shows"
        )
    cells, whole = result_cells(results)
    if not whole and results.name == PACKED_RESULTS_FILE:  # far more than a row may be missing
        _warn(
            f"{results}: its end is cut off; rows behind line {len(cells)} are left out; --resume measures them again"
        )
    elif not whole:
        _warn(f"{results}: its last row is cut off and left out; --resume measures it again")
    rows = read_rows(results, cells)
    environment = _environment(folder / ENVIRONMENT_FILE, rows)
    if suite := environment.get("suite"):
        require_suite(results, rows, suite, ENVIRONMENT_FILE)
    else:
        require_suite(results, rows, next((row.suite for row in rows if row.suite), ""), "the rows before")
    return Run(folder, environment, rows)


def result_cells(results: Path) -> tuple[list[list[str]], bool]:
    """The cells of results.csv, at least its header, and whether its last row is complete."""
    cells, whole = read_cells(results, files.read_text(results, files.MAX_RESULTS_BYTES, cut=True))
    return cells or [list(columns.column_names(RESULTS))], whole


def _environment(path: Path, rows: Sequence[Row]) -> Mapping[str, Any]:
    """environment.json, or what the rows tell if it is missing."""
    if os.path.lexists(path):
        try:
            return files.read_environment(path)
        except ResultsError as error:
            raise ResultsError(
                f"{error}; restore it, or delete it to go on without the GPU's name and versions"
            ) from error
    if not rows:
        return {}  # killed before anything was measured
    _warn(f"{path}: missing; the GPU, the baseline and the versions of these rows are not known")
    suite = rows[0].suite
    return {"suite": suite} if files.is_folder_name(suite) else {}


def _warn(text: str) -> None:
    warnings.warn(text, RunWarning, stacklevel=2)


def twins_of(run: Run) -> Mapping[str, str]:
    """Originals by twin; empty if the run is not a self-test."""
    test = run.environment.get("self_test") or {}
    twins = test.get("twins") or {}
    return {twin: original for twin, original in twins.items() if original not in twins}


def without_twins(run: Run) -> Run:
    """The run without its twins; the results of a self-test stay in its environment."""
    twins = twins_of(run)
    if not twins:
        return run
    left = replace(run, rows=tuple(row for row in run.rows if row.implementation not in twins))
    timed = run.samples
    left.__dict__["samples"] = timed[~timed["implementation"].isin(list(twins))]  # the cache of the property
    return left


class Store:
    """Writes a run, one process at a time. Every row and sample is on disk when `append` returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names = columns.column_names(RESULTS)
        self._rows: dict[str, dict[str, str]] = {}  # lines of results.csv by case and implementation
        self._samples: dict[tuple[str, str], bytes] = {}  # members of samples.csv.gz by (case, implementation)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files.delete_partial_files(folder)
            if not self._read():
                self._write_rows()
            (folder / PACKED_RESULTS_FILE).unlink(missing_ok=True)
        except OSError as error:
            raise ResultsError(
                f"{folder}: cannot write a run here ({error.strerror}); choose another place with --out"
            ) from error

    def _read(self) -> bool:
        """Read what a continued run already has; returns whether its results.csv is complete."""
        results = results_file(self.folder)
        whole = False
        if os.path.lexists(results):
            (self._names, *rows), whole = result_cells(results)
            for row in rows:
                case, name = (row[self._names.index(column)] for column in ("case", "implementation"))
                own = self._rows.setdefault(case, {})
                own[name] = own.get(name, "") + _csv_text([row])
        self._samples = pack_samples(read_samples(self.folder / SAMPLES_FILE)[0])
        return whole and results.name == RESULTS_FILE

    def append(self, rows: Sequence[Mapping[str, Any]], timed: Iterable[Sample]) -> None:
        """Add complete rows of results.csv (by column name) and the samples of those that were timed; they replace
        those of the same cases and implementations."""
        lines: dict[tuple[str, str], str] = {}
        for row in rows:
            key = cell_text(row["case"]), cell_text(row["implementation"])
            lines[key] = lines.get(key, "") + _csv_text([[cell_text(row.get(name)) for name in self._names]])
        self._require_room(lines)
        earlier = [self._rows.get(case, {}).pop(name, None) for case, name in lines]
        had_samples = [self._samples.pop(key, None) for key in lines]
        new_samples = self._that_fit(pack_samples(timed))
        try:
            if any(earlier):
                self._write_rows()  # so that no row is ever on disk with samples that are not its own
            if new_samples or any(had_samples):
                self._samples |= new_samples
                writing.write_whole(self.folder / SAMPLES_FILE, samples_file(self._samples))
            for (case, name), line in lines.items():
                self._rows.setdefault(case, {})[name] = line
            self._write_rows()
        except OSError as error:
            raise self._cannot_write(error) from error

    def _require_room(self, lines: Mapping[tuple[str, str], str]) -> None:
        """ResultsError, before anything is written, if results.csv would be too large to be read."""
        rest = (line for case, own in self._rows.items() for name, line in own.items() if (case, name) not in lines)
        if sum(len(line.encode()) for line in (_csv_text([self._names]), *rest, *lines.values())) > _MOST_BYTES:
            raise ResultsError(
                f"{self.folder / RESULTS_FILE}: with the next case it has more than {_MOST_BYTES} bytes, the limit of "
                "this file; rows written so far are kept; measure the other cases with --filter into another --out"
            )

    def _that_fit(self, members: dict[tuple[str, str], bytes]) -> dict[tuple[str, str], bytes]:
        """These samples, or none where samples.csv.gz would be too large to be read; rows do without samples."""
        if sum(map(_unpacked_bytes, (*self._samples.values(), *members.values()))) <= _MOST_SAMPLE_BYTES:
            return members
        path = self.folder / SAMPLES_FILE
        _warn(f"{path}: is full, {_MOST_SAMPLE_BYTES} bytes unpacked; further raw samples are left out")
        return {}

    def _write_rows(self) -> None:
        lines = [line for own in self._rows.values() for line in own.values()]
        writing.write_whole(self.folder / RESULTS_FILE, "".join([_csv_text([self._names]), *lines]))

    def _cannot_write(self, error: OSError) -> ResultsError:
        if not self.folder.is_dir():
            return ResultsError(
                f"{self.folder}: is gone, deleted or moved while this run wrote into it; if it was moved, "
                "--resume --out with its new place goes on"
            )
        return ResultsError(
            f"{self.folder}: cannot write ({error.strerror}); rows written so far are kept, and --resume goes on"
        )

    def write_environment(self, environment: Mapping[str, Any]) -> None:
        path = self.folder / ENVIRONMENT_FILE
        try:
            writing.write_whole(path, files.environment_text(environment))
        except OSError as error:
            raise self._cannot_write(error) from error


def _unpacked_bytes(member: bytes) -> int:
    """The unpacked size, which gzip stores in the last four bytes of a member."""
    return int.from_bytes(member[-4:], "little")


def _csv_text(lines: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
