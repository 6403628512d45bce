"""history: a folder of runs -> those of each suite and GPU, in time -> trends, steps, and what changed there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbench.core import places
from kernelbench.core.errors import ResultsError
from kernelbench.core.progress import Progress
from kernelbench.runs.folders import is_run
from kernelbench.runs.results import Run, read_run

if TYPE_CHECKING:
    from kernelbench.compare.history import History

DEPTH = 3  # folders below the given one in which runs are looked for


@dataclass(frozen=True)
class Histories:
    """What a folder of runs tells."""

    found: Sequence[History]  # by suite, then by GPU
    left_out: Sequence[str]  # a sentence per run that is no part of them


def history(folder: Path | None, suite: str | None, progress: Progress) -> Histories:
    """The histories of all suites, or of one, in `folder`; None is the user's own runs.

    Only runs on GPUs of one model are set against each other. ResultsError if no suite has two runs on one model.
    """
    from kernelbench.compare.history import history_of

    place = folder or places.runs()
    name = Path(suite).stem if suite else None
    groups, left_out = _groups(place, name)
    several = {key: runs for key, runs in groups.items() if len(runs) > 1}
    if not several:
        of_suite = f" of '{name}'" if name else ""
        why = f" {'; '.join(left_out)}" if left_out else ""
        raise ResultsError(f"{place}: no two timed runs{of_suite} on one model of GPU; a history needs two.{why}")
    left_out += [
        f"{runs[0].folder}: the only run of {suite} on {device}"
        for (suite, device), runs in groups.items()
        if len(runs) == 1
    ]
    found = []
    with progress.stage("Comparing runs", len(several)) as advance:
        for key in sorted(several):
            found.append(history_of(several[key]))
            advance(1, key[0])
    return Histories(found, left_out)


def _groups(folder: Path, suite: str | None) -> tuple[dict[tuple[str, str], list[Run]], list[str]]:
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
