"""compare: a run on disk -> ledger -> ratios and verdicts; or two runs against each other. Needs no GPU."""

from collections.abc import Sequence

from kernelbench.compare.answer import Answer, judge_run
from kernelbench.compare.changes import Changes
from kernelbench.compare.runs import compare_runs
from kernelbench.core.progress import QUIET, Progress
from kernelbench.runs.folders import find_run
from kernelbench.runs.results import read_run


def answer_of(run_name: str | None, baseline: str | None, progress: Progress = QUIET) -> tuple[Answer, str]:
    """The answer of a run on disk, and a line that says which run that is."""
    folder, which = find_run(run_name)
    with progress.stage(f"Comparing within {folder.name}", 1) as advance:
        found = judge_run(read_run(folder), baseline)
        advance(1, "")
    return found, which


def changes_between(
    first: str, second: str, caches: Sequence[str] = (), only: Sequence[str] = (), progress: Progress = QUIET
) -> Changes:
    """The second run against the first; each a folder or the name of a run or suite."""
    folders = [find_run(name)[0] for name in (first, second)]
    with progress.stage("Comparing", 3) as advance:
        advance(0, f"reading {first}")
        one = read_run(folders[0])
        advance(1, f"reading {second}")
        other = read_run(folders[1])
        advance(1, "comparing rows")
        changes = compare_runs(one, other, caches, only)
        advance(1, "")
    return changes
