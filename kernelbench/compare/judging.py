"""What the kinds of claims share: the cases that one is about, what it asks for, and the verdict with its sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernelbench.compare import verdicts
from kernelbench.compare.ledger import Ledger, figures, published_of
from kernelbench.compare.ledger_values import FIGURES_OF_CASE
from kernelbench.compare.measured import SAME, Measured, MeasuredCase, Ratio
from kernelbench.compare.verdicts import NOT_DECIDED, CaseVerdict, ClaimVerdict, Part
from kernelbench.core import units
from kernelbench.core.records import Claim
from kernelbench.explain import evidence

CACHE = "cold"  # the L2 is cleared before every sample
CACHE_MULTIPLE = 4  # a case that moves more times the size of the L2 is memory-bound: the L2 keeps a quarter at most

# A stated factor is rounded to a digit or two and was measured on another GPU. 1.25 either way takes 1.6 to 2.5 for
# "twice as fast": what still rounds to 2.
TOLERANCE = 1.25

Judge = Callable[[Measured, Claim, Ledger], ClaimVerdict]
Band = tuple[float, float]


# ---- The cases -----------------------------------------------------------------------------------


def parameters(claim: Claim, *names: str) -> tuple[str, ...]:
    return tuple(claim.document["claim"][name] for name in names)


def label(claim: Claim, name: str) -> str:
    return str(claim.document["claim"].get("labels", {}).get(name, name))


def cases_of(measured: Measured, claim: Claim) -> Iterator[MeasuredCase]:
    """Cases that the claim is about: of its operation, dtypes and parameters, and not narrower than it says. An
    explanation may be about several operations."""
    limits: Mapping[str, Any] = claim.document["claim"]
    for case in measured.cases:
        if case.operation != claim.document["operation"] and claim.kind != "explanation":
            continue
        if case.dtype not in limits.get("dtypes", [case.dtype]) or case.columns < limits.get("from_columns", 0):
            continue
        if not evidence.has_published_inputs(evidence.inputs_of(case.words), claim):
            continue
        if evidence.has_parameters(case.words, limits.get("parameters", {})):
            yield case


def timed_cases(
    measured: Measured,
    claim: Claim,
    names: Sequence[str],
    one: Callable[[MeasuredCase], CaseVerdict | None],
    cases: Iterable[MeasuredCase] | None = None,
    timed: Sequence[str] | None = None,
) -> list[CaseVerdict]:
    """The verdict of `one` on each case; None of it: one of `names` is missing. A case does not count where one of
    `timed`, without them of `names`, is near the floor."""
    found = []
    for case in cases_of(measured, claim) if cases is None else cases:
        verdict = one(case)
        if verdict is None:
            found.append(missing(measured, case, *names))
        elif _below_floor(measured, case, names if timed is None else timed):
            found.append(replace(verdict, below_floor=True, text=f"{verdict.text}; {verdicts.BELOW_FLOOR}"))
        else:
            found.append(verdict)
    return found


def _below_floor(measured: Measured, case: MeasuredCase, names: Sequence[str]) -> bool:
    timed = [found for name in names if (found := measured.best_method(case.key, name, CACHE))]
    return any(one.floor_limited for one in timed)


def beyond_caches(measured: Measured, claim: Claim) -> tuple[list[MeasuredCase], str]:
    """Cases that count as memory-bound, which move more than 4 times what the L2 holds; where none, why."""
    l2_bytes = measured.run.environment.get("device", {}).get("l2_bytes")
    if not l2_bytes:
        return [], "environment.json of the run does not give the size of the L2"
    large = [case for case in cases_of(measured, claim) if (case.bytes_moved or 0) > CACHE_MULTIPLE * l2_bytes]
    limit = units.bytes_text(CACHE_MULTIPLE * l2_bytes)
    return large, f"no case moves more than {limit}, {CACHE_MULTIPLE} times the L2, so caches decide"


def published_speedup(claim: Claim, case: MeasuredCase, baseline: str, name: str) -> float | None:
    found = published_of({claim.id: claim}, case).get(claim.id, {})
    left, right = found.get(baseline), found.get(name)
    return left.seconds / right.seconds if left and right and left.seconds and right.seconds else None


def missing(measured: Measured, case: MeasuredCase, *names: str) -> CaseVerdict:
    return CaseVerdict(case.key, case.label, None, measured.why_not(case.key, CACHE, *names))


# ---- What is asked for ---------------------------------------------------------------------------


def direction(claim: Claim, required: str) -> Part | None:
    """The direction that the claim asks for, in the words of its kind."""
    return _part(claim.document["claim"].get("direction"), required)


def size(claim: Claim, required: str) -> Part | None:
    return _part(claim.document["claim"].get("size"), required)


def _part(asked: Mapping[str, Any] | None, required: str) -> Part | None:
    if asked is None:
        return None
    return Part(required, "stated", asked["stated"]) if "stated" in asked else Part(required, "set here", asked["set"])


def size_of(claim: Claim, name: str) -> Any:
    """The number of the claim's size: `within`, `bands`, .."""
    return claim.document["claim"]["size"][name]


def factor(claim: Claim, published: float | None) -> Band | None:
    """Where a ratio must lie, for the stated factor and its tolerance; None where no factor is stated for this case."""
    asked = claim.document["claim"].get("size")
    if asked is None:
        return None
    stated = published if asked["factor"] == FIGURES_OF_CASE else asked["factor"]
    if stated is None:
        return None
    low, high = stated if isinstance(stated, list) else (stated, stated)
    tolerance = asked.get("tolerance", TOLERANCE)
    return low / tolerance, high * tolerance


def factor_size(claim: Claim, unit: str = "times") -> Part | None:
    """The size of a stated factor: "2 times (1.6 to 2.5)"."""
    asked = claim.document["claim"].get("size")
    if asked is None:
        return None
    tolerance, stated = asked.get("tolerance", TOLERANCE), asked["factor"]
    if stated == FIGURES_OF_CASE:
        return size(
            claim, f"the published ratio of the case, within a factor of {units.digits(tolerance, 3)} either way"
        )
    said = " to ".join(f"{number:g}" for number in stated) if isinstance(stated, list) else f"{stated:g}"
    band = factor(claim, None)
    assert band is not None
    return size(claim, f"{said} {unit} ({' to '.join(units.digits(end, 3) for end in band)})")


# ---- Whether a ratio meets it --------------------------------------------------------------------


def at_most(ratio: Ratio, limit: float) -> bool | None:
    return True if ratio.high <= limit else False if ratio.low > limit else None


def inside(ratio: Ratio, band: Band | None) -> bool | None:
    """Whether the whole interval lies in the band; None: open, or there is no band."""
    if band is None:
        return None
    low, high = band
    if low <= ratio.low and ratio.high <= high:
        return True
    return False if ratio.high < low or ratio.low > high else None


def is_faster(ratio: Ratio) -> bool | None:
    """True: faster by more than the noise band. False: within the interval it is at most the same. None: open."""
    return True if ratio.verdict == "FASTER" else False if ratio.high <= 1 + SAME else None


def interval(ratio: Ratio) -> str:
    low, value, high = (units.digits(number, 3) for number in (ratio.low, ratio.value, ratio.high))
    return f"{value} [{low}, {high}]"


def case_verdict(
    case: MeasuredCase,
    ratio: Ratio,
    text: str,
    *,
    direction: bool | None = None,
    band: Band | None = None,
    published: float | None = None,
) -> CaseVerdict:
    """The verdict on a case whose measured quantity is a ratio, which must lie in `band` where a size is asked for."""
    return CaseVerdict(
        case.key,
        case.label,
        ratio.value,
        text,
        direction=direction,
        size=inside(ratio, band),
        published=published,
        interval=(ratio.low, ratio.high),
        required=band,
    )


# ---- The verdict on the claim --------------------------------------------------------------------


def unmeasured(claim: Claim, reason: str, cases: Sequence[CaseVerdict] = ()) -> ClaimVerdict:
    return ClaimVerdict(claim.id, claim.title, NOT_DECIDED, f"Not decided: {reason}.", tuple(cases))


def concluded(
    claim: Claim,
    cases: Sequence[CaseVerdict],
    told: Callable[[str], str],
    direction: Part | None,
    size: Part | None,
    *,
    with_published: bool = True,
) -> ClaimVerdict:
    """The verdict from the cases that count. `told` makes the sentence, given on how many cases."""
    counted = [case for case in cases if case.counts]
    if not counted:
        return unmeasured(claim, verdicts.unmeasured_reasons(cases), cases)
    sized = [case for case in counted if case.required]
    direction = direction and replace(direction, answer=verdicts.answer([case.direction for case in counted]))
    size = replace(size, answer=verdicts.answer([case.size for case in sized])) if size and sized else None
    outcome = verdicts.overall(direction, size)
    sentence = told(verdicts.counted(cases))
    if with_published:
        published = _published_text(claim, counted)
        sentence += published or (f"; {size.by}: {size.required}" if size else "")
    sentence += _where(counted, sized, direction, size)
    if small := [case for case in cases if case.below_floor]:
        sentence += f"; {len(small)} too short to count"
    return ClaimVerdict(claim.id, claim.title, outcome, sentence + ".", tuple(cases), direction, size)


def _where(
    counted: Sequence[CaseVerdict], sized: Sequence[CaseVerdict], direction: Part | None, size: Part | None
) -> str:
    """Which cases are on which side, of each part that is neither met everywhere nor nowhere."""
    said = ""
    for name, part, cases in (("direction", direction, counted), ("size", size, sized)):
        if part is not None and part.answer in ("in part", "open"):
            met = [case.direction if name == "direction" else case.size for case in cases]
            of_two = f"the {name} " if direction and size else ""
            said += f"; {of_two}{verdicts.where([case.label for case in cases], met)}"
    return said


def spread_of(cases: Iterable[CaseVerdict]) -> str:
    """The measured numbers of the cases that count, from least to most."""
    values = [case.measured for case in cases if case.counts and case.measured is not None]
    return verdicts.spread(values) if values else ""


def _published_text(claim: Claim, cases: Sequence[CaseVerdict]) -> str:
    published = [case.published for case in cases if case.published is not None]
    if not published:
        return ""
    at = f"at {len(published)} of them, {figures(claim)[0].device}"
    caution = claim.document["claim"].get("caution", "")
    return f" (published {verdicts.spread(published)} {at}{'; ' if caution else ''}{caution})"
