"""history: a folder of runs -> those of each suite and GPU, oldest first -> trends, steps, and what changed there."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelbench.compare.history import History, history_of
from kernelbench.core import places
from kernelbench.core.errors import ResultsError
from kernelbench.core.progress import Progress
from kernelbench.runs.folders import series_in

NAMED = 3  # runs left out that an error names


@dataclass(frozen=True)
class Histories:
    """What a folder of runs tells."""

    folder: Path
    found: Sequence[History]  # by suite, then by GPU
    left_out: Sequence[str]  # a sentence per run that is no part of them


def history(folder: Path | None, suite: str | None, progress: Progress) -> Histories:
    """The histories of all suites, or of one, in `folder`; None is the user's own runs.

    Only runs on GPUs of one model are set against each other. ResultsError if no suite has two runs on one model.
    """
    place = folder or places.runs()
    name = Path(suite).stem if suite else None
    groups, left_out = series_in(place, name)
    several = {key: runs for key, runs in groups.items() if len(runs) > 1}
    if not several:
        of_suite = f" of '{name}'" if name else ""
        folder_of_runs = f" A folder of runs is named with --runs {suite}." if suite and Path(suite).is_dir() else ""
        why = [f"\n  left out: {one}" for one in left_out[:NAMED]]
        why += [f"\n  and {len(left_out) - NAMED} more"] if left_out[NAMED:] else []
        raise ResultsError(
            f"{place}: no two timed runs{of_suite} on one model of GPU; a history needs two.{folder_of_runs}"
            + "".join(why)
        )
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
    return Histories(place, found, left_out)
