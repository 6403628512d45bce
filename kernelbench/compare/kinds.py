"""How each kind of claim is judged on a run. All use times with the L2 cleared ("cold"), but for the last two.

faster           `faster` is faster than `slower`, by interval, on every case
near_best        `dispatched` takes at most 1 + `within` times the time of the best of `alternatives`
not_faster       `suspect` is not faster than `than` by more than what counts as the same
bandwidth_share  `reads_thrice` reaches more than `share` of the effective bandwidth of `reads_once`, on cases
                 that both can run; where a row fits shared memory, the rows in flight fit the L2
proportion       time of `unfused` over time of `fused` is the ratio of their traffic, within `tolerance`, on
                 cases that no cache can hold (more than 4 times the L2)
specimen         verification rejects each of `specimens` as wrong, and `correct` was measured
explanation      counters of the simulator confirm each statement of the entry; times are not looked at
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kernelbench import evidence, units
from kernelbench.compare import verdicts
from kernelbench.compare.ledger import Ledger, figures, find
from kernelbench.compare.measured import SAME, Measured, MeasuredCase, Ratio
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.counted import METRICS
from kernelbench.records import Claim

CACHE = "cold"
CACHE_MULTIPLE = 4  # times the L2 from which on a case counts as memory-bound: it can keep a quarter at most

Judge = Callable[[Measured, Claim, Ledger], ClaimVerdict]


def faster(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    name, than = _parameters(claim, "faster", "slower")
    cases = []
    for case in _cases(measured, claim):
        ratio = measured.speedup(case.key, CACHE, than, name)
        published = _published_speedup(claim, case, than, name)
        if ratio is None:
            cases.append(_missing(measured, case, published, name, than))
            continue
        holds = {"FASTER": True, "UNSURE": None}.get(ratio.verdict, False)
        text = f"{_interval(ratio)} times as fast ({ratio.verdict})"
        cases.append(CaseVerdict(case.key, case.label, ratio.value, published, holds, text))
    return _verdict(claim, cases, f"{_label(claim, name)} is {{}} times as fast as {_label(claim, than)}")


def near_best(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    (name,) = _parameters(claim, "dispatched")
    alternatives = [other for other in claim.document["claim"]["alternatives"] if other != name]
    within = claim.document["claim"]["within"]
    cases = []
    for case in _cases(measured, claim):
        # How fast each alternative is against the dispatched one; the best of them is the largest.
        ratios = {other: measured.speedup(case.key, CACHE, name, other) for other in alternatives}
        timed = {other: ratio for other, ratio in ratios.items() if ratio is not None}
        if not timed:
            cases.append(_missing(measured, case, None, name, *alternatives))
            continue
        best = max(timed, key=lambda other: timed[other].value)
        ratio = timed[best]
        holds = _at_most(ratio, 1 + within)
        text = f"takes {_interval(ratio)} times the time of {best}, the best of {len(timed)}"
        cases.append(CaseVerdict(case.key, case.label, ratio.value, None, holds, text))
    subject = f"{_label(claim, name)} takes {{}} times the time of the best of its alternatives"
    return _verdict(claim, cases, subject, f", allowed {units.digits(1 + within, 3)}")


def not_faster(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    name, than = _parameters(claim, "suspect", "than")
    cases = []
    for case in _cases(measured, claim):
        ratio = measured.speedup(case.key, CACHE, than, name)
        published = _published_speedup(claim, case, than, name)
        if ratio is None:
            cases.append(_missing(measured, case, published, name, than))
            continue
        text = f"{_interval(ratio)} times as fast ({ratio.verdict})"
        holds = _at_most(ratio, 1 + SAME)
        cases.append(CaseVerdict(case.key, case.label, ratio.value, published, holds, text))
    return _verdict(claim, cases, f"{_label(claim, name)} is {{}} times as fast as {_label(claim, than)}")


def bandwidth_share(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    thrice, once = _parameters(claim, "reads_thrice", "reads_once")
    share = claim.document["claim"]["share"]
    cases = []
    for case in _cases(measured, claim):
        # The least traffic is the same on both sides, so bandwidths relate as the times do.
        ratio = measured.speedup(case.key, CACHE, once, thrice)
        published = _published_speedup(claim, case, once, thrice)
        if ratio is None:
            cases.append(_missing(measured, case, published, thrice, once))
            continue
        holds = True if ratio.low > share else False if ratio.high <= share else None
        text = f"{_interval(ratio)} of the effective bandwidth"
        cases.append(CaseVerdict(case.key, case.label, ratio.value, published, holds, text))
    subject = f"{_label(claim, thrice)} reaches {{}} of the effective bandwidth of {_label(claim, once)}"
    return _verdict(claim, cases, subject, f", more than {units.digits(share, 2)} claimed")


def proportion(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    unfused, fused = _parameters(claim, "unfused", "fused")
    tolerance = claim.document["claim"]["tolerance"]
    l2_bytes = measured.run.environment.get("device", {}).get("l2_bytes")
    if not l2_bytes:
        return _unmeasured(claim, "environment.json of the run does not give the size of the L2")
    large = [case for case in _cases(measured, claim) if (case.bytes_moved or 0) > CACHE_MULTIPLE * l2_bytes]
    if not large:
        limit = units.bytes_text(CACHE_MULTIPLE * l2_bytes)
        return _unmeasured(claim, f"no case moves more than {limit}, {CACHE_MULTIPLE} times the L2, so caches decide")
    cases, traffic = [], set()
    for case in large:
        stated, counted = _traffic_ratios(claim, case)
        traffic.add((units.digits(stated, 3), units.digits(counted, 3)))
        ratio = measured.speedup(case.key, CACHE, unfused, fused)
        if ratio is None:
            cases.append(_missing(measured, case, stated, unfused, fused))
            continue
        low, high = min(stated, counted) * (1 - tolerance), max(stated, counted) * (1 + tolerance)
        text = f"{_interval(ratio)} times the time, for {units.digits(counted, 3)} times the traffic"
        cases.append(CaseVerdict(case.key, case.label, ratio.value, stated, low <= ratio.value <= high, text))
    stated_text, counted_text = (" or ".join(sorted(texts)) for texts in zip(*sorted(traffic), strict=True))
    subject = f"{_label(claim, unfused)} takes {{}} times the time of {_label(claim, fused)}"
    tail = f" for {counted_text} times the traffic as its launches count ({stated_text} as published)"
    return _verdict(claim, cases, subject, tail, with_published=False)


def specimen(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    specimens = claim.document["claim"]["specimens"]
    (correct,) = _parameters(claim, "correct")
    cases = []
    for case in _cases(measured, claim):
        states = {name: measured.status(case.key, name) for name in specimens}
        checked = {name: state for name, (state, _) in states.items() if state in ("ok", "wrong")}
        timed = measured.best_method(case.key, correct, CACHE)
        counted = measured.run.simulated and measured.status(case.key, correct)[0] == "ok"
        if not checked or (timed is None and not counted):
            missing = (*specimens, correct) if not checked else (correct,)
            reason = measured.why_not(case.key, CACHE, *missing)
            cases.append(CaseVerdict(case.key, case.label, None, None, None, reason))
            continue
        rejected = all(state == "wrong" for state in checked.values())
        said = "; ".join(f"{name}: {state}" for name, state in checked.items())
        text = f"{said}; {correct} " + (f"takes {units.time_text(timed.median_s)}" if timed else "is right")
        share = sum(state == "wrong" for state in checked.values()) / len(checked)  # what stands for a time without one
        cases.append(CaseVerdict(case.key, case.label, timed.median_s if timed else share, None, rejected, text))
    outcome = verdicts.overall(cases)
    if outcome == "not measured":
        return _unmeasured(claim, verdicts.unmeasured_reasons(cases), cases)
    names, number = " and ".join(specimens), verdicts.counted(cases)
    verb = {"holds": "rejects", "does not hold": "accepts"}.get(outcome, "does not always reject")
    sentence = f"Verification {verb} {names} on {number}; {_label(claim, correct)}"
    if measured.run.simulated:
        return ClaimVerdict(claim.id, claim.title, outcome, f"{sentence} is right.", tuple(cases))
    times = verdicts.spread([case.measured for case in cases if case.measured], units.time_text)
    return ClaimVerdict(claim.id, claim.title, outcome, f"{sentence}, which is right, takes {times}.", tuple(cases))


def explanation(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    if not measured.counted:
        return _unmeasured(claim, "it explains by counting, which times cannot decide, and nothing was counted")
    cases, found = [], []
    for case in _cases(measured, claim):
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
        return _unmeasured(claim, verdicts.unmeasured_reasons(cases), cases)
    parts = "; ".join(_statement_text(statement, found) for statement in evidence.statements(claim))
    sentence = f"Counted by the simulator on {verdicts.counted(cases)}: {parts}."
    return ClaimVerdict(claim.id, claim.title, outcome, sentence, tuple(cases))


def _statement_text(statement: evidence.Statement, found: list[evidence.Evidence]) -> str:
    """What was said, and on how many cases counters confirm it."""
    own = [one for one in found if one.statement == statement and one.decision != "not visible here"]
    if not own:
        return f"not visible: {statement.says}"
    confirmed = sum(one.decision == "confirmed" for one in own)
    word = "confirmed" if confirmed == len(own) else f"confirmed on {confirmed} of {len(own)}" if confirmed else ""
    lefts = verdicts.spread([one.left for one in own if one.left is not None], METRICS[statement.metric].text)
    rights = verdicts.spread([one.right for one in own if one.right is not None], METRICS[statement.metric].text)
    than = statement.than if isinstance(statement.than, str) else "stated"
    return f"{word or 'contradicted'}: {statement.says} ({statement.of} {lefts}, {than} {rights})"


KINDS: Mapping[str, Judge] = {
    "faster": faster,
    "near_best": near_best,
    "not_faster": not_faster,
    "bandwidth_share": bandwidth_share,
    "proportion": proportion,
    "specimen": specimen,
    "explanation": explanation,
}

WITHOUT_TIMES = ("specimen", "explanation")  # what a run of the simulator can decide as well


# ---- What the kinds share ------------------------------------------------------------------------


def _parameters(claim: Claim, *names: str) -> tuple[str, ...]:
    return tuple(claim.document["claim"][name] for name in names)


def _label(claim: Claim, name: str) -> str:
    return str(claim.document["claim"].get("labels", {}).get(name, name))


def _cases(measured: Measured, claim: Claim) -> Iterator[MeasuredCase]:
    """Cases that the claim is about: of its operation, its dtypes, and not narrower than it says."""
    limits: Mapping[str, Any] = claim.document["claim"]
    for case in measured.cases:
        if case.operation != claim.document["operation"]:
            continue
        if case.dtype in limits.get("dtypes", [case.dtype]) and case.columns >= limits.get("from_columns", 0):
            yield case


def _published_speedup(claim: Claim, case: MeasuredCase, baseline: str, name: str) -> float | None:
    found = find({claim.id: claim}, case.operation, case.shape, case.axis, case.dtype).get(claim.id, {})
    left, right = found.get(baseline), found.get(name)
    return left.seconds / right.seconds if left and right and left.seconds and right.seconds else None


def _missing(measured: Measured, case: MeasuredCase, published: float | None, *names: str) -> CaseVerdict:
    return CaseVerdict(case.key, case.label, None, published, None, measured.why_not(case.key, CACHE, *names))


def _at_most(ratio: Ratio, limit: float) -> bool | None:
    return True if ratio.high <= limit else False if ratio.low > limit else None


def _interval(ratio: Ratio) -> str:
    low, value, high = (units.digits(number, 3) for number in (ratio.low, ratio.value, ratio.high))
    return f"{value} [{low}, {high}]"


def _traffic_ratios(claim: Claim, case: MeasuredCase) -> tuple[float, float]:
    """Traffic of unfused over fused, as published and as counted: [a, b] means a arrays and b values a row."""
    size, rows = case.elements, case.elements // case.columns

    def total(name: str) -> float:
        arrays, per_row = claim.document["claim"][name]
        return float(arrays * size + per_row * rows)

    fused = total("counted_fused")
    return total("published_unfused") / fused, total("counted_unfused") / fused


def _unmeasured(claim: Claim, reason: str, cases: list[CaseVerdict] | None = None) -> ClaimVerdict:
    return ClaimVerdict(claim.id, claim.title, "not measured", f"Not measured: {reason}.", tuple(cases or ()))


def _verdict(
    claim: Claim, cases: list[CaseVerdict], subject: str, tail: str = "", with_published: bool = True
) -> ClaimVerdict:
    """The sentence of all kinds that compare a number: subject, range, number of cases, published, where."""
    values = [case.measured for case in cases if case.measured is not None]
    outcome = verdicts.overall(cases)
    if not values:
        return _unmeasured(claim, verdicts.unmeasured_reasons(cases), cases)
    sentence = subject.format(verdicts.spread(values)) + f" on {verdicts.counted(cases)}{tail}"
    if with_published:
        sentence += _published_text(claim, cases)
    if outcome in ("holds in part", "not measured"):
        sentence += f": {verdicts.where(cases)}"
    return ClaimVerdict(claim.id, claim.title, outcome, sentence + ".", tuple(cases))


def _published_text(claim: Claim, cases: list[CaseVerdict]) -> str:
    published = [case.published for case in cases if case.published is not None]
    if not published:
        return ""
    at = f"at {len(published)} of them, {figures(claim)[0].device}"
    caution = claim.document["claim"].get("caution", "")
    return f" (published {verdicts.spread(published)} {at}{'; ' if caution else ''}{caution})"
