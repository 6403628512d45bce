"""Charts over cases: numbers at their true distances and joined by lines, mere names as columns of dots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from kernelbench.compare.comparison import Comparison
from kernelbench.core.records import METHODS
from kernelbench.report import copies, palette, style, view
from kernelbench.report.case_axis import CaseLayout, case_ticks, is_logarithmic, laid_out
from kernelbench.report.palette import Look
from kernelbench.report.style import FAINT, PAPER, SOFT, WIDTH
from kernelbench.runs.results import Run
from kernelbench.runs.row_records import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


NEAR_END = 0.74  # share of the panel's width from which on a line's end is joined to its name
LINE, SIGN = 11.5, 16  # points: height of a name beside a panel, and the way from the panel to its marker
LEAST = 0.9  # inches of a panel, without the names of its cases
APART = 0.6  # width of a column of dots that are side by side
FLOORS = {"events": "floor_s", "graph": "graph_floor_s"}  # limits of a run: times of an empty kernel, by method
NAME_TAKES, NAME_COVERS = 0.25, 0.13  # shares of a low panel's width and height that a floor's name takes
IN_SIGHT = 8  # floors are drawn if one of them is above the least time over this


@dataclass(frozen=True)
class Mark:
    """The number of one implementation on a case."""

    case: str
    name: str
    value: float
    hollow: bool = False


@dataclass(frozen=True)
class PlottedPoint:
    x: float
    mark: Mark
    line: int | None  # of the stretch; None without a line


def time_figure(run: Run, comparison: Comparison, cache: str) -> Figure:
    """Median times: a panel per dtype; hollow by graph, and an empty kernel's time by each method."""
    rows: dict[str, list[Row]] = {}  # by dtype
    for row in copies.with_best_copy(run, view.shown_rows(run, comparison, cache)):
        rows.setdefault(row.dtype, []).append(row)
    names = {row.implementation for of_dtype in rows.values() for row in of_dtype}
    height = max(3.0, 0.165 * len(names) + 1.0)
    looks = palette.looks(run, comparison)
    with style.house_style():
        figure, panels = named_panels(len(rows), height, names)
        drawn = []
        for axis, (dtype, of_dtype) in zip(panels, rows.items(), strict=True):
            layout = laid_out({row.case: row.words for row in of_dtype}, to_scale=True)
            marks = [
                Mark(row.case, row.implementation, view.median_seconds(row), row.method == "graph") for row in of_dtype
            ]
            drawn.append(draw(axis, marks, layout, looks))
            _floor_lines(axis, run, of_dtype, drawn[-1])
            axis.set_title(f"{dtype}, {cache}")
            style.plain_time_axis(axis)
        settle(figure, panels)  # the names go into the free fifth on the right, once the panels have their places
        for axis, places in zip(panels, drawn, strict=True):
            names_beside(axis, names_of(places, looks))
    return figure


def logarithmic_cases(rows: Sequence[Row], cache: str) -> bool:
    """Whether all cases of the panels of `time_figure` lie at logarithmic distances."""
    cases: dict[str, dict[str, Mapping[str, str]]] = {}  # by dtype
    for row in rows:
        if row.cache == cache:
            cases.setdefault(row.dtype, {})[row.case] = row.words
    return all(map(is_logarithmic, cases.values()))


def named_panels(count: int, height: float, names: Sequence[str] | set[str]) -> tuple[Figure, Sequence[Axes]]:
    """A figure of panels, each `height` inches, with room on the right for the names of lines."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    longest = max((len(line) for name in names for line in name.split("\n")), default=0)
    beside = max(0.21, 0.04 + 0.0088 * longest)  # of the width
    figure = Figure(figsize=(WIDTH, height * count), layout=ConstrainedLayoutEngine(rect=(0, 0, 1 - beside, 1)))
    return figure, list(figure.subplots(count, 1, squeeze=False)[:, 0])


def settle(figure: Figure, panels: Sequence[Axes]) -> None:
    """Fix the layout; the figure becomes higher where long names of cases leave too little of a panel."""
    figure.draw_without_rendering()
    height = figure.get_figheight()
    lacking = LEAST - height * min(panel.get_position().height for panel in panels)
    figure.set_figheight(height + max(0.0, lacking) * len(panels))
    style.fix_layout(figure)


def draw(axis: Axes, marks: Sequence[Mark], layout: CaseLayout, looks: Mapping[str, Look]) -> list[PlottedPoint]:
    """Draw a line per name, and the cases below; where the marks stand, from left to right."""
    names = list(dict.fromkeys(mark.name for mark in marks))
    places = []
    for mark in marks:
        line = layout.line_of(mark.case)
        aside = APART * ((names.index(mark.name) + 0.5) / len(names) - 0.5)  # dots of a column stand side by side
        places.append(PlottedPoint(layout.x[mark.case] + (aside if line is None else 0.0), mark, line))
    places.sort(key=lambda place: place.x)
    for name in names:
        _draw_name(axis, name, [place for place in places if place.mark.name == name], looks[name])
    axis.set_xlim(-0.5, layout.right + 0.5)
    case_ticks(axis, layout)
    return places


def _draw_name(axis: Axes, name: str, places: Sequence[PlottedPoint], look: Look) -> None:
    """A line, broken where a stretch ends, and its markers; a yardstick is dashed, or a stroke in each column."""
    above = 4 if look.yardstick else 3 if look.highlighted else 2
    joined: list[tuple[float, float]] = []
    for left, right in pairwise(places):
        if left.line is not None and left.line == right.line:
            joined += [(left.x, left.mark.value), (right.x, right.mark.value), (float("nan"), float("nan"))]
    if joined:
        width, style_of_line = (1.8 if look.highlighted else 0.9), "--" if look.yardstick else "-"
        axis.plot(
            *zip(*joined, strict=True),
            color=look.colour,
            linewidth=width,
            linestyle=style_of_line,
            zorder=above,
            label=name,
        )
    shown = [place for place in places if place.line is None] if look.yardstick else places
    for hollow in (False, True):
        points = [(place.x, place.mark.value) for place in shown if place.mark.hollow == hollow]
        if points:
            axis.plot(
                *zip(*points, strict=True), linestyle="", color=look.colour, zorder=above + 0.5, label=name,
                marker=look.sign,
                markersize=14 if look.yardstick else 4.8 if look.highlighted else 3.6,
                markerfacecolor=PAPER if hollow else look.colour,
                markeredgecolor=look.colour if hollow or look.yardstick else PAPER,
                markeredgewidth=1.2 if look.yardstick else 0.9 if hollow else 0.4,
            )  # fmt: skip


def _floor_lines(axis: Axes, run: Run, rows: Sequence[Row], places: Sequence[PlottedPoint]) -> None:
    """The time of an empty kernel by each method, where one is within sight of the times shown; its name stands at the
    end where it covers fewer points."""
    limits = run.environment.get("limits") or {}
    floors = {method: limits[key] for method in METHODS if limits.get(key := FLOORS[method])}
    least = min(view.median_seconds(row) for row in rows)
    if not any(floor > least / IN_SIGHT for floor in floors.values()):
        return
    shown = [*floors.values(), *(place.mark.value for place in places)]
    covers = max(2.0, (max(shown) / min(shown)) ** NAME_COVERS)  # from the floor up
    for method, floor in floors.items():
        axis.axhline(floor, color=SOFT, linestyle=":", linewidth=1.2, zorder=1, label="_")
        left, right = axis.get_xlim()
        beside = [(place.x - left) / (right - left) for place in places if 1 <= place.mark.value / floor <= covers]
        at_left = sum(x < NAME_TAKES for x in beside) < sum(x > 1 - NAME_TAKES for x in beside)
        axis.annotate(
            f"empty kernel, by {method}", (0.005 if at_left else 0.995, floor), xycoords=("axes fraction", "data"),
            xytext=(0, 3), textcoords="offset points", ha="left" if at_left else "right", fontsize=8, color=SOFT,
        )  # fmt: skip


@dataclass(frozen=True)
class Name:
    """A text beside a panel: it belongs to a point, and would best stand at the height of `wanted`. `x` is NaN for one
    that no line leads to."""

    text: str
    x: float
    y: float
    wanted: float
    colour: str
    marker: str
    bold: bool = False


def names_of(drawn: Sequence[PlottedPoint], looks: Mapping[str, Look]) -> list[Name]:
    """A name per line, near where the line leads."""
    ends = {place.mark.name: place for place in drawn}
    wanted = _expected_ends(drawn)
    return [
        Name(
            name, end.x if end.line is not None else float("nan"), end.mark.value, wanted[name], look.text_colour,
            look.sign, look.highlighted,
        )
        for name, end in ends.items()
        for look in [looks[name]]
    ]  # fmt: skip


def names_beside(axis: Axes, names: Sequence[Name]) -> None:
    """Write names to the right of the panel, moved apart where they would overlap; those of points near its right end
    are joined to them."""
    box, dpi = axis.get_window_extent(), axis.figure.dpi
    heights = [axis.transData.transform((1, name.wanted))[1] for name in names]
    step = LINE * max((name.text.count("\n") + 1 for name in names), default=1)
    for name, height in zip(names, spaced(heights, step * dpi / 72, box.y0, box.y1), strict=True):
        reaches = axis.transData.transform((name.x, name.y))[0] > box.x0 + NEAR_END * (box.x1 - box.x0)
        up, right = (height - box.y0) / (box.y1 - box.y0), (box.x1 - box.x0) / dpi * 72
        axis.plot(
            1 + SIGN / right, up, name.marker, color=name.colour, transform=axis.transAxes, clip_on=False,
            markersize=4.5, label="_",
        )  # fmt: skip
        axis.annotate(
            name.text,
            xy=(name.x, name.y),
            xytext=(right + SIGN + 6, (height - box.y0) / dpi * 72),
            textcoords="axes points",
            va="center",
            fontsize=8.5,
            fontweight="bold" if name.bold else "normal",
            color=name.colour,
            annotation_clip=False,
            # From a line that ends early, the arrow would cross all others.
            arrowprops={
                "arrowstyle": "-", "linewidth": 0.7 if name.bold else 0.5, "relpos": (0, 0.5),
                "color": name.colour if name.bold else FAINT, "shrinkA": 10, "shrinkB": 4,
            } if reaches else None,
        )  # fmt: skip


def _expected_ends(drawn: Sequence[PlottedPoint]) -> dict[str, float]:
    """The value at which each line ends in the last case; for one that stops earlier, where it would by its usual
    distance from the others."""
    by_case: dict[str, dict[str, float]] = {}
    for place in drawn:
        by_case.setdefault(place.mark.case, {})[place.mark.name] = place.mark.value
    typical = {case: median(values.values()) for case, values in by_case.items()}
    relative: dict[str, list[float]] = {}
    for case, values in by_case.items():
        for name, value in values.items():
            relative.setdefault(name, []).append(value / typical[case])
    last = list(by_case)[-1]
    return {name: median(ratios) * typical[last] for name, ratios in relative.items()} | by_case[last]


def spaced(wanted: Sequence[float], step: float, low: float, high: float) -> list[float]:
    """Places as near to `wanted` as may be, at least `step` apart, and between low and high while there is room."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    step = min(step, (high - low) / max(len(wanted) - 1, 1))
    places = [0.0] * len(wanted)
    at = low - step
    for index in order:
        at = places[index] = max(wanted[index], at + step)
    at = high + step
    for index in reversed(order):
        at = places[index] = min(places[index], at - step)
    return places
