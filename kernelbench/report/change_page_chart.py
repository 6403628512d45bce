"""The chart of a page of two runs: how each changed row moved, beside the noise that it had to exceed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import asinh, log, log1p, sinh
from textwrap import fill
from typing import TYPE_CHECKING

from kernelbench.compare.changes import VERDICTS, Changes, JudgedRow, Verdict
from kernelbench.report import style
from kernelbench.report.changes_table import percent_text
from kernelbench.report.drawing import Chart
from kernelbench.report.style import FAINT, INK, MUTED, PAPER, SERIES, SOFT, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMED = 12  # rows; with more, the chart leaves the first screen
NARROW = 3.9  # inches, of the drawing for small windows
LANE = 0.26  # inches
LINEAR = 0.02  # ln: up to this change the axis is linear, farther out logarithmic, so that bands and outliers both show
MARGIN = 0.15  # of the axis, for the numbers beside its outermost dots
APART = 0.09  # of the axis, between two ticks
CHANGED: tuple[Verdict, ...] = ("SLOWER", "FASTER")
COUNTED: Mapping[Verdict, str] = {"SLOWER": "slower", "FASTER": "faster", "UNSURE": "undecided", "SAME": "the same"}
BY_SHARE: Mapping[Verdict, str] = {**COUNTED, "SLOWER": "farther from the ceiling", "FASTER": "closer to the ceiling"}
_COLOURS: Mapping[Verdict, str] = {"SLOWER": SERIES[1], "FASTER": SERIES[0], "UNSURE": SOFT, "SAME": MUTED}
_MARKERS: Mapping[Verdict, str] = {"SLOWER": ">", "FASTER": "<", "UNSURE": "o", "SAME": "o"}
_TICKS = (-99, -90, -50, -20, -10, -5, -2, -1, 0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)


@dataclass(frozen=True)
class Lane:
    """A line of the chart: one named row, or several that are counted."""

    label: str
    rows: Sequence[JudgedRow]

    @property
    def named(self) -> bool:
        return len(self.rows) == 1 and self.rows[0].verdict in CHANGED

    @property
    def verdict(self) -> Verdict:
        return self.rows[0].verdict


def ordered(changes: Changes, rows: Sequence[JudgedRow]) -> list[JudgedRow]:
    """Kernels before libraries and copies, each by how much it changed."""
    return sorted(rows, key=lambda row: (changes.rank(row), -abs(log(row.ratio))))


def _most_changed(changes: Changes) -> list[JudgedRow]:
    """MOST_NAMED rows; no verdict has all places if the other one has rows as well."""
    half = MOST_NAMED // 2
    of_each = [ordered(changes, changes.of(verdict)) for verdict in CHANGED]
    first, others = ([row for rows in of_each for row in rows[part]] for part in (slice(half), slice(half, None)))
    return [*first, *ordered(changes, others)][:MOST_NAMED]


def lanes(changes: Changes, name: Callable[[JudgedRow], str]) -> list[Lane]:
    """The rows that changed most, each by its name: those that are slower first, and of each verdict kernels before
    libraries and copies. All others by verdict."""
    words = BY_SHARE if changes.by_share else COUNTED
    shown = set(_most_changed(changes))
    found = []
    for verdict in VERDICTS:
        rows = ordered(changes, changes.of(verdict))
        named = [row for row in rows if row in shown]
        found += [Lane(name(row), [row]) for row in named]
        if rest := [row for row in rows if row not in shown]:
            found.append(Lane(f"{len(rest)} {'more ' if named else ''}{words[verdict]}", rest))
    return found


def charts(changes: Changes, name: Callable[[JudgedRow], str]) -> list[Chart]:
    """The same chart for wide and for narrow windows."""
    shown = lanes(changes, name)
    over = "Time in the second run over that in the first"
    if changes.by_share:
        over = "Time over that at the ceiling, in the second run against the first"
    caption = (
        f"{over}, with its 95 % interval. Grey: the noise band of the row; where rows are counted, the widest of "
        f"their bands. The axis is linear up to about {100 * LINEAR:.0f} % and logarithmic beyond."
    )
    style.load_matplotlib()
    return [
        Chart(size, "What changed", caption, partial(figure, shown, changes.by_share, wide=size == "wide"))
        for size in ("wide", "narrow")
    ]


def figure(shown: Sequence[Lane], by_share: bool, *, wide: bool) -> Figure:
    lane = LANE if wide else 1.7 * LANE
    with style.new_figure(lane * len(shown) + 0.75, WIDTH if wide else NARROW) as drawn:
        axis = drawn.subplots()
        low, high = _limits([row for one in shown for row in one.rows])
        axis.set_xscale("asinh", linear_width=LINEAR)
        axis.set_xlim(LINEAR * sinh(low), LINEAR * sinh(high))
        axis.set_ylim(len(shown) - 0.4, -0.6 if wide else -0.9)
        for place, one in enumerate(shown):
            _draw(axis, place, one)
        _label(axis, shown, wide)
        _ticks(axis, low, high, wide)
        axis.axvline(0, color=INK, linewidth=0.9, zorder=1.5)
        meaning = "farther from the ceiling →" if by_share else "slower →"
        label = f"change of time{' over that at the ceiling' if by_share else ''} in per cent, {meaning}"
        axis.set_xlabel(label if wide or not by_share else label.replace("cent, ", "cent,\n"), loc="right")
    return drawn


def _limits(rows: Sequence[JudgedRow]) -> tuple[float, float]:
    """The ends of the axis, as `_place` has them."""
    low = min(_place(min(row.ratio_low, 1 / (1 + row.band))) for row in rows)
    high = max(_place(max(row.ratio_high, 1 + row.band)) for row in rows)
    margin = MARGIN * (high - low)
    return low - margin, high + margin


def _place(ratio: float) -> float:
    """The position on the axis, up to a constant factor."""
    return asinh(log(ratio) / LINEAR)


def _draw(axis: Axes, place: int, lane: Lane) -> None:
    """Band, interval and dot of each row; the number beside the dot of a named one."""
    colour, band = _COLOURS[lane.verdict], log1p(max(row.band for row in lane.rows))
    axis.barh(place, 2 * band, left=-band, height=0.62, color=FAINT, zorder=1)
    if lane.named:
        (row,) = lane.rows
        slower, ends = row.ratio > 1, (log(row.ratio_low), log(row.ratio_high))
        axis.hlines(place, *ends, color=colour, linewidth=2.2, zorder=2)
        axis.annotate(
            percent_text(row.ratio), (ends[slower], place), xytext=(7 if slower else -7, 0), textcoords="offset points",
            va="center", ha="left" if slower else "right", fontsize=8.5, color=INK,
        )  # fmt: skip
    axis.plot(
        [log(row.ratio) for row in lane.rows], [place] * len(lane.rows), linestyle="", zorder=3, color=colour,
        marker=_MARKERS[lane.verdict], markersize=5 if lane.named else 3, alpha=1 if lane.named else 0.6,
        markeredgewidth=0,
    )  # fmt: skip


def _label(axis: Axes, shown: Sequence[Lane], wide: bool) -> None:
    """Names beside the lanes, or above them where there is no room."""
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="y", visible=False)
    if wide:
        axis.set_yticks(range(len(shown)), [fill(one.label, 60) for one in shown], fontsize=8.5, color=INK)
        return
    axis.set_yticks([])
    for place, one in enumerate(shown):
        axis.text(
            0.0, place - 0.38, fill(one.label, 56), transform=axis.get_yaxis_transform(), fontsize=7.5, color=INK,
            va="bottom", linespacing=0.95, bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.4},
        )  # fmt: skip


def _ticks(axis: Axes, low: float, high: float, wide: bool) -> None:
    """Round changes in per cent, as many as fit; 0 is always one."""
    from matplotlib.ticker import NullLocator

    apart = (APART if wide else 2 * APART) * (high - low)
    chosen = [0]
    for tick in sorted(_TICKS, key=lambda change: abs(_tick(change))):
        if 0.9 * low <= _tick(tick) <= 0.9 * high and all(abs(_tick(tick) - _tick(other)) >= apart for other in chosen):
            chosen.append(tick)
    axis.set_xticks([log1p(tick / 100) for tick in chosen], [f"{tick:+d}" if tick else "0" for tick in chosen])
    axis.xaxis.set_minor_locator(NullLocator())


def _tick(change: int) -> float:
    return _place(1 + change / 100)
