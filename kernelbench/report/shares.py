"""Share of the copy's speed along a size, for our kernels and their peers: where a kernel falls behind or jumps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import TYPE_CHECKING, Any

from kernelbench.compare.comparison import Comparison
from kernelbench.report import copies, peers, style, sweeps, view
from kernelbench.report.style import FAINT, INK, MARKERS, MUTED, PAPER, WIDTH
from kernelbench.report.sweeps import Curve
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOP = 1.15  # highest share that a panel shows


def followed(run: Run) -> set[str]:
    """Cases on curves of many sizes, which need no other chart."""
    drawn = [curve for of_axis in peers.curves(run).values() for curve in of_axis]
    return {case for curve in drawn if len(curve.points) > peers.MANY for case in curve.points.values()}


def share_figure(run: Run, comparison: Comparison, along: str, drawn: Sequence[Curve]) -> Figure:
    """A panel per curve: time of the best copy over that of each implementation, by the size."""
    from matplotlib.figure import Figure

    shares = _shares(run, comparison)
    present = view.implementations(run)
    names = [name for name in present if any(name in of_case for of_case in shares.values())]
    looks = _looks(run, comparison, names)
    with style.settings():
        figure = Figure(figsize=(WIDTH, 2.6 * len(drawn) + 0.6), layout="constrained")
        panels = list(figure.subplots(len(drawn), 1, squeeze=False)[:, 0])
        for axis, curve in zip(panels, drawn, strict=True):
            _panel(axis, curve, shares, looks)
            sweeps.along_axis(axis, along, _ticks(curve), 1, last=axis is panels[-1])
            axis.set_title(curve.title, fontsize=9)
            axis.set_ylabel("share of the copy")
        sweeps.legend(figure, looks, panels)
        style.settle(figure)
    return figure


def _shares(run: Run, comparison: Comparison) -> dict[str, dict[str, float]]:
    """Cold time of the best copy over that of each other implementation, by case."""
    rows = view.shown_rows(run, comparison, "cold")
    best = copies.best_copies(rows)
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.role != "yardstick" and (copy := best.get((row.case, row.cache, row.method))):
            found.setdefault(row.case, {})[row.implementation] = view.seconds(copy) / view.seconds(row)
    return found


def _looks(run: Run, comparison: Comparison, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """How each line is drawn: ours in ink, above all others."""
    own = peers.ours(run)
    colours = style.colours([name for name in view.highlights(run, comparison) if name in names and name not in own])
    return {
        name: {
            "color": INK if name in own else colours.get(name, MUTED),
            "linewidth": 1.8 if name in own else 1.1,
            "linestyle": ("-", "--", ":")[own.index(name) % 3] if name in own else "-",
            "marker": MARKERS[index % len(MARKERS)],
            "markeredgecolor": PAPER,
            "zorder": 4 if name in own else 3,
            "label": name,
        }
        for index, name in enumerate(names)
    }


def _ticks(curve: Curve) -> Curve:
    """The sizes that get a tick; if there are many, the powers of two and both ends."""
    ends = (min(curve.points), max(curve.points))
    shown = {x: case for x, case in curve.points.items() if log2(x).is_integer() or x in ends}
    return Curve(curve.title, shown) if len(curve.points) > peers.MANY else curve


def _panel(
    axis: Axes, curve: Curve, shares: Mapping[str, Mapping[str, float]], looks: Mapping[str, Mapping[str, Any]]
) -> None:
    axis.axhline(1.0, color=FAINT, linewidth=1.2, zorder=1)
    many = len(curve.points) > peers.MANY
    highest = 1.0
    for name, look in looks.items():
        points = {x: shares[case][name] for x, case in curve.points.items() if name in shares.get(case, {})}
        if points:
            edge, size = (0.0, 2.6) if many else (0.4, 4.5)
            axis.plot(list(points), list(points.values()), **look, markeredgewidth=edge, markersize=size)
            highest = max(highest, *points.values())
    axis.set_ylim(0, min(TOP, 1.05 * highest))
