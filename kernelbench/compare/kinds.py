"""How each kind of claim is judged on a run: what it measures on a case, and what its direction and size ask of that.
All use times with the L2 cleared ("cold"), but for the kinds WITHOUT_TIMES.

faster           direction: `faster` is faster than `slower`
                 size: how many times as fast: `factor`
not_faster       direction: `suspect` is not faster than `than`
order            direction: each of `order` takes no longer than the one before it
                 size: time of the first over time of the last: `factor`
near_best        size: time of `dispatched` over the best of `alternatives`: at most 1 + `within`
bandwidth_share  size: effective bandwidth of `reads_thrice` over that of `reads_once`: more than `share`
proportion       direction: `fused` is faster than `unfused`
                 size: time of `unfused` over time of `fused`: the ratio of their traffic, `within`
level            size: time of the slowest of `names` over that of the fastest: at most 1 + `within`
curve            direction: the bandwidth of `of` takes the `trend` `along` a parameter
                 size: bandwidth over that at `base`: in `bands`
under_ceiling    size: `yardstick` is `within` of the ceiling, and nobody is above it
step             direction: all calls of a step take less time fused
                 size: how many times as fast: `factor`
specimen         direction: each of `specimens` is wrong, `correct` is right, and slower than `slower_than`
same_code        direction: all of `names` have the same machine code
longer_code      direction: `longer` has more instructions than `shorter`
                 size: how many times as many: `factor`
more_registers   direction: each of `order` needs more registers than the one before it
launch           size: `of` has the grids and blocks of `launches`
explanation      direction: counters of the simulator confirm each statement

"No longer", "not faster" and "nobody above" give way by what two runs differ by, `measured.SAME`. `proportion` and
`under_ceiling` count cases that no cache can hold: those that move more than 4 times the L2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernelbench.compare import step_sums, verdicts
from kernelbench.compare.bandwidth import under_ceiling
from kernelbench.compare.checked import explanation, launch, specimen
from kernelbench.compare.code import longer_code, more_registers, same_code
from kernelbench.compare.curves import curve
from kernelbench.compare.judging import (
    CACHE,
    Judge,
    at_most,
    beyond_caches,
    case_verdict,
    concluded,
    direction,
    factor,
    factor_size,
    inside,
    interval,
    is_faster,
    label,
    parameters,
    published_speedup,
    size,
    size_of,
    spread_of,
    timed_cases,
    unmeasured,
)
from kernelbench.compare.ledger import Ledger
from kernelbench.compare.measured import SAME, Measured, MeasuredCase, Ratio
from kernelbench.compare.orders import level, order
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core import units
from kernelbench.core.records import Claim


def faster(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    return _beside(measured, claim, ("faster", "slower"), "faster", is_faster)


def not_faster(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    return _beside(measured, claim, ("suspect", "than"), "not faster", lambda ratio: at_most(ratio, 1 + SAME))


def _beside(
    measured: Measured, claim: Claim, sides: tuple[str, str], said: str, holds: Callable[[Ratio], bool | None]
) -> ClaimVerdict:
    """How many times as fast the first side is as the second, and whether that `holds`. `sides`: of the claim."""
    name, than = parameters(claim, *sides)

    def one(case: MeasuredCase) -> CaseVerdict | None:
        ratio = measured.speedup(case.key, CACHE, than, name)
        if ratio is None:
            return None
        published = published_speedup(claim, case, than, name)
        text = f"{interval(ratio)} times as fast ({ratio.verdict})"
        band = factor(claim, published)
        return case_verdict(case, ratio, text, direction=holds(ratio), band=band, published=published)

    cases = timed_cases(measured, claim, (name, than), one)
    left, right = label(claim, name), label(claim, than)

    def told(on: str) -> str:
        return f"{left}: {spread_of(cases)} times as fast as {right} on {on}"

    return concluded(claim, cases, told, direction(claim, f"{left} is {said} than {right}"), factor_size(claim))


def near_best(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    alternatives: Sequence[str] = claim.document["claim"]["alternatives"]
    limit = 1 + size_of(claim, "within")

    def one(case: MeasuredCase) -> CaseVerdict | None:
        name = _dispatched(claim, case)
        # How fast each alternative is against the dispatched one; the best of them is the largest.
        ratios = {other: measured.speedup(case.key, CACHE, name, other) for other in alternatives if other != name}
        timed = {other: ratio for other, ratio in ratios.items() if ratio is not None}
        able = [other for other in alternatives if measured.times(case.key, other, CACHE)]
        if len(able) == 1 and measured.times(case.key, name, CACHE):
            text = f"{able[0]} is the only one that can run, so nothing is chosen"
            return CaseVerdict(case.key, case.label, None, text)
        if not timed:
            return None
        best = max(timed, key=lambda other: timed[other].value)
        text = f"{name} takes {interval(timed[best])} times the time of {best}, the best of {len(timed)}"
        return case_verdict(case, timed[best], text, band=(0.0, limit))

    chosen = [*claim.document["claim"].get("up_to", {}).values(), *parameters(claim, "dispatched")]
    cases = timed_cases(measured, claim, tuple(dict.fromkeys((*alternatives, *chosen))), one)
    subject = label(claim, *parameters(claim, "dispatched"))
    required = size(claim, f"at most {units.digits(limit, 3)} times the time of the best alternative")
    return concluded(
        claim,
        cases,
        lambda on: f"{subject} takes {spread_of(cases)} times the time of the best of its alternatives on {on}",
        None,
        required,
    )


def _dispatched(claim: Claim, case: MeasuredCase) -> str:
    """Who is chosen for the case: by `up_to` for its number of columns, beyond that `dispatched`."""
    by_columns: Mapping[int, str] = claim.document["claim"].get("up_to", {})
    (beyond,) = parameters(claim, "dispatched")
    return next((name for columns, name in by_columns.items() if case.columns <= columns), beyond)


def bandwidth_share(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    thrice, once = parameters(claim, "reads_thrice", "reads_once")
    share = size_of(claim, "share")

    def one(case: MeasuredCase) -> CaseVerdict | None:
        # The least traffic is the same on both sides, so bandwidths relate as the times do.
        ratio = measured.speedup(case.key, CACHE, once, thrice)
        if ratio is None:
            return None
        published = published_speedup(claim, case, once, thrice)
        text = f"{interval(ratio)} of the effective bandwidth"
        return case_verdict(case, ratio, text, band=(share, float("inf")), published=published)

    cases = timed_cases(measured, claim, (thrice, once), one)
    left, right = label(claim, thrice), label(claim, once)
    required = size(claim, f"more than {units.digits(share, 2)} of the effective bandwidth of {right}")
    return concluded(
        claim,
        cases,
        lambda on: f"{left} reaches {spread_of(cases)} of the effective bandwidth of {right} on {on}",
        None,
        required,
    )


def proportion(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    unfused, fused = parameters(claim, "unfused", "fused")
    within = size_of(claim, "within")
    large, reason = beyond_caches(measured, claim)
    if not large:
        return unmeasured(claim, reason)

    def one(case: MeasuredCase) -> CaseVerdict | None:
        ratio = measured.speedup(case.key, CACHE, unfused, fused)
        if ratio is None:
            return None
        stated, counted = _traffic_ratios(claim, case)
        band = min(stated, counted) * (1 - within), max(stated, counted) * (1 + within)
        text = f"{interval(ratio)} times the time, for {units.digits(counted, 3)} times the traffic"
        return case_verdict(case, ratio, text, direction=is_faster(ratio), band=band, published=stated)

    cases = timed_cases(measured, claim, (unfused, fused), one, large)
    traffic = [_traffic_ratios(claim, case) for case in large]
    stated, counted = (verdicts.spread(ratios) for ratios in zip(*traffic, strict=True))
    left, right = label(claim, unfused), label(claim, fused)
    required = size(claim, f"{stated} times as published, {counted} times as its launches count, within {within:.0%}")

    def told(on: str) -> str:
        traffic = f"for {counted} times the traffic as its launches count ({stated} as published)"
        return f"{left} takes {spread_of(cases)} times the time of {right} on {on} {traffic}"

    return concluded(
        claim, cases, told, direction(claim, f"{right} is faster than {left}"), required, with_published=False
    )


def step(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    """Judged on the sums alone, never on a part of them."""
    summed = step_sums.sum_of(measured.run)
    if summed is None:
        return unmeasured(claim, "the run is not of a step")
    missing = [text for side in step_sums.SIDES for text in summed.missing(side)]
    unfused, fused, ratio = summed.total(step_sums.UNFUSED), summed.total(step_sums.FUSED), summed.ratio
    if unfused is None or fused is None or ratio is None:
        return unmeasured(claim, f"without all of its parts a step has no sum: {'; '.join(dict.fromkeys(missing))}")
    compared = Ratio(ratio.value, ratio.low, ratio.high, "sum", unfused.value, fused.value)
    times = f"{units.time_text(unfused.value)} unfused and {units.time_text(fused.value)} fused"
    case = CaseVerdict(
        measured.run.suite,
        "a step",
        ratio.value,
        f"{interval(compared)} times as fast ({times})",
        direction=is_faster(compared),
        size=inside(compared, factor(claim, None)),
        interval=(ratio.low, ratio.high),
        required=factor(claim, None),
    )
    calls = sum(one.part.calls for one in summed.parts)
    caution = claim.document["claim"].get("caution", "")
    tail = f" ({caution})" if caution else ""
    told = f"The {calls} calls of {len(summed.parts)} parts of a step take {times}, {interval(compared)} times as fast"
    if by_bytes := step_sums.traffic_ratio(measured.run, measured.counted):
        told += f"; by the bytes counted, {units.digits(by_bytes, 3)} times"
    required = direction(claim, "a step takes less time fused than unfused")
    return concluded(claim, [case], lambda on: told + tail, required, factor_size(claim))


KINDS: Mapping[str, Judge] = {
    "faster": faster,
    "near_best": near_best,
    "not_faster": not_faster,
    "bandwidth_share": bandwidth_share,
    "proportion": proportion,
    "order": order,
    "level": level,
    "curve": curve,
    "under_ceiling": under_ceiling,
    "step": step,
    "specimen": specimen,
    "same_code": same_code,
    "longer_code": longer_code,
    "more_registers": more_registers,
    "launch": launch,
    "explanation": explanation,
}

# What a run of the simulator can decide as well.
WITHOUT_TIMES = ("specimen", "same_code", "longer_code", "more_registers", "launch", "explanation")


def _traffic_ratios(claim: Claim, case: MeasuredCase) -> tuple[float, float]:
    """Traffic of unfused over fused, as published and as counted: [a, b] means a arrays and b values per row."""
    size, rows = case.elements, case.elements // case.columns

    def total(name: str) -> float:
        arrays, per_row = claim.document["claim"][name]
        return float(arrays * size + per_row * rows)

    fused = total("counted_fused")
    return total("published_unfused") / fused, total("counted_unfused") / fused
