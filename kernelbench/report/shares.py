"""The charts of our kernels and their peers: who is ahead of whom, on average and case by case; and the share of the
copy's speed along a size, where a kernel falls behind or jumps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from statistics import geometric_mean
from typing import TYPE_CHECKING

from kernelbench.compare.comparison import Comparison
from kernelbench.core.units import number_of
from kernelbench.report import copies, palette, peers, style, sweeps, view
from kernelbench.report.case_axis import Curve
from kernelbench.report.line_charts import Name, named_panels, names_beside
from kernelbench.report.palette import Look
from kernelbench.report.peers import PeerCase
from kernelbench.report.speedups import ratio_axis
from kernelbench.report.style import FAINT, INK, PAPER, SOFT
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PEER_CHART = "peers"  # the name of the first
PEER_TITLE = "Time of each peer over ours, cold"
PEER_CAPTION = (
    "A point per case; large: the geometric mean. Right of 1, ours is faster. Coloured names have the same colour in "
    "the charts below."
)
ROW, REST = 0.24, 0.75  # inches per peer, and for the axis
TOP = 1.15  # highest share that a panel shows
Shares = Mapping[str, Mapping[str, float]]  # by case, then implementation


def peer_figure(found: Sequence[PeerCase], looks: Mapping[str, Look]) -> Figure:
    """A line per peer, the nearest first; beside it the mean and over how many cases."""
    ratios = peers.ratios(found)
    with style.new_figure(ROW * max(len(ratios), 2) + REST) as figure:
        axis = figure.subplots()
        for place, (name, of_name) in enumerate(ratios.items()):
            look, mean = looks[name], geometric_mean(of_name)
            axis.plot(of_name, [place] * len(of_name), look.marker, color=look.colour, alpha=0.45, markersize=3.2)
            axis.plot(mean, place, look.marker, color=look.colour, markersize=8, markeredgecolor=PAPER, zorder=3)
            axis.annotate(
                f"{view.ratio_text(mean)} on {number_of(len(of_name), 'case')}", (1, place), color=INK, va="center",
                xycoords=("axes fraction", "data"), xytext=(8, 0), textcoords="offset points", annotation_clip=False,
                fontsize=8.5,
            )  # fmt: skip
        axis.axvline(1, color=INK, linewidth=1.0, zorder=1)
        ratio_axis(axis, "x")
        axis.set_yticks(range(len(ratios)), list(ratios))
        for tick, name in zip(axis.get_yticklabels(), ratios, strict=True):
            tick.set(color=looks[name].text_colour, fontweight="bold" if looks[name].highlighted else "normal")
        axis.set_ylim(len(ratios) - 0.4, -0.6)
        axis.grid(axis="y", visible=False)
        axis.set_xlabel("time over ours", color=SOFT)
    return figure


def followed(run: Run) -> set[str]:
    """Cases on curves of many sizes, which need no other chart."""
    drawn = [curve for of_axis in peers.curves(run).values() for curve in of_axis]
    return {case for curve in drawn if len(curve.points) > peers.MANY for case in curve.points.values()}


def share_figure(run: Run, comparison: Comparison, along: str, drawn: Sequence[Curve]) -> Figure:
    """A panel per curve: time of the best copy over that of each implementation, by the size."""
    shares = _shares(run, comparison)
    looks = palette.looks(run, comparison)
    names = {name for of_case in shares.values() for name in of_case}
    with style.house_style():
        figure, panels = named_panels(len(drawn), 2.7, names)
        for axis, curve in zip(panels, drawn, strict=True):
            _panel(axis, curve, shares, looks)
            sweeps.along_axis(axis, along, _ticks(curve), 1, last=axis is panels[-1])
            axis.set_title(curve.title, fontsize=9)
            axis.set_ylabel("share of the copy")
        style.fix_layout(figure)
        for axis, curve in zip(panels, drawn, strict=True):
            names_beside(axis, _names(curve, shares, looks))
    return figure


def _shares(run: Run, comparison: Comparison) -> dict[str, dict[str, float]]:
    """Cold time of the best copy over that of each other implementation, by case."""
    rows = view.shown_rows(run, comparison, "cold")
    best = copies.best_copy_rows(rows)
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.role != "yardstick" and (copy := best.get((row.case, row.cache, row.method))):
            found.setdefault(row.case, {})[row.implementation] = view.median_seconds(copy) / view.median_seconds(row)
    return found


def _points(curve: Curve, shares: Shares) -> dict[str, dict[float, float]]:
    """The shares of each implementation, by the size."""
    found: dict[str, dict[float, float]] = {}
    for x, case in curve.points.items():
        for name, share in shares.get(case, {}).items():
            found.setdefault(name, {})[x] = share
    return found


def _names(curve: Curve, shares: Shares, looks: Mapping[str, Look]) -> list[Name]:
    ends = {name: list(points.items())[-1] for name, points in _points(curve, shares).items()}
    return [
        Name(name, x, y, y, looks[name].text_colour, looks[name].sign, looks[name].highlighted)
        for name, (x, y) in ends.items()
    ]


def _ticks(curve: Curve) -> Curve:
    """The sizes that get a tick; if there are many, the powers of two and both ends."""
    ends = (min(curve.points), max(curve.points))
    shown = {x: case for x, case in curve.points.items() if log2(x).is_integer() or x in ends}
    return Curve(curve.title, shown) if len(curve.points) > peers.MANY else curve


def _panel(axis: Axes, curve: Curve, shares: Shares, looks: Mapping[str, Look]) -> None:
    axis.axhline(1.0, color=FAINT, linewidth=1.2, zorder=1)
    many = len(curve.points) > peers.MANY
    highest = 1.0
    for name, points in _points(curve, shares).items():
        look = looks[name]
        axis.plot(
            list(points), list(points.values()), color=look.colour, marker=look.marker, label=name,
            markeredgecolor=PAPER, linewidth=1.8 if look.highlighted else 0.9, zorder=3 if look.highlighted else 2,
            markeredgewidth=0.0 if many else 0.4, markersize=2.6 if many else 4.5,
        )  # fmt: skip
        highest = max(highest, *points.values())
    axis.set_ylim(0, min(TOP, 1.05 * highest))
