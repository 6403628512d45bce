"""What is said of a claim: a verdict per case, one for all of them, and one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from kernelbench.core import units

Outcome = Literal["holds", "does not hold", "holds in part", "not measured"]

_NAMED = 4  # most cases that a sentence lists by name


@dataclass(frozen=True)
class CaseVerdict:
    """A claim on one case. `measured` is what the claim's kind compares, most often a ratio."""

    case: str  # key of the case
    label: str  # short form for sentences: "seq=512"
    measured: float | None  # None: not measured, `text` says why
    published: float | None  # the same quantity from the published figures, where they have this case
    holds: bool | None  # None: not measured, or too uncertain to say
    text: str


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim on a whole run."""

    id: str
    title: str
    verdict: Outcome
    sentence: str  # plain English, one line, with the numbers
    cases: tuple[CaseVerdict, ...] = ()


def overall(cases: Sequence[CaseVerdict]) -> Outcome:
    """All measured cases must hold; what was not measured is left out, what is uncertain counts against."""
    judged = [case.holds for case in cases if case.measured is not None]
    if not judged or all(holds is None for holds in judged):
        return "not measured"
    if all(judged):
        return "holds"
    return "holds in part" if any(judged) else "does not hold"


def where(cases: Sequence[CaseVerdict]) -> str:
    """Where it holds and where not: "holds at s=16, s=32; does not at s=64; unsure at s=128"."""
    parts = []
    for words, holds in (("holds at", True), ("does not at", False), ("unsure at", None)):
        labels = [case.label for case in cases if case.measured is not None and case.holds is holds]
        if labels:
            parts.append(f"{words} {listed(labels)}")
    return "; ".join(parts)


def listed(labels: Sequence[str]) -> str:
    """Up to four by name: "a, b, c, d and 3 more"."""
    named = ", ".join(labels[:_NAMED])
    return named if len(labels) <= _NAMED else f"{named} and {len(labels) - _NAMED} more"


def counted(cases: Sequence[CaseVerdict]) -> str:
    """ "all 5 cases", "the one case"."""
    number = len([case for case in cases if case.measured is not None])
    return "the one measured case" if number == 1 else f"all {number} measured cases"


def spread(values: Sequence[float], text: Callable[[float], str] = lambda value: units.digits(value, 3)) -> str:
    """ "1.91 to 2.74", or the one number."""
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def unmeasured_reasons(cases: Sequence[CaseVerdict]) -> str:
    """Why nothing could be judged, each reason once."""
    if not cases:
        return "the run has no case that this claim is about"
    reasons = list(dict.fromkeys(case.text for case in cases))
    return "; ".join(reasons[:2]) + (f"; and {len(reasons) - 2} more" if len(reasons) > 2 else "")
