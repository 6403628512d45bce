"""Which published claims hold in a run, and why; and those whose verdict differs between two runs."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from kernelbench.compare.counted_runs import counted_of_run
from kernelbench.compare.judging import ClaimQuery
from kernelbench.compare.kinds import KINDS, WITHOUT_TIMES
from kernelbench.compare.ledger import Ledger
from kernelbench.compare.ledger_schema import FIGURES_ONLY
from kernelbench.compare.measured import NO_TIMES, MeasuredRun
from kernelbench.compare.verdicts import NOT_DECIDED, ClaimVerdict, Outcome
from kernelbench.compare.why import ledger_reason
from kernelbench.core.errors import InputError, RunWarning
from kernelbench.core.records import Claim
from kernelbench.explain.counted import CountedCases
from kernelbench.runs.files import is_folder_name
from kernelbench.runs.results import ENVIRONMENT_FILE, Run


def judge_claims(
    run: Run, ledger: Ledger, ids: Sequence[str] | None = None, counted: CountedCases | None = None
) -> list[ClaimVerdict]:
    """The verdict on each claim. Without `ids`: those that the run's suite names, else all that name the suite.

    `counted`: counts of the simulator by case and implementation, where the run itself has none.
    """
    if ids is None:
        named = run.environment.get("claims") or []
        ids = list(
            _known(run, ledger, named) if named else (one.id for one in ledger.values() if run.suite in one.suites)
        )
    measured = MeasuredRun(run, counted_of_run(run) or counted)
    return [_judge_one(measured, _entry(ledger, id_)) for id_ in ids]


def _known(run: Run, ledger: Ledger, ids: Sequence[str]) -> Iterator[str]:
    """The claims that environment.json names, without those that this ledger does not have but another might."""
    for id_ in ids:
        if id_ in ledger or not is_folder_name(id_):  # names of claims and of suites are of the same kind
            yield id_
            continue
        where = f"{run.folder / ENVIRONMENT_FILE}: claim '{id_}' is not in this ledger and is left out"
        warnings.warn(f"{where}; a newer kernelbench may have it", RunWarning, stacklevel=2)


def explain_verdicts(
    run: Run, ledger: Ledger, verdicts: Sequence[ClaimVerdict], counted: CountedCases | None = None
) -> dict[str, str]:
    """Why each claim came out so, by id: what the ledger says of that verdict, then what counters say of it."""
    measured = MeasuredRun(run, counted_of_run(run) or counted)
    return {one.id: _why(measured, ledger[one.id], one) for one in verdicts if one.id in ledger}


def _why(measured: MeasuredRun, claim: Claim, found: ClaimVerdict) -> str:
    parts = [ledger_reason(measured, claim, found.verdict)] if found.verdict != NOT_DECIDED else []
    if claim.kind != "explanation" and claim.document.get("explanation"):
        counts = KINDS["explanation"](ClaimQuery(measured, claim))
        if counts.verdict != NOT_DECIDED:
            parts.append(counts.sentence)
    return " ".join(part for part in parts if part)


def _entry(ledger: Ledger, id_: str) -> Claim:
    if id_ in ledger:
        return ledger[id_]
    matches = get_close_matches(id_, list(ledger), n=1)
    hint = f"did you mean '{matches[0]}'?" if matches else "`kernelbench list claims` shows all"
    raise InputError(f"claim '{id_}' is not in the ledger; {hint}")


def _judge_one(measured: MeasuredRun, claim: Claim) -> ClaimVerdict:
    if claim.kind == FIGURES_ONLY:
        sentence = "Published figures only; this entry claims nothing that could hold or not."
        return ClaimVerdict(claim.id, claim.title, NOT_DECIDED, sentence)
    if measured.run.simulated and claim.kind not in WITHOUT_TIMES:
        return ClaimVerdict(claim.id, claim.title, NOT_DECIDED, f"Not decided: {NO_TIMES}.")
    return KINDS[claim.kind](ClaimQuery(measured, claim))


@dataclass(frozen=True)
class ClaimChange:
    """A claim that both runs were judged on, with two different verdicts."""

    id: str
    title: str
    first: Outcome
    second: Outcome
    sentence: str  # the second run's, with its numbers


def claim_changes(first: Sequence[ClaimVerdict], second: Sequence[ClaimVerdict]) -> list[ClaimChange]:
    """The claims of the second run that got another verdict in the first, in the second run's order."""
    before = {one.id: one.verdict for one in first}
    return [
        ClaimChange(one.id, one.title, before[one.id], one.verdict, one.sentence)
        for one in second
        if before.get(one.id, one.verdict) != one.verdict
    ]
