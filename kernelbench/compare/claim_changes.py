"""Published claims whose verdict differs between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelbench.compare.verdicts import ClaimVerdict, Outcome


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
