"""Kinds of claims about several implementations at once, and about how one is launched."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kernelbench.compare import verdicts
from kernelbench.compare.judging import (
    CACHE,
    at_most,
    cases_of,
    interval,
    label,
    missing,
    parameters,
    unmeasured,
    verdict,
)
from kernelbench.compare.ledger import Ledger, published_of
from kernelbench.compare.measured import Measured, MeasuredCase
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core import units
from kernelbench.core.records import Claim


def order(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    names: Sequence[str] = claim.document["claim"]["order"]
    within = claim.document["claim"]["within"]
    cases = []
    for case in cases_of(measured, claim):
        # The time of each step over that of the one before.
        ratios = [measured.speedup(case.key, CACHE, later, earlier) for earlier, later in pairwise(names)]
        timed = [ratio for ratio in ratios if ratio is not None]
        if len(timed) < len(ratios):
            cases.append(missing(measured, case, None, *names))
            continue
        steps = [at_most(ratio, 1 + within) for ratio in timed]
        holds = False if False in steps else None if None in steps else True
        text = "; ".join(
            f"{later} takes {interval(ratio)} times the time of {earlier}"
            for (earlier, later), ratio in zip(pairwise(names), timed, strict=True)
        )
        worst = max(ratio.value for ratio in timed)
        cases.append(CaseVerdict(case.key, case.label, worst, _worst_step(claim, case, names), holds, text))
    chain = ", ".join(label(claim, name) for name in names)
    subject = f"In the order {chain}, the worst step takes {{}} times the time of the one before"
    return verdict(claim, cases, subject, f", allowed {units.digits(1 + within, 3)}")


def level(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    names: Sequence[str] = claim.document["claim"]["names"]
    within = claim.document["claim"]["within"]
    cases = []
    for case in cases_of(measured, claim):
        times = {name: timed for name in names if (timed := measured.best_method(case.key, name, CACHE))}
        if len(times) < len(names):
            cases.append(missing(measured, case, None, *names))
            continue
        slowest, fastest = (choose(times, key=lambda name: times[name].median_s) for choose in (max, min))
        ratio = measured.speedup(case.key, CACHE, slowest, fastest)
        if ratio is None:
            cases.append(missing(measured, case, None, slowest, fastest))
            continue
        text = f"{slowest} takes {interval(ratio)} times the time of {fastest}"
        published = _published_times(claim, case, names)
        spread = max(published) / min(published) if published else None
        cases.append(CaseVerdict(case.key, case.label, ratio.value, spread, at_most(ratio, 1 + within), text))
    subject = (
        f"The slowest of {', '.join(label(claim, name) for name in names)} takes {{}} times the time of the fastest"
    )
    return verdict(claim, cases, subject, f", allowed {units.digits(1 + within, 3)}")


def launch(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    (name,) = parameters(claim, "of")
    cases = []
    for case in cases_of(measured, claim):
        for stated in claim.document["claim"]["launches"]:
            if tuple(stated["shape"]) == case.shape and stated["axis"] % len(case.shape) == case.axis % len(case.shape):
                found = _grid_and_block(measured, case.key, name)
                if found is None:
                    cases.append(missing(measured, case, None, name))
                    continue
                expected = _extents(stated["grid"]), _extents(stated["block"])
                text = f"{name}: grid {found[0]}, block {found[1]}; published grid {expected[0]}, block {expected[1]}"
                cases.append(CaseVerdict(case.key, case.label, float(found == expected), None, found == expected, text))
    outcome = verdicts.overall(cases)
    if outcome == "not measured":
        return unmeasured(claim, verdicts.unmeasured_reasons(cases), cases)
    said = "; ".join(f"{case.label}: {case.text}" for case in cases if case.measured is not None)
    return ClaimVerdict(claim.id, claim.title, outcome, f"{said}.", tuple(cases))


def _published_times(claim: Claim, case: MeasuredCase, names: Sequence[str]) -> list[float]:
    """Times of all these implementations on that case; empty where one of them has none."""
    found = published_of({claim.id: claim}, case).get(claim.id, {})
    times = [found[name].seconds for name in names if name in found]
    return [time for time in times if time is not None] if len(times) == len(names) else []


def _worst_step(claim: Claim, case: MeasuredCase, names: Sequence[str]) -> float | None:
    times = _published_times(claim, case, names)
    return max((later / earlier for earlier, later in pairwise(times)), default=None)


def _grid_and_block(measured: Measured, case: str, name: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Of the first launch; None where the run has no row that was launched."""
    row = measured.first_row(case, name)
    return (_extents(row.launches[0].grid), _extents(row.launches[0].block)) if row and row.launches else None


def _extents(values: Sequence[int]) -> tuple[int, ...]:
    """(x, y), with z where it is not 1."""
    x, y, z = (*values, 1, 1)[:3]
    return (x, y) if z == 1 else (x, y, z)
