"""All there is to say of a claim, in order: what was said, what was required, what came out, why, what differs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kernelbench.compare.ledger_schema import FLAGS
from kernelbench.compare.verdicts import NOT_DECIDED, CaseVerdict, ClaimVerdict
from kernelbench.core.records import Claim
from kernelbench.core.units import digits
from kernelbench.report import view

_ANSWERS = {True: "yes", False: "no", None: "open"}
SYMBOLS = {"holds": "✓", "direction only": "◒", "holds in part": "◐", "does not hold": "✗", NOT_DECIDED: "○"}


@dataclass(frozen=True)
class RequiredPart:
    """The direction or the size that a claim asks for."""

    part: str
    required: str
    by: str  # "stated: “twice as fast”"
    answer: str


@dataclass(frozen=True)
class CaseLine:
    """One case, as texts; empty where there is nothing."""

    case: str
    measured: str
    interval: str
    published: str
    required: str
    met: str  # yes, no or open: all that is asked of the case
    direction: str  # the same of one part, where the claim asks for both
    size: str
    text: str


@dataclass(frozen=True)
class ClaimStory:
    """A claim on one run, told in texts."""

    kind: str
    document: Mapping[str, Any]  # the claim's ledger entry
    verdict: ClaimVerdict
    symbol: str
    parts: tuple[RequiredPart, ...]
    cases: tuple[CaseLine, ...]
    why: str
    differs: tuple[str, ...]  # from the source's set-up
    commands: tuple[str, ...]


def claim_story(claim: Claim, verdict: ClaimVerdict, why: str, suite: str, labels: Mapping[str, str]) -> ClaimStory:
    """`labels`: short names of the run's cases by key."""
    return ClaimStory(
        kind=claim.kind,
        document=claim.document,
        verdict=verdict,
        symbol=SYMBOLS[verdict.verdict],
        parts=tuple(_parts(verdict)),
        cases=tuple(_case(verdict, case, labels) for case in verdict.cases),
        why=why,
        differs=tuple(_differs(claim.document)),
        commands=(f"kernelbench run {suite}", f"kernelbench compare {suite}"),
    )


def _parts(verdict: ClaimVerdict) -> Iterator[RequiredPart]:
    for name, part in (("direction", verdict.direction), ("size", verdict.size)):
        if part is not None:
            yield RequiredPart(name, part.required, view.asked_by(part), part.answer)


def _case(verdict: ClaimVerdict, case: CaseVerdict, labels: Mapping[str, str]) -> CaseLine:
    both = case.counts and verdict.direction is not None and verdict.size is not None
    return CaseLine(
        case=labels.get(case.case, case.label),
        measured=_measured(case),
        interval="" if case.interval is None else f"{_number(case.interval[0])} to {_number(case.interval[1])}",
        published=_number(case.published),
        required="" if case.required is None else _band(*case.required),
        met=_ANSWERS[verdict.met(case)] if case.counts else "",
        direction=_ANSWERS[case.direction] if both else "",
        size=_ANSWERS[case.size] if both and case.required else "",
        text=case.text,
    )


def _differs(document: Mapping[str, Any]) -> Iterator[str]:
    """The entry's note, what its kernels were bent for, and the meaning of each flag."""
    yield from (document[name] for name in ("note", "bent") if name in document)
    yield from (f"{flag}: {FLAGS[flag]}." for flag in document["flags"])


def _band(low: float, high: float) -> str:
    """`1.60 to 2.50`, `at most 1.05`, `more than 0.500`."""
    if low == high:
        return _number(high)
    if low == 0:
        return f"at most {_number(high)}"
    return f"more than {_number(low)}" if high == float("inf") else f"{_number(low)} to {_number(high)}"


def _measured(case: CaseVerdict) -> str:
    """With a digit more where it would round to an end of the band that it misses: 0.948 for at least 0.95."""
    said = _number(case.measured)
    ends = {_number(end) for end in case.required or ()}
    return digits(case.measured, 3) if case.measured and case.size is False and said in ends else said


def _number(value: float | None) -> str:
    return "" if value is None else view.shown_ratio(value)
