"""Kinds of claims about the times of several implementations at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kernelbench.compare import verdicts
from kernelbench.compare.judging import (
    CACHE,
    at_most,
    case_verdict,
    concluded,
    direction,
    factor,
    factor_size,
    interval,
    label,
    published_speedup,
    size,
    size_of,
    spread_of,
    timed_cases,
)
from kernelbench.compare.ledger import Ledger, published_of
from kernelbench.compare.measured import SAME, Measured, MeasuredCase
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core import units
from kernelbench.core.records import Claim


def order(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    names: Sequence[str] = claim.document["claim"]["order"]

    def one(case: MeasuredCase) -> CaseVerdict | None:
        # The time of each step over that of the one before, and of the first over that of the last.
        steps = [measured.speedup(case.key, CACHE, later, earlier) for earlier, later in pairwise(names)]
        whole = measured.speedup(case.key, CACHE, names[0], names[-1])
        timed = [ratio for ratio in steps if ratio is not None]
        if whole is None or len(timed) < len(steps):
            return None
        met = [at_most(ratio, 1 + SAME) for ratio in timed]
        text = "; ".join(
            f"{later} takes {interval(ratio)} times the time of {earlier}"
            for (earlier, later), ratio in zip(pairwise(names), timed, strict=True)
        )
        published = published_speedup(claim, case, names[0], names[-1])
        holds = False if False in met else None if None in met else True
        found = case_verdict(case, whole, text, direction=holds, band=factor(claim, published), published=published)
        worst[case.key] = max(ratio.value for ratio in timed)
        return found

    worst: dict[str, float] = {}
    cases = timed_cases(measured, claim, names, one)
    chain = ", ".join(label(claim, name) for name in names)
    required = direction(claim, f"each takes no longer than the one before, within {SAME:.0%}: {chain}")

    def told(on: str) -> str:
        steps = verdicts.spread([worst[case.case] for case in cases if case.counts])
        return (
            f"In the order {chain}, the worst step takes {steps} times the time of the one before on {on}; the last is "
            f"{spread_of(cases)} times as fast as the first"
        )

    return concluded(claim, cases, told, required, factor_size(claim))


def level(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    names: Sequence[str] = claim.document["claim"]["names"]
    limit = 1 + size_of(claim, "within")

    def one(case: MeasuredCase) -> CaseVerdict | None:
        times = {name: timed for name in names if (timed := measured.best_method(case.key, name, CACHE))}
        if len(times) < len(names):
            return None
        slowest, fastest = (choose(times, key=lambda name: times[name].median_s) for choose in (max, min))
        ratio = measured.speedup(case.key, CACHE, slowest, fastest)
        if ratio is None:
            return None
        published = _published_times(claim, case, names)
        spread = max(published) / min(published) if published else None
        text = f"{slowest} takes {interval(ratio)} times the time of {fastest}"
        return case_verdict(case, ratio, text, band=(0.0, limit), published=spread)

    cases = timed_cases(measured, claim, names, one)
    listed = ", ".join(label(claim, name) for name in names)
    required = size(claim, f"at most {units.digits(limit, 3)} times from the fastest to the slowest")
    return concluded(
        claim,
        cases,
        lambda on: f"The slowest of {listed} takes {spread_of(cases)} times the time of the fastest on {on}",
        None,
        required,
    )


def _published_times(claim: Claim, case: MeasuredCase, names: Sequence[str]) -> list[float]:
    """Times of all these implementations on that case; empty where one of them has none."""
    found = published_of({claim.id: claim}, case).get(claim.id, {})
    times = [found[name].seconds for name in names if name in found]
    return [time for time in times if time is not None] if len(times) == len(names) else []
