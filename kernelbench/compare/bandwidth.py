"""The claim that least bytes over time, against what a copy reaches, says how good a memory-bound kernel is."""

from __future__ import annotations

from kernelbench.compare import verdicts
from kernelbench.compare.judging import CACHE, beyond_caches, missing, parameters, unmeasured
from kernelbench.compare.ledger import Ledger
from kernelbench.compare.measured import SAME, Measured, MeasuredCase
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core import units
from kernelbench.core.records import Claim


def under_ceiling(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    """On cases that no cache can hold, nobody is above the ceiling, and `yardstick` is within `within` of it."""
    (yardstick,) = parameters(claim, "yardstick")
    within = claim.document["claim"]["within"]
    large, reason = beyond_caches(measured, claim)
    if not large:
        return unmeasured(claim, reason)
    cases = []
    for case in large:
        shares = _shares(measured, case)
        if yardstick not in shares:
            cases.append(missing(measured, case, None, yardstick))
            continue
        best = max(shares, key=lambda name: shares[name])
        holds = shares[best] <= 1 + SAME and shares[yardstick] >= 1 - within
        text = f"{yardstick} {units.share_text(shares[yardstick])} of the ceiling; highest of {len(shares)}: {best} "
        text += units.share_text(shares[best])
        cases.append(CaseVerdict(case.key, case.label, shares[yardstick], None, holds, text))
    outcome = verdicts.overall(cases)
    if outcome == "not measured":
        return unmeasured(claim, verdicts.unmeasured_reasons(cases), cases)
    reached = verdicts.spread([case.measured for case in cases if case.measured is not None], units.share_text)
    highest = max(max(_shares(measured, case).values(), default=0.0) for case in large)
    sentence = (
        f"{yardstick} reaches {reached} of the best copy's bandwidth on {verdicts.counted(cases)}, and nobody more "
        f"than {units.share_text(highest)}; allowed {units.share_text(1 - within)} to {units.share_text(1 + SAME)}"
    )
    if outcome == "holds in part":
        sentence += f": {verdicts.where(cases)}"
    return ClaimVerdict(claim.id, claim.title, outcome, f"{sentence}.", tuple(cases))


def _shares(measured: Measured, case: MeasuredCase) -> dict[str, float]:
    """Share of the ceiling of each implementation that was timed with the L2 cleared."""
    timed = {name: measured.best_method(case.key, name, CACHE) for name in measured.implementations}
    return {name: one.share_of_ceiling for name, one in timed.items() if one and one.share_of_ceiling is not None}
