"""The chart of speed-ups: bars measured here, beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelbench.compare.comparison import ComparedRow, Comparison, baselines
from kernelbench.report import style, view
from kernelbench.report.case_axis import PANEL, laid_out, ticks
from kernelbench.report.style import INK, PAPER, SOFT, WIDTH
from kernelbench.report.view import Words
from kernelbench.runs.records import Row
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS_PER_PANEL = 40  # more bars side by side cannot be told apart
WIDE = 30  # largest ratio on a linear axis
LABEL = 20  # points that a number needs above its bar
NUMBERED = 0.2  # share of the panel's height left free above bars with numbers on top


def speedup_figure(run: Run, comparison: Comparison, cache: str) -> Figure:
    """Bars per case: the measured speed-up over the baseline, and hatched beside it the published one."""
    from matplotlib.figure import Figure

    rows = [row for row in comparison if row.cache == cache and row.speedup is not None]
    own = {row.baseline for row in rows}
    colours = style.colours(view.highlights(run, comparison))  # as in the other charts
    colours = {name: colour for name, colour in colours.items() if name not in own}
    bars = [row for row in rows if row.implementation in colours]
    panels = _panels(bars, {row.case: row for row in run.rows})
    with style.settings():
        figure = Figure(
            figsize=(WIDTH, (2.9 if len(panels) < 3 else 2.4) * max(len(panels), 1) + 0.4), layout="constrained"
        )
        axes = figure.subplots(max(len(panels), 1), 1, squeeze=False, sharey=True)[:, 0]
        for axis, (dtype, cases) in zip(axes, panels, strict=False):
            widest = max(len(of_panel) for other, of_panel in panels if other == dtype)
            _panel(axis, [row for row in bars if row.case in cases], cases, colours, max(widest, 3))
            axis.set_title(f"{dtype}, {cache}")
        figure.supylabel(f"speed-up over {baselines(rows)}", fontsize=9.5, color=SOFT)
        _legend(figure, bars, colours)
        style.settle(figure)
    return figure


def _panels(bars: Sequence[ComparedRow], rows: Mapping[str, Row]) -> list[tuple[str, dict[str, Words]]]:
    """(dtype, words of each case) per panel: cases of one dtype, as many as there is room for."""
    count: dict[str, int] = {}
    for row in bars:
        count[row.case] = count.get(row.case, 0) + 1 + (row.published_speedup is not None)
    room = max(1, BARS_PER_PANEL // max(count.values(), default=1))
    panels = []
    for dtype in dict.fromkeys(rows[case].dtype for case in count):
        own = [(case, rows[case].words) for case in count if rows[case].dtype == dtype]
        number = -(-len(own) // room)
        each = -(-len(own) // number)  # as evenly as possible
        panels += [(dtype, dict(own[start : start + each])) for start in range(0, len(own), each)]
    return panels


def _panel(
    axis: Axes, bars: Sequence[ComparedRow], cases: Mapping[str, Words], colours: dict[str, str], widest: int
) -> None:
    layout, order = laid_out(cases), list(colours)
    room = max(layout.right + 1, widest)
    logarithmic = max(ratio for row in bars for ratio in (row.speedup, row.published_speedup) if ratio) > WIDE
    if logarithmic:
        _ratio_axis(axis)
    for case in cases:
        shown: list[tuple[ComparedRow, bool]] = []
        of_case = [row for row in bars if row.case == case]
        for row in sorted(of_case, key=lambda row: order.index(row.implementation)):
            shown += [(row, False)] + ([(row, True)] if row.published_speedup is not None else [])
        width = min(0.8 / max(len(shown), 1), 0.02 * max(room, 8))
        for number, (row, published) in enumerate(shown):
            at = layout.x[case] + (number - (len(shown) - 1) / 2) * width
            bar = _Bar(at, width, foot=1.0 if logarithmic else 0.0, turned=width * PANEL / room < LABEL)
            _draw(axis, bar, row, colours[row.implementation], published)
    axis.axhline(1, color=INK, linewidth=1.0)
    axis.set_xlim(-0.5, room - 0.5)
    axis.margins(y=NUMBERED if any(row.published_speedup is not None for row in bars) else 0.05)
    ticks(axis, layout, room)
    axis.tick_params(axis="x", length=0)
    axis.grid(axis="x", visible=False)


def _ratio_axis(axis: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


@dataclass(frozen=True)
class _Bar:
    """Where a bar stands."""

    place: float
    width: float
    foot: float  # 1 on a logarithmic axis: slower bars hang below it
    turned: bool  # whether its number is wider than itself


def _draw(axis: Axes, bar: _Bar, row: ComparedRow, colour: str, published: bool) -> None:
    ratio = (row.published_speedup if published else row.speedup) or 0.0
    height = ratio - bar.foot
    if published:
        axis.bar(
            bar.place, height, 0.88 * bar.width, bar.foot,
            facecolor=PAPER, edgecolor=colour, hatch="////", linewidth=0.9,
        )  # fmt: skip
    else:
        axis.bar(bar.place, height, 0.88 * bar.width, bar.foot, color=colour)
        if row.speedup_low is not None and row.speedup_high is not None:
            axis.vlines(bar.place, row.speedup_low, row.speedup_high, color=INK, linewidth=1.0)
    if published or row.published_speedup is not None:
        top = max(bar.foot, ratio if published else max(ratio, row.speedup_high or ratio))
        axis.annotate(
            view.ratio(ratio), (bar.place, top), xytext=(0, 2), textcoords="offset points", ha="center", zorder=5,
            fontsize=7.5, color=SOFT if published else INK, rotation=90 if bar.turned else 0, va="bottom",
        )  # fmt: skip


def _legend(figure: Figure, bars: Sequence[ComparedRow], colours: dict[str, str]) -> None:
    """The names of the colours, above the panels; hatched: the GPU that published figures are from."""
    from matplotlib.patches import Patch

    present = {row.implementation for row in bars}
    handles = [Patch(color=colour, label=name) for name, colour in colours.items() if name in present]
    devices = dict.fromkeys(row.published_device or "device not stated" for row in bars if row.published_speedup)
    handles += [
        Patch(facecolor=PAPER, edgecolor=SOFT, hatch="////", label=f"published, {device}") for device in devices
    ]
    if handles:
        length = sum(len(str(handle.get_label())) + 6 for handle in handles)
        ncols = len(handles) if length < 125 else max(1, len(handles) // 2)
        figure.legend(
            handles=handles, loc="outside upper left", ncols=ncols, frameon=False, fontsize=8.5, handlelength=1.2
        )
