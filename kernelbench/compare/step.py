"""The kind of claims about a whole step: all calls of its parts together, unfused against fused."""

from __future__ import annotations

from kernelbench.compare import step_sums
from kernelbench.compare.judging import interval, is_faster, unmeasured
from kernelbench.compare.ledger import Ledger
from kernelbench.compare.measured import Measured, Ratio
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict, Outcome
from kernelbench.core import units
from kernelbench.core.records import Claim


def step(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    """A step takes less time with its parts fused than unfused; judged on the sums alone, never on a part of them."""
    summed = step_sums.sum_of(measured.run)
    if summed is None:
        return unmeasured(claim, "the run is not of a step")
    missing = [text for side in step_sums.SIDES for text in summed.missing(side)]
    unfused, fused, ratio = summed.total(step_sums.UNFUSED), summed.total(step_sums.FUSED), summed.ratio
    if unfused is None or fused is None or ratio is None:
        return unmeasured(claim, f"without all of its parts a step has no sum: {'; '.join(dict.fromkeys(missing))}")
    compared = Ratio(ratio.value, ratio.low, ratio.high, "sum", unfused.value, fused.value)
    holds = is_faster(compared)
    times = f"{units.time_text(unfused.value)} unfused and {units.time_text(fused.value)} fused"
    case = CaseVerdict(
        measured.run.suite, "a step", ratio.value, None, holds, f"{interval(compared)} times as fast ({times})"
    )
    outcome: Outcome = "holds" if holds else "not measured" if holds is None else "does not hold"
    calls = sum(one.part.calls for one in summed.parts)
    sentence = (
        f"The {calls} calls of {len(summed.parts)} parts of a step take {times}, {interval(compared)} times as fast"
    )
    caution = claim.document["claim"].get("caution", "")
    tail = f" ({caution})" if caution else ""
    unsure = ": too uncertain to say" if holds is None else ""
    return ClaimVerdict(claim.id, claim.title, outcome, f"{sentence}{unsure}{tail}.", (case,))
