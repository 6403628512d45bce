"""The chart of speed-ups: what was measured here, and in the same colour what was published."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from kernelbench.compare.comparison import ComparedRow, Comparison, baseline_names
from kernelbench.compare.ledger_values import NOT_STATED
from kernelbench.report import palette, style, view
from kernelbench.report.case_axis import laid_out
from kernelbench.report.line_charts import Mark, Name, PlottedPoint, draw, named_panels, names_beside, names_of, settle
from kernelbench.report.style import INK, SOFT
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SPEEDUP_CHART = "speedup-cold"  # the name of the chart that answers for a run without claims
PUBLISHED = "_x+1"  # markers, one per GPU that published figures are from
NUMBERED = 12  # most published figures that a panel has room to write beside their markers
NAME = 28  # characters per line of a name
HEIGHTS = (2.9, 2.4, 1.6)  # inches per panel of one, two and more: all of them fit on one screen
NARROW = 2.0  # an axis that spans less has round numbers for ticks
STEPS = ((1.0, 1.25, 1.5, 1.75), (1.0, 1.5), (1.0,))  # within a doubling; as many as there is room for
MANY = 30  # more ticks than there are
TICKS = (8.3, 8.3, 4.0)  # most ticks, by the number of panels as HEIGHTS


def speedup_figure(run: Run, comparison: Comparison, cache: str) -> Figure:
    """A panel per dtype: how many times as fast as the baseline each highlighted implementation is."""
    looks = palette.looks(run, comparison)
    dtypes = {row.case: row.dtype for row in run.rows}
    panels: dict[str, list[ComparedRow]] = {}
    rows = drawn_rows(run, comparison, cache)
    for row in rows:
        panels.setdefault(dtypes[row.case], []).append(row)
    devices = list(dict.fromkeys(_published_on(row) for row in rows if row.published_speedup))
    names = {row.implementation for row in rows} | set(devices)
    words = view.words_by_case(run)
    with style.house_style():
        figure, axes = named_panels(max(len(panels), 1), HEIGHTS[min(len(panels), len(HEIGHTS)) - 1], names)
        drawn = []
        for axis, (dtype, of_dtype) in zip(axes, panels.items(), strict=False):
            layout = laid_out({row.case: words[row.case] for row in of_dtype}, to_scale=True)
            marks = [Mark(row.case, row.implementation, row.speedup or 0.0) for row in of_dtype]
            drawn.append(draw(axis, marks, layout, looks))
            _published(axis, of_dtype, drawn[-1], devices, {name: look.colour for name, look in looks.items()})
            axis.axhline(1, color=INK, linewidth=1.0, zorder=1)
            axis.set_title(f"{dtype}, {cache}")
            ratio_axis(axis, most=TICKS[min(len(panels), len(TICKS)) - 1])
        label = figure.supylabel(f"speed-up over {baseline_names(comparison)}", fontsize=9.5, color=SOFT)
        settle(figure, axes)
        label.set_y((axes[0].get_position().y1 + axes[-1].get_position().y0) / 2)  # not of the names of cases
        for axis, of_dtype, places in zip(axes, panels.values(), drawn, strict=False):
            names_beside(axis, [*names_of(places, looks), *_published_names(of_dtype, places, devices)])
    return figure


def drawn_rows(run: Run, comparison: Comparison, cache: str) -> list[ComparedRow]:
    """The rows that `speedup_figure` draws."""
    highlighted = {name for name, look in palette.looks(run, comparison).items() if look.highlighted}
    rows = [row for row in comparison if row.cache == cache and row.speedup is not None]
    return [row for row in rows if row.implementation in highlighted and row.implementation != row.baseline]


def _published_on(row: ComparedRow) -> str:
    """`published, V100`: the name of a marker, without how the GPU is known."""
    device = (row.published_device or NOT_STATED).partition(", ")[0]
    return fill(f"published, {f'GPU {NOT_STATED}' if device.startswith(NOT_STATED) else device}", NAME)


def _published(
    axis: Axes,
    rows: Sequence[ComparedRow],
    places: Sequence[PlottedPoint],
    devices: Sequence[str],
    colours: dict[str, str],
) -> None:
    """The intervals of what was measured, and published figures joined to them."""
    at = {(place.mark.case, place.mark.name): place.x for place in places}
    cited = [row for row in rows if row.published_speedup]
    for row in rows:
        x, colour = at[row.case, row.implementation], colours[row.implementation]
        if row.speedup_low is not None and row.speedup_high is not None:
            axis.vlines(x, row.speedup_low, row.speedup_high, color=colour, linewidth=1.0)
        if not row.published_speedup or not row.speedup:
            continue
        axis.vlines(x, row.published_speedup, row.speedup, color=colour, linewidth=0.8, linestyle=":")
        axis.plot(
            x, row.published_speedup, _marker(_published_on(row), devices), color=colour, markersize=9,
            markeredgewidth=1.8, zorder=4,
        )  # fmt: skip
        if len(cited) <= NUMBERED:
            for value, above in ((row.speedup, row.speedup > row.published_speedup),
                                 (row.published_speedup, row.speedup <= row.published_speedup)):  # fmt: skip
                axis.annotate(
                    view.shown_ratio(value), (x, value), xytext=(0, 5 if above else -5), textcoords="offset points",
                    ha="center", va="bottom" if above else "top", fontsize=7.5, color=colour, zorder=5,
                )  # fmt: skip


def _published_names(rows: Sequence[ComparedRow], places: Sequence[PlottedPoint], devices: Sequence[str]) -> list[Name]:
    """What each kind of marker is, beside the last of its kind."""
    at = {(place.mark.case, place.mark.name): place.x for place in places}
    last = {_published_on(row): row for row in sorted(rows, key=lambda row: at[row.case, row.implementation])
            if row.published_speedup}  # fmt: skip
    return [
        Name(device, float("nan"), float("nan"), row.published_speedup or 1.0, SOFT, _marker(device, devices))
        for device, row in last.items()
    ]


def _marker(device: str, devices: Sequence[str]) -> str:
    return PUBLISHED[devices.index(device) % len(PUBLISHED)]


def ratio_axis(axis: Axes, which: str = "y", most: float = TICKS[0]) -> None:
    """Equal distances are equal factors; with `most` ticks, about."""
    from math import log2, log10

    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    (axis.set_yscale if which == "y" else axis.set_xscale)("log", base=2)
    axis.margins(*((None, 0.14) if which == "y" else (0.14, None)))
    low, high = axis.get_ylim() if which == "y" else axis.get_xlim()
    target = axis.yaxis if which == "y" else axis.xaxis
    subs = next((subs for subs in STEPS if log2(high / low) * len(subs) <= most), None)
    if high / low < NARROW:
        target.set_major_locator(MaxNLocator(4))
    else:
        base, steps = (2, subs) if subs else (10, (1.0, 3.0) if log10(high / low) <= most else (1.0,))
        target.set_major_locator(LogLocator(base, steps, numticks=MANY))  # else a low panel may have no ticks at all
    target.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    target.set_minor_formatter(NullFormatter())
