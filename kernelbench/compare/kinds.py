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
under_ceiling    size: `yardstick` is `within` of the ceiling, and no kernel is above it
step             direction: all calls of a step take less time fused
                 size: how many times as fast: `factor`
specimen         direction: each of `specimens` is wrong, `correct` is right, and slower than `slower_than`
same_code        direction: all of `names` have the same machine code
longer_code      direction: `longer` has more instructions than `shorter`
                 size: how many times as many: `factor`
more_registers   direction: all others of `order` need more registers than the first
launch           size: `of` has the grids and blocks of `launches`
explanation      direction: counters of the simulator confirm each statement

"No longer", "not faster" and "no kernel above" leave room for the difference of two runs, `measured.SAME`.
`proportion` and `under_ceiling` count cases that no cache can hold: those that move more than 4 times the L2.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kernelbench.compare import step_sums, verdicts
from kernelbench.compare.checked import judge_explanation, judge_launch, judge_specimen
from kernelbench.compare.code import longer_code, more_registers, same_code
from kernelbench.compare.curves import judge_curve
from kernelbench.compare.judging import (
    CACHE,
    ClaimQuery,
    Judge,
    at_most,
    case_verdict,
    interval_in_band,
    is_faster,
    spread_of,
    value_with_interval,
)
from kernelbench.compare.measured import SAME, MeasuredCase, Ratio
from kernelbench.compare.orders import judge_level, judge_order
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core import units


def beside(query: ClaimQuery, sides: tuple[str, str], said: str, holds: Callable[[Ratio], bool | None]) -> ClaimVerdict:
    """How many times as fast the first side is as the second, and whether that `holds`. `sides`: of the claim."""
    name, than = query.parameters(*sides)

    def one(case: MeasuredCase) -> CaseVerdict | None:
        ratio = query.speedup(case, than, name)
        if ratio is None:
            return None
        published = query.published_speedup(case, than, name)
        text = f"{value_with_interval(ratio)} times as fast ({ratio.verdict})"
        band = query.factor(published)
        return case_verdict(case, ratio, text, direction=holds(ratio), band=band, published=published)

    cases = query.timed_cases((name, than), one)
    left, right = query.label(name), query.label(than)

    def told(on: str) -> str:
        return f"{left} is {spread_of(cases)} times as fast as {right} on {on}"

    where = " on some case" if query.stated.get("some") else ""
    return query.concluded(cases, told, query.direction(f"{left} is {said} than {right}{where}"), query.factor_size())


def near_best(query: ClaimQuery) -> ClaimVerdict:
    alternatives: Sequence[str] = query.stated["alternatives"]
    limit = 1 + query.size_of("within")

    def one(case: MeasuredCase) -> CaseVerdict | None:
        name = _dispatched(query, case)
        # How fast each alternative is against the dispatched one; the best of them is the largest.
        ratios = {other: query.speedup(case, name, other) for other in alternatives if other != name}
        timed = {other: ratio for other, ratio in ratios.items() if ratio is not None}
        able = [other for other in alternatives if query.measured.times(case.key, other, CACHE)]
        others = set(alternatives) - set(able)
        if any(query.measured.status(case.key, other)[0] != "unsupported" for other in others):
            return None  # the best of the others may not be the best of all
        if len(able) == 1 and query.measured.times(case.key, name, CACHE):
            text = f"{able[0]} is the only one that can run, so nothing is chosen"
            return CaseVerdict(case.key, case.label, None, text)
        if not timed:
            return None
        best = max(timed, key=lambda other: timed[other].value)
        text = f"{name} takes {value_with_interval(timed[best])} times the time of {best}, the best of {len(timed)}"
        return case_verdict(case, timed[best], text, band=(0.0, limit))

    chosen = [*query.stated.get("up_to", {}).values(), *query.parameters("dispatched")]
    cases = query.timed_cases(tuple(dict.fromkeys((*alternatives, *chosen))), one)
    subject = query.label(*query.parameters("dispatched"))
    required = query.size(f"at most {units.digits(limit, 3)} times the time of the best alternative")
    return query.concluded(
        cases,
        lambda on: f"{subject} takes {spread_of(cases)} times the time of the best of its alternatives on {on}",
        None,
        required,
    )


def _dispatched(query: ClaimQuery, case: MeasuredCase) -> str:
    """Who is chosen for the case: by `up_to` for its number of columns, beyond that `dispatched`."""
    by_columns: Mapping[int, str] = query.stated.get("up_to", {})
    (beyond,) = query.parameters("dispatched")
    return next((name for columns, name in by_columns.items() if case.columns <= columns), beyond)


def bandwidth_share(query: ClaimQuery) -> ClaimVerdict:
    thrice, once = query.parameters("reads_thrice", "reads_once")
    share = query.size_of("share")

    def one(case: MeasuredCase) -> CaseVerdict | None:
        # The least traffic is the same on both sides, so bandwidths relate as the times do.
        ratio = query.speedup(case, once, thrice)
        if ratio is None:
            return None
        published = query.published_speedup(case, once, thrice)
        text = f"{value_with_interval(ratio)} of the effective bandwidth"
        return case_verdict(case, ratio, text, band=(share, float("inf")), published=published)

    cases = query.timed_cases((thrice, once), one)
    left, right = query.label(thrice), query.label(once)
    required = query.size(f"more than {units.digits(share, 2)} of the effective bandwidth of {right}")
    return query.concluded(
        cases,
        lambda on: f"{left} reaches {spread_of(cases)} of the effective bandwidth of {right} on {on}",
        None,
        required,
    )


def judge_proportion(query: ClaimQuery) -> ClaimVerdict:
    unfused, fused = query.parameters("unfused", "fused")
    within = query.size_of("within")
    large, reason = query.beyond_caches()
    if not large:
        return query.unmeasured(reason)

    def one(case: MeasuredCase) -> CaseVerdict | None:
        ratio = query.speedup(case, unfused, fused)
        if ratio is None:
            return None
        stated, counted = _traffic_ratios(query, case)
        band = min(stated, counted) * (1 - within), max(stated, counted) * (1 + within)
        text = f"{value_with_interval(ratio)} times the time, for {units.digits(counted, 3)} times the traffic"
        return case_verdict(case, ratio, text, direction=is_faster(ratio), band=band, published=stated)

    cases = query.timed_cases((unfused, fused), one, large)
    traffic = [_traffic_ratios(query, case) for case in large]
    stated, counted = (verdicts.range_text(ratios) for ratios in zip(*traffic, strict=True))
    left, right = query.label(unfused), query.label(fused)
    more = f"{stated} times as published, {counted} times as its launches count"
    required = query.size(f"in proportion to traffic, {more}, within {units.share_text(within)}")

    def told(on: str) -> str:
        traffic = f"its launches move {counted} times as much ({stated} times as published)"
        return f"{left} takes {spread_of(cases)} times the time of {right} on {on}; {traffic}"

    return query.concluded(
        cases, told, query.direction(f"{left} takes longer than {right}"), required, with_published=False
    )


def under_ceiling(query: ClaimQuery) -> ClaimVerdict:
    """On cases that no cache can hold, no kernel is above the ceiling, and `yardstick` is within `within` of it."""
    (yardstick,) = query.parameters("yardstick")
    least, most = 1 - query.size_of("within"), 1 + SAME
    large, reason = query.beyond_caches()
    if not large:
        return query.unmeasured(reason)
    cases = []
    for case in large:
        shares = _shares(query, case)
        if yardstick not in shares:
            cases.append(query.missing(case, yardstick))
            continue
        best = max(shares, key=lambda name: shares[name])
        text = f"{yardstick} {units.share_text(shares[yardstick])} of the ceiling; highest of {len(shares)}: {best} "
        text += units.share_text(shares[best])
        met = shares[best] <= most and shares[yardstick] >= least
        cases.append(CaseVerdict(case.key, case.label, shares[yardstick], text, size=met, required=(least, most)))
    band = f"{units.share_text(least)} to {units.share_text(most)}"
    required = query.size(f"{query.label(yardstick)} at {band} of the ceiling, and no kernel above it")

    def told(on: str) -> str:
        reached = verdicts.range_text([case.measured for case in cases if case.measured is not None], units.share_text)
        highest = max(max(_shares(query, case).values(), default=0.0) for case in large)
        return (
            f"{query.label(yardstick)} reaches {reached} of the best copy's bandwidth on {on}, and no kernel more than "
            f"{units.share_text(highest)}"
        )

    return query.concluded(cases, told, None, required)


def _shares(query: ClaimQuery, case: MeasuredCase) -> dict[str, float]:
    """Share of the ceiling of each implementation that was timed with the L2 cleared."""
    timed = {name: query.timed(case, name) for name in query.measured.implementations}
    return {name: one.share_of_ceiling for name, one in timed.items() if one and one.share_of_ceiling is not None}


def judge_step(query: ClaimQuery) -> ClaimVerdict:
    """Judged on the sums alone, never on a part of them."""
    summed = step_sums.sum_of(query.measured.run)
    if summed is None:
        return query.unmeasured("the run is not of a step")
    missing = [text for side in step_sums.SIDES for text in summed.missing(side)]
    unfused, fused, ratio = summed.total(step_sums.UNFUSED), summed.total(step_sums.FUSED), summed.ratio
    if unfused is None or fused is None or ratio is None:
        return query.unmeasured(f"without all of its parts a step has no sum: {'; '.join(dict.fromkeys(missing))}")
    compared = Ratio(ratio.value, ratio.low, ratio.high, "sum", unfused.value, fused.value)
    time = units.time_column((unfused.value, fused.value))
    times = f"{time(unfused.value)} unfused and {time(fused.value)} fused"
    case = CaseVerdict(
        query.measured.run.suite,
        "a step",
        ratio.value,
        f"{value_with_interval(compared)} times as fast ({times})",
        direction=is_faster(compared),
        size=interval_in_band(compared, query.factor(None)),
        interval=(ratio.low, ratio.high),
        required=query.factor(None),
    )
    calls = sum(one.part.calls for one in summed.parts)
    caution = query.stated.get("caution", "")
    tail = f" ({caution})" if caution else ""
    how_much = value_with_interval(compared)
    told = f"The {calls} calls of {len(summed.parts)} parts of a step take {times}, {how_much} times as fast"
    if by_bytes := step_sums.traffic_ratio(query.measured.run, query.measured.counted):
        told += f"; by the bytes counted, {units.digits(by_bytes, 3)} times"
    required = query.direction("a step takes less time fused than unfused")
    return query.concluded([case], lambda on: told + tail, required, query.factor_size())


KINDS: Mapping[str, Judge] = {
    "faster": partial(beside, sides=("faster", "slower"), said="faster", holds=is_faster),
    "near_best": near_best,
    "not_faster": partial(
        beside, sides=("suspect", "than"), said="not faster", holds=lambda ratio: at_most(ratio, 1 + SAME)
    ),
    "bandwidth_share": bandwidth_share,
    "proportion": judge_proportion,
    "order": judge_order,
    "level": judge_level,
    "curve": judge_curve,
    "under_ceiling": under_ceiling,
    "step": judge_step,
    "specimen": judge_specimen,
    "same_code": same_code,
    "longer_code": longer_code,
    "more_registers": more_registers,
    "launch": judge_launch,
    "explanation": judge_explanation,
}

# What decides the kinds that need no times: a run of the simulator will do.
WITHOUT_TIMES = {
    "specimen": "verification",
    **dict.fromkeys(("same_code", "longer_code", "more_registers"), "machine code"),
    "launch": "launches",
    "explanation": "counters",
}


def _traffic_ratios(query: ClaimQuery, case: MeasuredCase) -> tuple[float, float]:
    """Traffic of unfused over fused, as published and as counted: [a, b] means a arrays and b values per row."""
    size, rows = case.elements, case.elements // case.columns

    def total(name: str) -> float:
        arrays, per_row = query.stated[name]
        return float(arrays * size + per_row * rows)

    fused = total("counted_fused")
    return total("published_unfused") / fused, total("counted_unfused") / fused
