"""Every published comparison judged on the runs that kernelbench ships: verdict, numbers and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelbench.compare.claims import explain_verdicts, judge
from kernelbench.compare.counted_runs import counts_of
from kernelbench.compare.ledger import read_ledger
from kernelbench.compare.verdicts import ClaimVerdict
from kernelbench.core import places
from kernelbench.core.records import Claim
from kernelbench.runs.folders import RECORDED_GPU, RECORDED_SIMULATOR, is_run
from kernelbench.runs.results import read_run

# What decides a claim, where times do not.
DECIDED_BY = {
    "specimen": "verification",
    "same_code": "machine code",
    "longer_code": "machine code",
    "launch": "launches",
    "explanation": "counters",
}


@dataclass(frozen=True)
class Standing:
    """A published comparison on the recorded runs. An empty verdict: nothing is claimed, or nothing is recorded."""

    claim: Claim
    verdict: str
    decided_by: str  # times, counters, machine code, launches or verification; '' where nothing is claimed
    measured: str  # the sentence of the verdict, or why there is none
    why: str  # '' where the ledger has no explanation of this verdict and counters show nothing


def standings(results: Path = places.RECORDED) -> list[Standing]:
    """Every entry of the ledger, those with a claim first, judged on the runs in `results`/h200.

    Claims that need no times are judged on `results`/simulated where no GPU has run them.
    """
    ledger = read_ledger(places.LEDGER)
    found: dict[str, list[tuple[str, ClaimVerdict, str]]] = {}
    for suite in dict.fromkeys(suite for claim in ledger.values() for suite in claim.suites):
        own = [claim.id for claim in ledger.values() if suite in claim.suites]
        for id_, (verdict, why) in _judged(results, suite, own, ledger).items():
            found.setdefault(id_, []).append((suite, verdict, why))
    entries = sorted(ledger.values(), key=lambda one: not one.suites)
    return [_standing(claim, found.get(claim.id, [])) for claim in entries]


def _judged(
    results: Path, suite: str, ids: Sequence[str], ledger: Mapping[str, Claim]
) -> dict[str, tuple[ClaimVerdict, str]]:
    """Verdicts and their reasons on the GPU's run, or on the simulator's run where the GPU's decides nothing."""
    found: dict[str, tuple[ClaimVerdict, str]] = {}
    for folder in (results / RECORDED_GPU / suite, results / RECORDED_SIMULATOR / suite):
        left = [id_ for id_ in ids if id_ not in found or found[id_][0].verdict == "not measured"]
        if not left or not is_run(folder):
            continue
        run = read_run(folder)
        counted, _ = counts_of(run, results)
        verdicts = judge(run, ledger, left, counted=counted)
        whys = explain_verdicts(run, ledger, verdicts, counted)
        for one in verdicts:
            if one.id not in found or one.verdict != "not measured":
                found[one.id] = (one, whys[one.id])
    return found


def _standing(claim: Claim, found: Sequence[tuple[str, ClaimVerdict, str]]) -> Standing:
    """The standing on all suites of the claim; it holds only where all of them agree."""
    if not claim.suites:
        return Standing(claim, "", "", " ".join(str(claim.document["no_claim"]).split()), "")
    decided_by = DECIDED_BY.get(claim.kind, "times")
    if not found:
        missing = f"Not measured: no recorded run of {' or '.join(claim.suites)}."
        return Standing(claim, "not measured", decided_by, missing, "")
    decided = [one for one in found if one[1].verdict != "not measured"] or found[:1]
    outcomes = {verdict.verdict for _, verdict, _ in decided}
    several = len(decided) > 1
    measured = " ".join(
        f"{suite}: {verdict.sentence}" if several else verdict.sentence for suite, verdict, _ in decided
    )
    why = " ".join(dict.fromkeys(why for _, _, why in decided if why))
    return Standing(claim, outcomes.pop() if len(outcomes) == 1 else "holds in part", decided_by, measured, why)
