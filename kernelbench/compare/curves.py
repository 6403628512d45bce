"""The kind of claims about a curve: one implementation on several cases that differ in one parameter alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from kernelbench.compare.judging import ClaimQuery, all_met, at_most, interval_in_band, spread_of, value_with_interval
from kernelbench.compare.ledger_schema import TRENDS
from kernelbench.compare.measured import SAME, MeasuredCase, Timed, speedup
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core import units

Band = tuple[float, float]


def judge_curve(query: ClaimQuery) -> ClaimVerdict:
    """All points of a curve copy as much, so their bandwidths relate as their times do, the other way round."""
    stated = query.stated
    name, along, base, trend = stated["of"], stated["along"], stated["base"], stated["trend"]
    bands: Mapping[int, Band] = {point: (low, high) for point, (low, high) in query.size_of("bands").items()}
    first = next(iter(bands))

    def one(text: str, points: Mapping[int, MeasuredCase]) -> CaseVerdict:
        timed = query.timed_alike({point: (case, name) for point, case in sorted(points.items())}, (base, *bands))
        if absent := [point for point in (base, *bands) if point not in timed]:
            return _missing(query, points, text, name, along, absent)
        shares = {point: speedup(timed[base], found, one_case=False) for point, found in timed.items()}
        said = ", ".join(f"{point}: {value_with_interval(share)}" for point, share in shares.items())
        return CaseVerdict(
            points[base].key,
            text,
            shares[first].value,
            f"{along} {said}",
            direction=all_met(_steps(list(timed.values()), trend)) if TRENDS[trend] else None,
            size=all_met([interval_in_band(shares[point], band) for point, band in bands.items()]),
            interval=(shares[first].low, shares[first].high),
            required=bands[first],
            below_floor=any(found.floor_limited for found in timed.values()),
        )

    cases = [one(text, points) for text, points in _curves(query, along)]
    required = query.size("; ".join(_band_text(along, point, band) for point, band in bands.items()))
    falls = query.direction(f"the bandwidth {trend} with {along}")

    def told(on: str) -> str:
        subject = f"The bandwidth of {query.label(name)} at {along} {first}"
        return f"{subject} is {spread_of(cases)} times that at {base} on {on}"

    return query.concluded(cases, told, falls, required)


def _curves(query: ClaimQuery, along: str) -> list[tuple[str, dict[int, MeasuredCase]]]:
    """Each curve's name and its cases by the value of `along`, in which alone they differ."""
    found: dict[tuple[tuple[str, str], ...], dict[int, MeasuredCase]] = {}
    for case in query.cases():
        if along in case.words:
            common = tuple((name, value) for name, value in case.words.items() if name != along)
            found.setdefault(common, {})[int(case.words[along])] = case
    return [(_name(common), points) for common, points in found.items() if len(points) > 1]


def _name(words: Sequence[tuple[str, str]]) -> str:
    """What cases have in common, but for what their axes say already."""
    return " ".join(f"{name}={value}" for name, value in words if name not in ("shape", "axis"))


def _missing(
    query: ClaimQuery, points: Mapping[int, MeasuredCase], text: str, name: str, along: str, absent: Sequence[int]
) -> CaseVerdict:
    there = [points[point] for point in absent if point in points]
    if untimed := [case for case in there if not query.timed(case, name)]:
        return replace(query.missing(untimed[0], name), label=text)
    values = ", ".join(map(str, absent))
    said = f"{name}: not timed by one method at {along} {values}" if there else f"no case with {along} {values}"
    return CaseVerdict(next(iter(points.values())).key, text, None, said)


def _steps(points: Sequence[Timed], trend: str) -> list[bool | None]:
    """Whether each point is on the right side of the one before, give or take what counts as the same."""
    ordered = points[::-1] if trend == "rises" else points
    return [at_most(speedup(before, after, one_case=False), 1 + SAME) for before, after in pairwise(ordered)]


def _band_text(along: str, point: int, band: Band) -> str:
    low, high = (units.digits(end, 3) for end in band)
    return f"{low} to {high} at {along} {point}"
