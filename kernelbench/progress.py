"""How far a walk has come: what shows it, and what share of it a case is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from kernelbench.planning import CasePlan

Advance = Callable[[float, str], None]  # work done since the last call, and what is being done


class Progress(Protocol):
    """Shows that something goes on, and for how long still."""

    def stage(self, title: str, total: float) -> AbstractContextManager[Advance]: ...

    def say(self, text: str) -> None:
        """A line about what goes on, beside the results."""


def weight(counting: bool, plan: CasePlan) -> float:
    """Seconds that a case will take, roughly: a share for each implementation, and on a GPU its bytes some 200
    times. The simulator samples what is large."""
    if counting:
        return 0.5 * len(plan.planned)
    elements = plan.case.elements * len(plan.planned)
    return 0.2 * len(plan.planned) + 200 * 8 * elements / 2e12


def total_weight(counting: bool, plans: Sequence[CasePlan]) -> float:
    return sum(weight(counting, plan) for plan in plans)


def shares(advance: Advance, counting: bool, plan: CasePlan) -> Callable[[float], None]:
    """Turns the share of a case that is done into progress of the whole suite."""
    whole, done = weight(counting, plan), 0.0

    def at(share: float) -> None:
        nonlocal done
        advance(max(0.0, share * whole - done), plan.case.key)
        done = max(done, share * whole)

    return at
