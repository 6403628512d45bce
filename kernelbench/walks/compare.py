"""compare: a run on disk -> ledger -> ratios and verdicts; or two runs against each other. Needs no GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbench.compare.counted_runs import counts_of
from kernelbench.compare.step_sums import UNFUSED, step_of
from kernelbench.core import places
from kernelbench.core.errors import ResultsError
from kernelbench.core.records import Claim
from kernelbench.runs.folders import find_run, recorded_run
from kernelbench.runs.results import Run, read_run, without_twins

if TYPE_CHECKING:
    from kernelbench.compare import ClaimVerdict, Comparison
    from kernelbench.compare.changes import Changes


@dataclass(frozen=True)
class Answer:
    """What a run says: its table, the comparison within it, and the verdict of each claim."""

    run: Run
    comparison: Comparison
    verdicts: Sequence[ClaimVerdict]
    ledger: Mapping[str, Claim]


def answer(run: Run, baseline: str | None = None) -> Answer:
    """Compare within a run and judge the claims of its suite, both without the twins of a self-test.

    `baseline` None: the baseline of the suite, or the first implementation where --only left that out; for a step the
    unfused side.
    """
    from kernelbench.compare import compare_within, judge, read_ledger

    run = without_twins(run)
    names = [row.implementation for row in run.rows]
    if not names:
        raise ResultsError(f"{run.folder}: holds no rows yet; the run was stopped in its first case")
    ledger = read_ledger(places.LEDGER)
    own = str(run.environment.get("baseline"))
    chosen = baseline or (UNFUSED if step_of(run) else own if own in names else names[0])
    counted, _ = counts_of(run)
    return Answer(run, compare_within(run, chosen, ledger), judge(run, ledger, counted=counted), ledger)


def answer_of(run_name: str | None, baseline: str | None) -> tuple[Answer, str]:
    """The answer of a run on disk, and a line that says which run that is."""
    folder, which = find_run(run_name)
    return answer(read_run(folder), baseline), which


def counted_lines(found: Answer) -> list[str]:
    """What a run of the simulator can say: what the recorded run on a GPU answers, and what counts confirm here."""
    from kernelbench.report import summary
    from kernelbench.report.explanation import explanations

    run = found.run
    folder = recorded_run(run.suite)
    there = read_run(folder) if folder else None
    baseline = next((row.baseline for row in found.comparison), "")
    if (there and baseline not in {row.implementation for row in there.rows}) or step_of(run):
        baseline = ""  # the recorded run has its own
    recorded = answer(there, baseline or None) if there else None
    said = summary.headline(recorded.run, recorded.comparison, recorded.verdicts) if recorded else []
    shown = folder.relative_to(Path.cwd()) if folder and folder.is_relative_to(Path.cwd()) else folder
    command = f"kernelbench compare {shown}" + (f" --baseline {baseline}" if baseline else "")
    cases, _ = explanations(run, found.ledger)
    return summary.counted_lines(run, said, command, found.verdicts, cases)


def changes_between(first: str, second: str, caches: Sequence[str] = (), only: Sequence[str] = ()) -> Changes:
    """The second run against the first; each a folder or the name of a run or suite."""
    from kernelbench.compare.runs import compare_runs

    folders = [find_run(name)[0] for name in (first, second)]
    return compare_runs(read_run(folders[0]), read_run(folders[1]), caches, only)
