"""The kind of claims about a curve: one implementation on several cases that differ in one parameter alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from kernelbench.compare.judging import CACHE, at_most, cases_of, interval, label, missing, verdict
from kernelbench.compare.ledger import Ledger
from kernelbench.compare.measured import SAME, Measured, MeasuredCase, Ratio, Timed, speedup
from kernelbench.compare.schema import TRENDS
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.core import units
from kernelbench.core.records import Claim

Band = tuple[float, float]


def curve(measured: Measured, claim: Claim, ledger: Ledger) -> ClaimVerdict:
    """The bandwidth of `of` over that at `base` of `along` lies in each of `bands`, and it takes the stated trend.

    All points of a curve copy as much, so their bandwidths relate as their times do, the other way round.
    """
    stated = claim.document["claim"]
    name, along, base = stated["of"], stated["along"], stated["base"]
    bands: Mapping[int, Band] = {point: (low, high) for point, (low, high) in stated["bands"].items()}
    cases = []
    for text, points in _curves(measured, claim, along):
        timed = {point: found for point, case in points.items() if (found := _timed(measured, case, name))}
        absent = [point for point in (base, *bands) if point not in timed]
        if absent:
            cases.append(_missing(measured, points, text, name, along, absent))
            continue
        shares = {point: speedup(timed[base], timed[point]) for point in sorted(timed)}
        judged = [_inside(shares[point], band) for point, band in bands.items()]
        judged += _steps([timed[point] for point in shares], stated["trend"])
        holds = False if False in judged else None if None in judged else True
        said = ", ".join(f"{point}: {interval(share)}" for point, share in shares.items())
        cases.append(
            CaseVerdict(points[base].key, text, shares[next(iter(bands))].value, None, holds, f"{along} {said}")
        )
    first, *others = (_band_text(point, band) for point, band in bands.items())
    subject = f"The bandwidth of {label(claim, name)} at {along} {next(iter(bands))} is {{}} times that at {base}"
    tail = f", stated {first.split(': ')[1]}" + "".join(f", at {other.replace(': ', ' ')}" for other in others)
    trend = f", {TRENDS[stated['trend']]} with {along}" if TRENDS[stated["trend"]] else ""
    return verdict(claim, cases, subject, tail + trend)


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
        one = missing(measured, asked[0], None, name)
        return CaseVerdict(one.case, text, None, None, None, one.text)
    values = ", ".join(map(str, absent))
    return CaseVerdict(next(iter(points.values())).key, text, None, None, None, f"no case with {along} {values}")


def _inside(share: Ratio, band: Band) -> bool | None:
    low, high = band
    if share.low >= low and share.high <= high:
        return True
    return False if share.high < low or share.low > high else None


def _steps(points: Sequence[Timed], trend: str) -> list[bool | None]:
    """Of each point, whether it is on the right side of the one before, give or take what counts as the same."""
    if trend == "any":
        return []
    if trend == "rises":
        points = points[::-1]
    return [at_most(speedup(before, after), 1 + SAME) for before, after in pairwise(points)]


def _band_text(point: int, band: Band) -> str:
    low, high = (units.digits(number, 3) if number else "0" for number in band)
    return f"{point}: {low} to {high}"
