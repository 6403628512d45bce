"""The chart of peers: who is ahead of whom, in the mean and case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING

from kernelbench.core.units import number_of
from kernelbench.report import peers, style, view
from kernelbench.report.palette import Look
from kernelbench.report.peers import Pair
from kernelbench.report.speedups import ratio_axis
from kernelbench.report.style import INK, PAPER, SOFT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PEER_CHART = "peers"  # the name of the chart
TITLE = "Time of each peer over ours, cold"
CAPTION = (
    "A point per case; large: the geometric mean. Right of 1, ours is faster. Coloured names have the same colour in "
    "the charts below."
)
ROW, REST = 0.24, 0.75  # inches per peer, and for the axis


def peer_figure(found: Sequence[Pair], looks: Mapping[str, Look]) -> Figure:
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
