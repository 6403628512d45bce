"""A folder of runs: those of each suite and GPU, in time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kernelbench.core.errors import ResultsError
from kernelbench.runs.folders import is_run
from kernelbench.runs.results import Run, read_run

DEPTH = 3  # folders below the given one in which runs are looked for


def series_in(folder: Path, suite: str | None) -> tuple[dict[tuple[str, str], list[Run]], list[str]]:
    """Runs by suite and GPU, in time; and why others are left out."""
    groups: dict[tuple[str, str], list[Run]] = {}
    left_out: list[str] = []
    for path in _folders(folder):
        try:
            run = read_run(path)
        except ResultsError as error:
            left_out.append(str(error))
            continue
        if suite in (None, run.suite):
            if reason := _why_not(run):
                left_out.append(f"{path}: {reason}")
            else:
                groups.setdefault((run.suite, run.device), []).append(run)
    for runs in groups.values():
        runs.sort(key=lambda run: str(run.environment["started"]))
    return groups, left_out


def _folders(folder: Path) -> Iterator[Path]:
    """The runs in a folder, a few levels deep; links to folders are not followed."""
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such folder; expected one that holds the folders of runs")
    for path, below, _ in os.walk(folder):
        below.sort()
        if is_run(Path(path)):
            yield Path(path)
        if len(Path(path).relative_to(folder).parts) >= DEPTH:
            below.clear()


def _why_not(run: Run) -> str:
    """Why a run has no place in a history; '' if it has one."""
    if run.simulated:
        return "a run of the simulator, which has no times"
    if not run.environment.get("started"):
        return "environment.json does not say when it was started"
    if "gate" in run.environment:
        return "a run of `kernelbench gate`, whose HEAD may never have been merged"
    return "" if any(row.times for row in run.rows) else "no row has a time"
