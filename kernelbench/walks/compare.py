"""compare: a run on disk -> ledger -> ratios and verdicts; or two runs against each other. Needs no GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbench.compare.answer import Answer, answer
from kernelbench.compare.step_sums import step_of
from kernelbench.core import places
from kernelbench.core.progress import QUIET, Progress
from kernelbench.runs.folders import find_run, recorded_run
from kernelbench.runs.results import read_run

if TYPE_CHECKING:
    from kernelbench.compare.changes import Changes


def answer_of(run_name: str | None, baseline: str | None, progress: Progress = QUIET) -> tuple[Answer, str]:
    """The answer of a run on disk, and a line that says which run that is."""
    folder, which = find_run(run_name)
    with progress.stage(f"Comparing within {folder.name}", 1) as advance:
        found = answer(read_run(folder), baseline)
        advance(1, "")
    return found, which


def counted_lines(found: Answer, counts: str = "--all prints the counts") -> list[str]:
    """What a run of the simulator can say: what the recorded run on a GPU answers, and what counts confirm here.

    `counts`: where its counts are shown.
    """
    from kernelbench.report import summary
    from kernelbench.report.explanation import explanations

    run = found.run
    folder = recorded_run(run.suite)
    there = read_run(folder) if folder else None
    if there and not {row.case for row in run.rows} & {row.case for row in there.rows}:
        there = None  # other sizes or types
    baseline = next((row.baseline for row in found.comparison), "")
    own = there.environment.get("baseline") if there else ""
    forced = own not in {row.implementation for row in run.rows}  # an --only without the suite's baseline
    if (there and baseline not in {row.implementation for row in there.rows}) or step_of(run) or forced:
        baseline = ""  # the recorded run has its own
    recorded = _recorded_answer(folder, baseline or None) if folder and there else None
    said = summary.headline(recorded.run, recorded.comparison, recorded.verdicts) if recorded else []
    shown = folder and folder.relative_to(places.ROOT)  # which `compare` takes in every folder
    command = f"kernelbench compare {shown}" + (f" --baseline {baseline}" if baseline else "")
    cases, _ = explanations(run, found.ledger)
    return summary.counted_lines(run, counts, said, command, found.verdicts, cases)


@lru_cache(maxsize=2)
def _recorded_answer(folder: Path, baseline: str | None) -> Answer:
    """Kept, because run and report ask for the same one, and its intervals take a second."""
    return answer(read_run(folder), baseline)


def changes_between(
    first: str,
    second: str,
    caches: Sequence[str] = (),
    only: Sequence[str] = (),
    progress: Progress = QUIET,
) -> Changes:
    """The second run against the first; each a folder or the name of a run or suite."""
    from kernelbench.compare.runs import compare_runs

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
