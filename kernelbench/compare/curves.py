"""The kind of claims about a curve: one implementation on several cases that differ in one parameter alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from kernelbench.compare.judging import (
    CACHE,
    at_most,
    cases_of,
    concluded,
    direction,
    inside,
    interval,
    label,
    missing,
    size,
    size_of,
    spread_of,
)
from kernelbench.compare.ledger import Ledger
from kernelbench.compare.ledger_schema import TRENDS
from kernelbench.compare.measured import SAME, Measured, MeasuredCase, Timed, speedup
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core import units
from kernelbench.core.records import Claim

Band = tuple[float, float]


def curve(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    """All points of a curve copy as much, so their bandwidths relate as their times do, the other way round."""
    stated = claim.document["claim"]
    name, along, base, trend = stated["of"], stated["along"], stated["base"], stated["trend"]
    bands: Mapping[int, Band] = {point: (low, high) for point, (low, high) in size_of(claim, "bands").items()}
    cases = []
    for text, points in _curves(measured, claim, along):
        timed = {point: found for point, case in points.items() if (found := _timed(measured, case, name))}
        absent = [point for point in (base, *bands) if point not in timed]
        if absent:
            cases.append(_missing(measured, points, text, name, along, absent))
        else:
            cases.append(_judged(points[base], text, timed, base, bands, trend, along))
    first = next(iter(bands))
    required = size(claim, "; ".join(_band_text(along, point, band) for point, band in bands.items()))
    falls = direction(claim, f"the bandwidth {trend} with {along}")

    def told(on: str) -> str:
        subject = f"The bandwidth of {label(claim, name)} at {along} {first}"
        return f"{subject} is {spread_of(cases)} times that at {base} on {on}"

    return concluded(claim, cases, told, falls, required)


def _judged(
    case: MeasuredCase,
    text: str,
    timed: Mapping[int, Timed],
    base: int,
    bands: Mapping[int, Band],
    trend: str,
    along: str,
) -> CaseVerdict:
    shares = {point: speedup(timed[base], timed[point]) for point in sorted(timed)}
    first = next(iter(bands))
    said = ", ".join(f"{point}: {interval(share)}" for point, share in shares.items())
    return CaseVerdict(
        case.key,
        text,
        shares[first].value,
        f"{along} {said}",
        direction=_all(_steps([timed[point] for point in shares], trend)) if TRENDS[trend] else None,
        size=_all([inside(shares[point], band) for point, band in bands.items()]),
        interval=(shares[first].low, shares[first].high),
        required=bands[first],
        below_floor=any(one.floor_limited for one in timed.values()),
    )


def _all(met: Sequence[bool | None]) -> bool | None:
    return False if False in met else None if None in met else True


def _curves(measured: Measured, claim: Claim, along: str) -> list[tuple[str, dict[int, MeasuredCase]]]:
    """Each curve's name and its cases by the value of `along`, in which alone they differ."""
    found: dict[tuple[tuple[str, str], ...], dict[int, MeasuredCase]] = {}
    for case in cases_of(measured, claim):
        if along in case.words:
            common = tuple((name, value) for name, value in case.words.items() if name != along)
            found.setdefault(common, {})[int(case.words[along])] = case
    return [(_name(common), points) for common, points in found.items() if len(points) > 1]


def _name(words: Sequence[tuple[str, str]]) -> str:
    """What cases have in common, but for what their axes say already."""
    return " ".join(f"{name}={value}" for name, value in words if name not in ("shape", "axis"))


def _timed(measured: Measured, case: MeasuredCase, name: str) -> Timed | None:
    return measured.best_method(case.key, name, CACHE)


def _missing(
    measured: Measured, points: Mapping[int, MeasuredCase], text: str, name: str, along: str, absent: Sequence[int]
) -> CaseVerdict:
    asked = [points[point] for point in absent if point in points]
    if asked:
        one = missing(measured, asked[0], name)
        return CaseVerdict(one.case, text, None, one.text)
    values = ", ".join(map(str, absent))
    return CaseVerdict(next(iter(points.values())).key, text, None, f"no case with {along} {values}")


def _steps(points: Sequence[Timed], trend: str) -> list[bool | None]:
    """Of each point, whether it is on the right side of the one before, give or take what counts as the same."""
    ordered = points[::-1] if trend == "rises" else points
    return [at_most(speedup(before, after), 1 + SAME) for before, after in pairwise(ordered)]


def _band_text(along: str, point: int, band: Band) -> str:
    low, high = (units.digits(end, 3) for end in band)
    return f"{low} to {high} at {along} {point}"
