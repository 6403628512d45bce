"""The claim that least bytes over time, against what a copy reaches, says how good a memory-bound kernel is."""

from __future__ import annotations

from kernelbench.compare import verdicts
from kernelbench.compare.judging import (
    CACHE,
    beyond_caches,
    concluded,
    label,
    missing,
    parameters,
    size,
    size_of,
    unmeasured,
)
from kernelbench.compare.ledger import Ledger
from kernelbench.compare.measured import SAME, Measured, MeasuredCase
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core import units
from kernelbench.core.records import Claim


def under_ceiling(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    """On cases that no cache can hold, nobody is above the ceiling, and `yardstick` is within `within` of it."""
    (yardstick,) = parameters(claim, "yardstick")
    least, most = 1 - size_of(claim, "within"), 1 + SAME
    large, reason = beyond_caches(measured, claim)
    if not large:
        return unmeasured(claim, reason)
    cases = []
    for case in large:
        shares = _shares(measured, case)
        if yardstick not in shares:
            cases.append(missing(measured, case, yardstick))
            continue
        best = max(shares, key=lambda name: shares[name])
        text = f"{yardstick} {units.share_text(shares[yardstick])} of the ceiling; highest of {len(shares)}: {best} "
        text += units.share_text(shares[best])
        met = shares[best] <= most and shares[yardstick] >= least
        cases.append(CaseVerdict(case.key, case.label, shares[yardstick], text, size=met, required=(least, most)))
    band = f"{units.share_text(least)} to {units.share_text(most)}"
    required = size(claim, f"{label(claim, yardstick)} at {band} of the ceiling, and nobody above")

    def told(on: str) -> str:
        reached = verdicts.spread([case.measured for case in cases if case.measured is not None], units.share_text)
        highest = max(max(_shares(measured, case).values(), default=0.0) for case in large)
        return (
            f"{label(claim, yardstick)} reaches {reached} of the best copy's bandwidth on {on}, and nobody more than "
            f"{units.share_text(highest)}"
        )

    return concluded(claim, cases, told, None, required)


def _shares(measured: Measured, case: MeasuredCase) -> dict[str, float]:
    """Share of the ceiling of each implementation that was timed with the L2 cleared."""
    timed = {name: measured.best_method(case.key, name, CACHE) for name in measured.implementations}
    return {name: one.share_of_ceiling for name, one in timed.items() if one and one.share_of_ceiling is not None}
