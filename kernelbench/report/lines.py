"""The chart of times by size: a line per implementation, named at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2
from statistics import median
from typing import TYPE_CHECKING

from kernelbench.compare.comparison import Comparison
from kernelbench.report import copies, style, view
from kernelbench.report.case_axis import laid_out, ticks
from kernelbench.report.style import FAINT, INK, MARKERS, MUTED, PAPER, SOFT, WIDTH
from kernelbench.report.view import Words, number_text
from kernelbench.runs.records import Row
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Shares of a panel's width: of a character in a tick's label, and the distance below which two ticks are one.
LABEL_WIDTH = 0.0135
SAME_PLACE = 0.012
NEAR_END = 0.85  # share of the panel's width from which on a line's end is joined to its name


@dataclass(frozen=True)
class Places:
    """Where the cases of a panel lie on its horizontal axis."""

    x: Mapping[str, float]  # by case
    line: Mapping[str, int | None]  # stretch by case: lines go on within one only; None without a line


def time_figure(run: Run, comparison: Comparison, cache: str) -> Figure:
    """Median times: a panel per dtype, a line per implementation, named at its end."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    rows: dict[str, list[Row]] = {}  # by dtype
    for row in copies.with_best_copy(run, view.shown_rows(run, comparison, cache)):
        rows.setdefault(row.dtype, []).append(row)
    names = {row.implementation for of_dtype in rows.values() for row in of_dtype}
    colours = style.colours(view.highlights(run, comparison))
    height = max(3.4, 0.165 * len(names) + 1.0)
    beside = max(0.21, 0.0098 * max(map(len, names)))  # of the width, for the names
    with style.settings():
        figure = Figure(figsize=(WIDTH, height * len(rows)), layout=ConstrainedLayoutEngine(rect=(0, 0, 1 - beside, 1)))
        panels = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
        for axis, (dtype, of_dtype) in zip(panels, rows.items(), strict=True):
            placed = _places(axis, {row.case: row.words for row in of_dtype})
            _panel(axis, of_dtype, placed, colours)
            _floor_line(axis, run, of_dtype)
            axis.set_title(f"{dtype}, {cache}")
            style.plain_time_axis(axis)
        # The names go into the free fifth on the right, once the panels have their places.
        style.settle(figure)
        for axis, of_dtype in zip(panels, rows.values(), strict=True):
            _name_lines(axis, of_dtype)
    return figure


def _panel(axis: Axes, rows: Sequence[Row], places: Places, colours: Mapping[str, str]) -> None:
    nowhere = float("nan")
    joined = any(line is not None for line in places.line.values())
    for index, name in enumerate(dict.fromkeys(row.implementation for row in rows)):
        of_name = [row for row in rows if row.implementation == name]
        yardstick = any(row.role == "yardstick" for row in of_name)
        points: list[tuple[float, float]] = []
        last: int | None = None
        for x, case, seconds in sorted((places.x[row.case], row.case, view.seconds(row)) for row in of_name):
            line = places.line[case]
            if points and (line is None or line != last):
                points.append((nowhere, nowhere))
            points.append((x, seconds))
            last = line
        axis.plot(
            *zip(*points, strict=True),
            color=INK if yardstick else colours.get(name, MUTED),
            linewidth=1.8 if name in colours else 0.9,
            linestyle="--" if yardstick else "-",
            marker=("" if joined else "_") if yardstick else MARKERS[index % len(MARKERS)],
            markersize=14 if yardstick else 4.5 if name in colours else 3.2,
            markeredgecolor=INK if yardstick else PAPER,
            markeredgewidth=1.2 if yardstick else 0.4,
            zorder=4 if yardstick else 3 if name in colours else 2,
            label=name,
        )


def _places(axis: Axes, cases: Mapping[str, Words]) -> Places:
    """At their sizes, where they differ in that alone; else side by side in the suite's order."""
    layout = laid_out(cases)
    only = layout.stretches[0]
    if len(layout.stretches) == 1 and only.numbers is not None and only.numbers[0] > 0:
        axis.set_xscale("log", base=2)
        _size_ticks(axis, only.numbers, [number_text(value) for value in only.values])
        axis.set_xlabel(only.along)
        return Places(dict(zip(only.cases, only.numbers, strict=True)), dict.fromkeys(cases, 0))
    ticks(axis, layout)
    return Places(layout.x, {case: layout.line_of(case) for case in cases})


def _size_ticks(axis: Axes, sizes: Sequence[float], texts: Sequence[str]) -> None:
    """A tick per size on a logarithmic axis; labels are turned where they would run into each other, and
    one is left out where two would lie on top of each other."""
    span = log2(sizes[-1] / sizes[0]) or 1.0
    shown: list[float] = []
    for size in sizes:
        if not shown or log2(size / shown[-1]) / span > SAME_PLACE:
            shown.append(size)
    gaps = [log2(right / left) / span for left, right in pairwise(shown)]
    turned = bool(gaps) and min(gaps) < LABEL_WIDTH * max(map(len, texts))
    labels = [text if size in shown else "" for size, text in zip(sizes, texts, strict=True)]
    axis.set_xticks(sizes, labels, minor=False)
    axis.set_xticks([], minor=True)
    if turned:
        axis.tick_params(axis="x", rotation=60)


def _floor_line(axis: Axes, run: Run, rows: Sequence[Row]) -> None:
    """The time of an empty kernel, where it is within sight of the times shown."""
    limits = run.environment.get("limits") or {}
    graph = all(row.method == "graph" for row in rows)
    floor = limits.get("graph_floor_s" if graph else "floor_s")
    if floor and floor > min(view.seconds(row) for row in rows) / 8:
        axis.axhline(floor, color=SOFT, linestyle=":", linewidth=1.2, zorder=1, label="_floor")
        axis.annotate(
            "empty kernel", (0.995, floor), xycoords=("axes fraction", "data"), xytext=(0, 3),
            textcoords="offset points", ha="right", fontsize=8, color=SOFT,
        )  # fmt: skip


def _name_lines(axis: Axes, rows: Sequence[Row]) -> None:
    """Names to the right of the panel, each near where its line leads, moved apart where they would overlap."""
    import numpy as np

    lines = [line for line in axis.lines if not str(line.get_label()).startswith("_")]
    box, dpi = axis.get_window_extent(), axis.figure.dpi
    ends = _expected_ends(rows)
    heights = [axis.transData.transform((1, ends[str(line.get_label())]))[1] for line in lines]
    places = spread(heights, 11.5 * dpi / 72, box.y0, box.y1)
    for line, place in zip(lines, places, strict=True):
        colour, points = line.get_color(), np.asarray(line.get_xydata())
        highlighted = colour not in (INK, MUTED)
        reaches = axis.transData.transform(points[-1])[0] > box.x0 + NEAR_END * (box.x1 - box.x0)
        axis.annotate(
            str(line.get_label()),
            xy=(points[-1, 0], points[-1, 1]),
            xytext=((box.x1 - box.x0 + 16 * dpi / 72) / dpi * 72, (place - box.y0) / dpi * 72),
            textcoords="axes points",
            va="center",
            fontsize=8.5,
            fontweight="bold" if highlighted else "normal",
            color=SOFT if colour == MUTED else colour,
            annotation_clip=False,
            # From a line that ends early, the arrow would cross all others.
            arrowprops={
                "arrowstyle": "-", "linewidth": 0.7 if highlighted else 0.5, "relpos": (0, 0.5),
                "color": colour if highlighted else FAINT, "shrinkA": 0, "shrinkB": 4,
            } if reaches else None,
        )  # fmt: skip


def _expected_ends(rows: Sequence[Row]) -> dict[str, float]:
    """Seconds at which each line ends in the last case; for one that stops earlier, where it would by its
    usual distance from the others."""
    by_case: dict[str, list[float]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(view.seconds(row))
    typical = {case: median(times) for case, times in by_case.items()}
    relative: dict[str, list[float]] = {}
    for row in rows:
        relative.setdefault(row.implementation, []).append(view.seconds(row) / typical[row.case])
    last = list(typical)[-1]
    usual = {name: median(ratios) * typical[last] for name, ratios in relative.items()}
    return usual | {row.implementation: view.seconds(row) for row in rows if row.case == last}


def spread(wanted: Sequence[float], step: float, low: float, high: float) -> list[float]:
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
