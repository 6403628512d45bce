"""Curves along a parameter, for suites with claims about a curve: bandwidth, and below it what the simulator counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Any

from kernelbench.compare.comparison import Comparison
from kernelbench.core.records import Claim
from kernelbench.explain.counted import METRICS, CountedCases
from kernelbench.explain.evidence import claim_statements, has_parameters
from kernelbench.report import copies, palette, style, view
from kernelbench.report.case_axis import CHARACTER, PANEL, SPREAD, Curve
from kernelbench.report.style import PAPER, SOFT
from kernelbench.report.view import Words, number_text
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

JUDGED = "cold"  # the cache state that claims are judged by
POINTS = 3  # fewest on a curve
ACROSS = 3  # panels side by side
NEAR = 4.0  # panels whose largest bandwidths are within this factor share an axis
TICK = 7.5  # points: size of the text below a tick
Rates = Mapping[str, Mapping[str, float]]  # bytes per second, by case, then implementation
Looks = Mapping[str, Mapping[str, Any]]  # arguments of a line, by implementation


@dataclass(frozen=True)
class Sweep:
    """All curves along one parameter, with the claims about them."""

    along: str
    curves: Sequence[Curve]
    claims: Sequence[Claim]

    @property
    def cases(self) -> set[str]:
        return {case for curve in self.curves for case in curve.points.values()}

    @property
    def name(self) -> str:
        return name_in_file(self.along)

    @property
    def metrics(self) -> list[str]:
        """The metrics that the claims explain the curves with."""
        return list(dict.fromkeys(one.metric for claim in self.claims for one in claim_statements(claim)))


def name_in_file(along: str) -> str:
    """A parameter's name as part of a file's."""
    return re.sub(r"[^\w-]", "-", along)


def case_sweeps(cases: Mapping[str, Words], claims: Sequence[Claim]) -> list[Sweep]:
    """A sweep per parameter that a claim is about, if these cases have a curve along it."""
    by_parameter: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.kind == "curve":
            by_parameter.setdefault(str(claim.document["claim"]["along"]), []).append(claim)
    found = [Sweep(along, _curves(cases, along), about) for along, about in by_parameter.items()]
    return [sweep for sweep in found if sweep.curves]


def _curves(cases: Mapping[str, Words], along: str) -> list[Curve]:
    groups: dict[tuple[tuple[str, str], ...], dict[float, str]] = {}
    for case, words in cases.items():
        value = words.get(along, "")
        if value.lstrip("-").isdigit():
            groups.setdefault(view.other_words(words, along), {})[float(value)] = case
    kept = {rest: dict(sorted(points.items())) for rest, points in groups.items() if len(points) >= POINTS}
    titles = view.case_labels({rest: dict(rest) for rest in kept}, number_text)
    return [Curve(titles[rest], points, dict(rest)) for rest, points in kept.items()]


def sweep_figure(run: Run, comparison: Comparison, sweep: Sweep, cache: str, counted: CountedCases) -> Figure:
    """A column of panels per curve: bandwidth with a line per implementation, and a small panel per count.

    With '' as `cache`, counts alone.
    """
    rates = _rates(run, comparison, cache) if cache else {}
    curves = [curve for curve in sweep.curves if not cache or any(case in rates for case in curve.points.values())]
    metrics = [metric for metric in sweep.metrics if _counts(curves, counted, metric)]
    yardsticks = dict.fromkeys(row.implementation for row in run.rows if row.role == "yardstick")
    spare = [*yardsticks][1:]  # of several copies the best is drawn, and one of their counts
    cases = [case for curve in curves for case in curve.points.values()]
    drawn = {name for table in (rates, counted) for case in cases for name in table.get(case, {})}
    known = (name for name in view.implementation_names(run) if name not in spare)
    names = [name for name in (*known, copies.BEST) if name in drawn]
    kinds = (["rate"] if cache else []) + metrics
    blocks = [curves[start : start + ACROSS] for start in range(0, len(curves), ACROSS)]
    heights = [2.9 if kind == "rate" else 1.0 for kind in kinds] * len(blocks)
    looks = _looks(run, comparison, names)
    with style.new_figure(sum(heights) + 0.5 * len(blocks) + 0.5) as figure:
        grid = figure.subplots(
            len(heights), min(ACROSS, len(curves)), squeeze=False, gridspec_kw={"height_ratios": heights}
        )
        for number, axes in enumerate(grid):
            kind, block = kinds[number % len(kinds)], blocks[number // len(kinds)]
            for place, axis in enumerate(axes):
                if place >= len(block):
                    axis.set_visible(False)
                    continue
                curve = block[place]
                if kind == "rate":
                    _rate_panel(axis, curve, rates, looks)
                    if cache == JUDGED:
                        _bands(axis, sweep, curve, rates)
                else:
                    _count_panel(axis, curve, counted, kind, looks)
                    axis.set_ylabel(METRICS[kind].header if place == 0 else "", fontsize=8)
                along_axis(axis, sweep.along, curve, len(axes), last=kind == kinds[-1])
                if kind == kinds[0]:
                    axis.set_title(curve.title, fontsize=9)
            if kind == "rate":
                axes[0].set_ylabel("bandwidth, TB/s")
                _level(axes[: len(block)])
        _legend(figure, looks, [axis for axes in grid for axis in axes])
    return figure


def _rates(run: Run, comparison: Comparison, cache: str) -> dict[str, dict[str, float]]:
    """Bytes per second by case, then implementation."""
    found: dict[str, dict[str, float]] = {}
    for row in copies.with_best_copy(run, view.shown_rows(run, comparison, cache)):
        if row.bandwidth_bytes_per_s is not None:
            found.setdefault(row.case, {})[row.implementation] = row.bandwidth_bytes_per_s
    return found


def has_counts(sweep: Sweep, counted: CountedCases) -> bool:
    """Whether there is anything to draw without times."""
    return any(_counts(sweep.curves, counted, metric) for metric in sweep.metrics)


def _counts(curves: Sequence[Curve], counted: CountedCases, metric: str) -> bool:
    """Whether an implementation on these curves has that count."""
    cases = {case for curve in curves for case in curve.points.values()}
    return any(one.value(metric) is not None for case in cases for one in counted.get(case, {}).values())


def _looks(run: Run, comparison: Comparison, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """How the line of each implementation is drawn."""
    looks = palette.looks(run, comparison)
    return {
        name: {
            "color": look.colour,
            "linewidth": 1.0 if look.yardstick else 1.8 if look.highlighted else 0.9,
            "linestyle": "--" if look.yardstick else "-",
            "marker": "" if look.yardstick else look.marker,
            "markersize": 4.5,
            "markeredgecolor": PAPER,
            "markeredgewidth": 0.4,
            "label": name,
        }
        for name in names
        for look in [looks[name]]
    }


def _rate_panel(axis: Axes, curve: Curve, rates: Rates, looks: Looks) -> None:
    tops: dict[bool, float] = {}  # of yardsticks, and of all else
    for name, look in looks.items():
        points = {x: rates[case][name] / 1e12 for x, case in curve.points.items() if name in rates.get(case, {})}
        if points:
            axis.plot(list(points), list(points.values()), **look)
            yardstick = look["linestyle"] == "--"
            tops[yardstick] = max(tops.get(yardstick, 0.0), *points.values())
    axis.set_ylim(0, 1.05 * max(tops.values()))
    if tops.get(True, 0.0) > NEAR * tops.get(False, float("inf")):
        axis.set_ylim(0, 1.15 * tops[False])
        axis.annotate(
            f"copy: up to {tops[True]:.2g} TB/s", (0.01, 0.99), xycoords="axes fraction", va="top", fontsize=7.5,
            color=SOFT,
        )  # fmt: skip


def _count_panel(axis: Axes, curve: Curve, counted: CountedCases, metric: str, looks: Looks) -> None:
    for name, look in looks.items():
        points = {
            x: value
            for x, case in curve.points.items()
            if name in counted.get(case, {}) and (value := counted[case][name].value(metric)) is not None
        }
        if points:
            axis.plot(list(points), list(points.values()), **{**look, "markersize": 3})
    axis.set_ylim(0, None)
    axis.tick_params(axis="y", labelsize=8)


def _bands(axis: Axes, sweep: Sweep, curve: Curve, rates: Rates) -> None:
    """Draw what claims say about points of this curve: bars from the least to the most that they allow."""
    for claim in sweep.claims:
        stated = claim.document["claim"]
        dtype = curve.shared.get("dtype", "")
        base = rates.get(curve.points.get(float(stated["base"]), ""), {}).get(stated["of"])
        if base is None or dtype not in stated.get("dtypes", [dtype]):
            continue
        if not has_parameters(curve.shared, stated.get("parameters", {})):
            continue
        for point, (low, high) in stated["size"]["bands"].items():
            axis.vlines(
                point, low * base / 1e12, high * base / 1e12, color=SOFT, alpha=0.35, linewidth=7, zorder=1,
                label="published range",
            )  # fmt: skip


def along_axis(axis: Axes, along: str, curve: Curve, across: int, last: bool) -> None:
    """The parameter's values as ticks; below the last panel only."""
    values = list(curve.points)
    if values[0] > 0 and values[-1] >= SPREAD * values[0]:
        axis.set_xscale("log", base=2)
    texts = _apart(values, axis.get_xscale() == "log", PANEL / across)
    axis.set_xticks(values, texts if last else [""] * len(values), fontsize=TICK)
    axis.set_xticks([], minor=True)
    if last:
        axis.set_xlabel(along)


def _apart(values: Sequence[float], logarithmic: bool, points: float) -> list[str]:
    """The tick texts of an axis of that many points; '' where one would run into the next."""
    texts: list[str] = []
    free = float("inf")
    places = [log2(value) if logarithmic else value for value in values]
    for value, place in zip(reversed(values), reversed(places), strict=True):
        text = number_text(f"{value:.0f}")
        room = (CHARACTER * TICK * len(text) + 3) * (places[-1] - places[0]) / points
        texts.insert(0, text if place + room <= free else "")
        free = place if texts[0] else free
    return texts


def _level(axes: Sequence[Axes]) -> None:
    """Give panels one scale, unless that would flatten a curve."""
    tops = [axis.get_ylim()[1] for axis in axes]
    if max(tops) <= NEAR * min(tops):
        for axis in axes:
            axis.set_ylim(0, max(tops))


def _legend(figure: Figure, looks: Mapping[str, Any], axes: Sequence[Axes]) -> None:
    handles: dict[str, Any] = {}
    for axis in axes:
        found, labels = axis.get_legend_handles_labels()
        handles |= {label: handle for handle, label in zip(found, labels, strict=True) if label not in handles}
    order = [name for name in looks if name in handles] + [name for name in handles if name not in looks]
    figure.legend(handles=[handles[name] for name in order], loc="outside right upper", frameon=False, fontsize=8.5)
