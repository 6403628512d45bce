"""Every published comparison judged on the runs that kernelbench ships: verdict, numbers and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kernelbench.compare.claims import explain_verdicts, judge_claims
from kernelbench.compare.counted_runs import counts_of
from kernelbench.compare.kinds import WITHOUT_TIMES
from kernelbench.compare.ledger import read_ledger
from kernelbench.compare.verdicts import NOT_DECIDED, ClaimPart, ClaimVerdict, Outcome, overall_verdict
from kernelbench.core import places
from kernelbench.core.progress import QUIET, Progress
from kernelbench.core.records import Claim
from kernelbench.runs.folders import RECORDED_GPU, RECORDED_SIMULATOR, is_run
from kernelbench.runs.results import read_run


@dataclass(frozen=True)
class JudgedClaim:
    """A claim on the recorded run of one suite."""

    suite: str
    verdict: ClaimVerdict
    why: str  # '' where the ledger has no explanation of this verdict and counters show nothing


@dataclass(frozen=True)
class Standing:
    """A published comparison on the recorded runs. An empty verdict: nothing is claimed."""

    claim: Claim
    verdict: Outcome | Literal[""]
    measured: str  # the sentence of the verdict, or why there is none
    decided_by: str = ""  # times, counters, machine code, launches or verification; '' where nothing is claimed
    runs: tuple[JudgedClaim, ...] = ()  # that decide it
    direction: ClaimPart | None = None  # over all of its runs; None: not asked for
    size: ClaimPart | None = None

    @property
    def why(self) -> str:
        return " ".join(dict.fromkeys(one.why for one in self.runs if one.why))


def ledger_standings(results: Path = places.RECORDED, progress: Progress = QUIET) -> list[Standing]:
    """Every entry of the ledger, those with a claim first, judged on the runs in `results`/h200.

    Claims that need no times are judged on `results`/simulated where no GPU has run them.
    """
    ledger = read_ledger(places.LEDGER)
    found: dict[str, list[JudgedClaim]] = {}
    suites = dict.fromkeys(suite for claim in ledger.values() for suite in claim.suites)
    with progress.stage("Judging claims", len(suites)) as advance:
        for suite in suites:
            advance(0, suite)
            own = [claim.id for claim in ledger.values() if suite in claim.suites]
            for id_, one in _judged(results, suite, own, ledger).items():
                found.setdefault(id_, []).append(one)
            advance(1, suite)
    entries = sorted(ledger.values(), key=lambda one: not one.suites)
    return [_standing(claim, found.get(claim.id, [])) for claim in entries]


def _judged(results: Path, suite: str, ids: Sequence[str], ledger: Mapping[str, Claim]) -> dict[str, JudgedClaim]:
    """Verdicts and their reasons on the GPU's run, or on the simulator's run where the GPU's decides nothing."""
    found: dict[str, JudgedClaim] = {}
    for folder in (results / RECORDED_GPU / suite, results / RECORDED_SIMULATOR / suite):
        left = [id_ for id_ in ids if id_ not in found or found[id_].verdict.verdict == NOT_DECIDED]
        if not left or not is_run(folder):
            continue
        run = read_run(folder)
        counted, _ = counts_of(run, results)
        verdicts = judge_claims(run, ledger, left, counted=counted)
        whys = explain_verdicts(run, ledger, verdicts, counted)
        for one in verdicts:
            if one.id not in found or one.verdict != NOT_DECIDED:
                found[one.id] = JudgedClaim(suite, one, whys[one.id])
    return found


def _standing(claim: Claim, found: Sequence[JudgedClaim]) -> Standing:
    """The standing on all suites of the claim; it holds only where all of them agree."""
    if not claim.suites:
        return Standing(claim, "", " ".join(str(claim.document["no_claim"]).split()))
    decided_by = WITHOUT_TIMES.get(claim.kind, "times")
    if not found:
        missing = f"Not decided: no recorded run of {' or '.join(claim.suites)}."
        return Standing(claim, NOT_DECIDED, missing, decided_by)
    runs = tuple(one for one in found if one.verdict.verdict != NOT_DECIDED) or tuple(found[:1])
    sentences = [f"{one.suite}: " * (len(runs) > 1) + one.verdict.sentence for one in runs]
    direction = _agreed([one.verdict.direction for one in runs])
    size = _agreed([one.verdict.size for one in runs])
    return Standing(claim, overall_verdict(direction, size), " ".join(sentences), decided_by, runs, direction, size)


def _agreed(parts: Sequence[ClaimPart | None]) -> ClaimPart | None:
    """One part of a claim over several runs: in part where their answers differ."""
    asked = [part for part in parts if part is not None]
    if not asked:
        return None
    answers = {part.answer for part in asked}
    return asked[0] if len(answers) == 1 else replace(asked[0], answer="in part")
