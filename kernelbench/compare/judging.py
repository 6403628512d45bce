"""What the kinds of claims share: the cases that one is about, ratios as text, and the verdict with its sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kernelbench.compare import verdicts
from kernelbench.compare.ledger import Ledger, figures, published_of
from kernelbench.compare.measured import SAME, Measured, MeasuredCase, Ratio
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core import units
from kernelbench.core.records import Claim
from kernelbench.explain import evidence

CACHE = "cold"  # the L2 is cleared before every sample
CACHE_MULTIPLE = 4  # a case that moves more times the size of the L2 is memory-bound: the L2 keeps a quarter at most

Judge = Callable[[Measured, Claim, Ledger], ClaimVerdict]


def parameters(claim: Claim, *names: str) -> tuple[str, ...]:
    return tuple(claim.document["claim"][name] for name in names)


def label(claim: Claim, name: str) -> str:
    return str(claim.document["claim"].get("labels", {}).get(name, name))


def cases_of(measured: Measured, claim: Claim) -> Iterator[MeasuredCase]:
    """Cases that the claim is about: of its operation, dtypes and parameters, and not narrower than it says. An
    explanation may be about several operations."""
    limits: Mapping[str, Any] = claim.document["claim"]
    for case in measured.cases:
        if case.operation != claim.document["operation"] and claim.kind != "explanation":
            continue
        if case.dtype not in limits.get("dtypes", [case.dtype]) or case.columns < limits.get("from_columns", 0):
            continue
        if not evidence.has_published_inputs(evidence.inputs_of(case.words), claim):
            continue
        if evidence.has_parameters(case.words, limits.get("parameters", {})):
            yield case


def beyond_caches(measured: Measured, claim: Claim) -> tuple[list[MeasuredCase], str]:
    """Cases that count as memory-bound, which move more than 4 times what the L2 holds; where none, why."""
    l2_bytes = measured.run.environment.get("device", {}).get("l2_bytes")
    if not l2_bytes:
        return [], "environment.json of the run does not give the size of the L2"
    large = [case for case in cases_of(measured, claim) if (case.bytes_moved or 0) > CACHE_MULTIPLE * l2_bytes]
    limit = units.bytes_text(CACHE_MULTIPLE * l2_bytes)
    return large, f"no case moves more than {limit}, {CACHE_MULTIPLE} times the L2, so caches decide"


def published_speedup(claim: Claim, case: MeasuredCase, baseline: str, name: str) -> float | None:
    found = published_of({claim.id: claim}, case).get(claim.id, {})
    left, right = found.get(baseline), found.get(name)
    return left.seconds / right.seconds if left and right and left.seconds and right.seconds else None


def missing(measured: Measured, case: MeasuredCase, published: float | None, *names: str) -> CaseVerdict:
    return CaseVerdict(case.key, case.label, None, published, None, measured.why_not(case.key, CACHE, *names))


def at_most(ratio: Ratio, limit: float) -> bool | None:
    return True if ratio.high <= limit else False if ratio.low > limit else None


def is_faster(ratio: Ratio) -> bool | None:
    """True: faster by more than the noise band. False: within the interval it is at most the same. None: unsure."""
    return True if ratio.verdict == "FASTER" else False if ratio.high <= 1 + SAME else None


def interval(ratio: Ratio) -> str:
    low, value, high = (units.digits(number, 3) for number in (ratio.low, ratio.value, ratio.high))
    return f"{value} [{low}, {high}]"


def unmeasured(claim: Claim, reason: str, cases: list[CaseVerdict] | None = None) -> ClaimVerdict:
    return ClaimVerdict(claim.id, claim.title, "not measured", f"Not measured: {reason}.", tuple(cases or ()))


def verdict(
    claim: Claim, cases: list[CaseVerdict], subject: str, tail: str = "", with_published: bool = True
) -> ClaimVerdict:
    """The sentence of all kinds that compare a number: subject, range, number of cases, published, where."""
    values = [case.measured for case in cases if case.measured is not None]
    outcome = verdicts.overall(cases)
    if not values:
        return unmeasured(claim, verdicts.unmeasured_reasons(cases), cases)
    sentence = subject.format(verdicts.spread(values)) + f" on {verdicts.counted(cases)}{tail}"
    if with_published:
        sentence += _published_text(claim, cases)
    if outcome in ("holds in part", "not measured"):
        sentence += f": {verdicts.where(cases)}"
    return ClaimVerdict(claim.id, claim.title, outcome, sentence + ".", tuple(cases))


def _published_text(claim: Claim, cases: list[CaseVerdict]) -> str:
    published = [case.published for case in cases if case.published is not None]
    if not published:
        return ""
    at = f"at {len(published)} of them, {figures(claim)[0].device}"
    caution = claim.document["claim"].get("caution", "")
    return f" (published {verdicts.spread(published)} {at}{'; ' if caution else ''}{caution})"
