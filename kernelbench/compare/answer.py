"""The answer of a run: the comparison within it, and the verdict of each claim of its suite."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelbench.compare.claims import judge_claims
from kernelbench.compare.comparison import Comparison
from kernelbench.compare.counted_runs import counts_of
from kernelbench.compare.ledger import Ledger, read_ledger
from kernelbench.compare.ratios import compare_within
from kernelbench.compare.step_sums import UNFUSED, step_of
from kernelbench.compare.verdicts import ClaimVerdict
from kernelbench.core import places
from kernelbench.core.errors import ResultsError, RunWarning
from kernelbench.core.records import Claim
from kernelbench.runs.results import ENVIRONMENT_FILE, Run, without_twins


@dataclass(frozen=True)
class Answer:
    """What a run says: its table, the comparison within it, and the verdict of each claim."""

    run: Run
    comparison: Comparison
    verdicts: Sequence[ClaimVerdict]
    ledger: Mapping[str, Claim]


def _baseline_of(run: Run, names: Sequence[str]) -> str:
    """That of the suite, or the first implementation; with a warning where the suite does not have it."""
    own = run.environment.get("baseline")
    if own in names:
        return str(own)
    suite = run.environment.get("contents") or {}  # whole, also where --only left implementations out
    if own and own not in suite.get("implementations", [own]):
        where = f"{run.folder / ENVIRONMENT_FILE}: no row is of the baseline '{own}'"
        warnings.warn(f"{where}; '{names[0]}' is taken, --baseline takes another one", RunWarning, stacklevel=2)
    return names[0]


def judge_run(run: Run, baseline: str | None = None, ledger: Ledger | None = None) -> Answer:
    """Compare within a run and judge the claims of its suite, both without the twins of a self-test.

    `baseline` None: the baseline of the suite, or the first implementation where --only left that out; for a step the
    unfused side. `ledger`: the published one, where it has been read for several runs.
    """
    run = without_twins(run)
    names = [row.implementation for row in run.rows]
    if not names:
        raise ResultsError(f"{run.folder}: holds no rows yet; the run was stopped in its first case")
    ledger = read_ledger(places.LEDGER) if ledger is None else ledger
    chosen = baseline or (UNFUSED if step_of(run) else _baseline_of(run, names))
    counted, _ = counts_of(run)
    return Answer(run, compare_within(run, chosen, ledger), judge_claims(run, ledger, counted=counted), ledger)
