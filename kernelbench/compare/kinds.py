"""How each kind of claim is judged on a run. All use times with the L2 cleared ("cold"), but for the last five.

faster           `faster` is faster than `slower`, by interval, on every case
near_best        `dispatched` takes at most 1 + `within` times the time of the best of `alternatives`
not_faster       `suspect` is not faster than `than` by more than what counts as the same
bandwidth_share  `reads_thrice` reaches more than `share` of the effective bandwidth of `reads_once`, on cases
                 that both can run; where a row fits shared memory, the rows in flight fit the L2
proportion       time of `unfused` over time of `fused` is the ratio of their traffic, within `tolerance`, on
                 cases that no cache can hold (more than 4 times the L2)
order            each of `order` takes at most 1 + `within` times the time of the one before it
level            the slowest of `names` takes at most 1 + `within` times the time of the fastest
curve            bandwidth of `of` along `along`, over that at `base`, lies in `bands`, with a `trend`
under_ceiling    on cases that no cache can hold, nobody is above the ceiling by more than what counts as the same, and
                 `yardstick` is within `within` of it
step             all calls of the parts of a step together take less time fused than unfused, by interval
specimen         verification rejects each of `specimens` as wrong, and `correct` was measured
same_code        launch by launch, the machine code of all of `names` is the same
longer_code      the machine code of `longer` has more instructions than that of `shorter`
launch           `of` has the grids and blocks that `launches` gives for some shapes
explanation      counters of the simulator confirm each statement of the entry; times are not looked at
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelbench.compare import step_sums, verdicts
from kernelbench.compare.bandwidth import under_ceiling
from kernelbench.compare.code import longer_code, same_code
from kernelbench.compare.curves import curve
from kernelbench.compare.judging import (
    CACHE,
    Judge,
    at_most,
    beyond_caches,
    cases_of,
    interval,
    is_faster,
    label,
    missing,
    parameters,
    published_speedup,
    unmeasured,
    verdict,
)
from kernelbench.compare.ledger import Ledger
from kernelbench.compare.measured import SAME, Measured, MeasuredCase, Ratio
from kernelbench.compare.orders import launch, level, order
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict, Outcome
from kernelbench.core import units
from kernelbench.core.records import Claim
from kernelbench.explain import evidence


def faster(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    name, than = parameters(claim, "faster", "slower")
    cases = []
    for case in cases_of(measured, claim):
        ratio = measured.speedup(case.key, CACHE, than, name)
        published = published_speedup(claim, case, than, name)
        if ratio is None:
            cases.append(missing(measured, case, published, name, than))
            continue
        holds = is_faster(ratio)
        text = f"{interval(ratio)} times as fast ({ratio.verdict})"
        cases.append(CaseVerdict(case.key, case.label, ratio.value, published, holds, text))
    return verdict(claim, cases, f"{label(claim, name)} is {{}} times as fast as {label(claim, than)}")


def near_best(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    (name,) = parameters(claim, "dispatched")
    alternatives = [other for other in claim.document["claim"]["alternatives"] if other != name]
    within = claim.document["claim"]["within"]
    cases = []
    for case in cases_of(measured, claim):
        # How fast each alternative is against the dispatched one; the best of them is the largest.
        ratios = {other: measured.speedup(case.key, CACHE, name, other) for other in alternatives}
        timed = {other: ratio for other, ratio in ratios.items() if ratio is not None}
        if not timed:
            cases.append(missing(measured, case, None, name, *alternatives))
            continue
        best = max(timed, key=lambda other: timed[other].value)
        ratio = timed[best]
        holds = at_most(ratio, 1 + within)
        text = f"takes {interval(ratio)} times the time of {best}, the best of {len(timed)}"
        cases.append(CaseVerdict(case.key, case.label, ratio.value, None, holds, text))
    subject = f"{label(claim, name)} takes {{}} times the time of the best of its alternatives"
    return verdict(claim, cases, subject, f", allowed {units.digits(1 + within, 3)}")


def not_faster(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    name, than = parameters(claim, "suspect", "than")
    cases = []
    for case in cases_of(measured, claim):
        ratio = measured.speedup(case.key, CACHE, than, name)
        published = published_speedup(claim, case, than, name)
        if ratio is None:
            cases.append(missing(measured, case, published, name, than))
            continue
        text = f"{interval(ratio)} times as fast ({ratio.verdict})"
        holds = at_most(ratio, 1 + SAME)
        cases.append(CaseVerdict(case.key, case.label, ratio.value, published, holds, text))
    return verdict(claim, cases, f"{label(claim, name)} is {{}} times as fast as {label(claim, than)}")


def bandwidth_share(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    thrice, once = parameters(claim, "reads_thrice", "reads_once")
    share = claim.document["claim"]["share"]
    cases = []
    for case in cases_of(measured, claim):
        # The least traffic is the same on both sides, so bandwidths relate as the times do.
        ratio = measured.speedup(case.key, CACHE, once, thrice)
        published = published_speedup(claim, case, once, thrice)
        if ratio is None:
            cases.append(missing(measured, case, published, thrice, once))
            continue
        holds = True if ratio.low > share else False if ratio.high <= share else None
        text = f"{interval(ratio)} of the effective bandwidth"
        cases.append(CaseVerdict(case.key, case.label, ratio.value, published, holds, text))
    subject = f"{label(claim, thrice)} reaches {{}} of the effective bandwidth of {label(claim, once)}"
    return verdict(claim, cases, subject, f", more than {units.digits(share, 2)} claimed")


def proportion(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    unfused, fused = parameters(claim, "unfused", "fused")
    tolerance = claim.document["claim"]["tolerance"]
    large, reason = beyond_caches(measured, claim)
    if not large:
        return unmeasured(claim, reason)
    cases, traffic = [], set()
    for case in large:
        stated, counted = _traffic_ratios(claim, case)
        traffic.add((units.digits(stated, 3), units.digits(counted, 3)))
        ratio = measured.speedup(case.key, CACHE, unfused, fused)
        if ratio is None:
            cases.append(missing(measured, case, stated, unfused, fused))
            continue
        low, high = min(stated, counted) * (1 - tolerance), max(stated, counted) * (1 + tolerance)
        text = f"{interval(ratio)} times the time, for {units.digits(counted, 3)} times the traffic"
        cases.append(CaseVerdict(case.key, case.label, ratio.value, stated, low <= ratio.value <= high, text))
    stated_text, counted_text = (" or ".join(sorted(texts)) for texts in zip(*sorted(traffic), strict=True))
    subject = f"{label(claim, unfused)} takes {{}} times the time of {label(claim, fused)}"
    tail = f" for {counted_text} times the traffic as its launches count ({stated_text} as published)"
    return verdict(claim, cases, subject, tail, with_published=False)


def specimen(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    specimens = claim.document["claim"]["specimens"]
    (correct,) = parameters(claim, "correct")
    cases = []
    for case in cases_of(measured, claim):
        states = {name: measured.status(case.key, name) for name in specimens}
        checked = {name: state for name, (state, _) in states.items() if state in ("ok", "wrong")}
        timed = measured.best_method(case.key, correct, CACHE)
        counted = measured.run.simulated and measured.status(case.key, correct)[0] == "ok"
        if not checked or (timed is None and not counted):
            absent = (*specimens, correct) if not checked else (correct,)
            reason = measured.why_not(case.key, CACHE, *absent)
            cases.append(CaseVerdict(case.key, case.label, None, None, None, reason))
            continue
        rejected = all(state == "wrong" for state in checked.values())
        said = "; ".join(f"{name}: {state}" for name, state in checked.items())
        text = f"{said}; {correct} " + (f"takes {units.time_text(timed.median_s)}" if timed else "is right")
        share = sum(state == "wrong" for state in checked.values()) / len(
            checked
        )  # in place of a time where there is none
        cases.append(CaseVerdict(case.key, case.label, timed.median_s if timed else share, None, rejected, text))
    outcome = verdicts.overall(cases)
    if outcome == "not measured":
        return unmeasured(claim, verdicts.unmeasured_reasons(cases), cases)
    names, number = " and ".join(specimens), verdicts.counted(cases)
    verb = {"holds": "rejects", "does not hold": "accepts"}.get(outcome, "does not always reject")
    sentence = f"Verification {verb} {names} on {number}; {label(claim, correct)}"
    if measured.run.simulated:
        return ClaimVerdict(claim.id, claim.title, outcome, f"{sentence} is right.", tuple(cases))
    times = verdicts.spread([case.measured for case in cases if case.measured], units.time_text)
    return ClaimVerdict(claim.id, claim.title, outcome, f"{sentence}, which is right, takes {times}.", tuple(cases))


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


def explanation(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    if not measured.counted:
        return unmeasured(claim, "it explains by counting, which times cannot decide, and nothing was counted")
    cases, found = [], []
    for case in cases_of(measured, claim):
        counted = measured.counted.get(case.key, {})
        said = [evidence.decide(statement, counted) for statement in evidence.statements(claim)]
        holds = evidence.overall(said)
        confirmed = sum(one.decision == "confirmed" for one in said)
        text = "; ".join(f"{one.decision}: {one.statement.says} ({one.text})" for one in said)
        share = None if holds is None else confirmed / len(said)
        cases.append(CaseVerdict(case.key, case.label, share, None, holds, text))
        found += said
    outcome = verdicts.overall(cases)
    if outcome == "not measured":
        return unmeasured(claim, verdicts.unmeasured_reasons(cases), cases)
    parts = "; ".join(
        f"{one.decision}: {one.statement.says} ({one.numbers})" for one in evidence.across(found) if one.seen
    )
    sentence = f"Counted by the simulator on {verdicts.counted(cases)}: {parts}."
    return ClaimVerdict(claim.id, claim.title, outcome, sentence, tuple(cases))


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
    "launch": launch,
    "explanation": explanation,
}

# What a run of the simulator can decide as well.
WITHOUT_TIMES = ("specimen", "same_code", "longer_code", "launch", "explanation")


def _traffic_ratios(claim: Claim, case: MeasuredCase) -> tuple[float, float]:
    """Traffic of unfused over fused, as published and as counted: [a, b] means a arrays and b values per row."""
    size, rows = case.elements, case.elements // case.columns

    def total(name: str) -> float:
        arrays, per_row = claim.document["claim"][name]
        return float(arrays * size + per_row * rows)

    fused = total("counted_fused")
    return total("published_unfused") / fused, total("counted_unfused") / fused
