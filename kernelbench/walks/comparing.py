"""Two runs on disk, found by name and set against each other. Needs no GPU."""

from __future__ import annotations

from collections.abc import Sequence

from kernelbench.compare.changes import Changes
from kernelbench.runs.folders import find_run
from kernelbench.runs.results import read_run


def changes_between(first: str, second: str, caches: Sequence[str] = (), only: Sequence[str] = ()) -> Changes:
    """The second run against the first; each a folder or the name of a run or suite."""
    from kernelbench.compare.runs import compare_runs

    folders = [find_run(name)[0] for name in (first, second)]
    return compare_runs(read_run(folders[0]), read_run(folders[1]), caches, only)
