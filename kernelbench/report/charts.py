"""Charts of a run (matplotlib, no window): time by size, speed-ups beside published ones, share of the ceiling;
of a run of the simulator: what it counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbench.report import counts, step, style, view
from kernelbench.report.bars import speedup_figure
from kernelbench.report.heat import ceiling_figure
from kernelbench.report.lines import time_figure
from kernelbench.steps import sum_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from kernelbench.results import Run


@dataclass(frozen=True)
class Chart:
    """A figure with its file name and what it shows in words."""

    name: str
    title: str
    caption: str
    figure: Figure

    @cached_property
    def svg(self) -> str:
        """The figure as an SVG document; drawn once, for the file and for the page."""
        return style.svg(self.figure)


def all_charts(run: Run, comparison: pandas.DataFrame) -> list[Chart]:
    """Every chart that the run has data for; of a step, whose parts have no axis in common, that of its sums."""
    if summed := sum_of(run):
        caption = "All calls of all parts together, by operation. No bar where a part of it is missing."
        return [Chart("step", step.title(summed), caption, step.figure(summed))]
    rows = view.shown_rows(run.rows, view.shown_methods(run.rows, comparison))
    charts = []
    for cache in _caches(rows):
        title = f"Time by size, {cache}"
        caption = "Median time; both axes logarithmic. Dashed: the copy, a yardstick. Dotted: an empty kernel."
        charts.append(Chart(f"time-{cache}", title, caption, time_figure(run, comparison, cache)))
    for cache in _caches(comparison[comparison["speedup"].notna()]):
        title = f"Speed-up over {view.baselines(comparison)}, {cache}"
        caption = (
            "Bars: measured here, with the 95 % interval. Hatched: published, on the GPU that the figures are from."
        )
        charts.append(Chart(f"speedup-{cache}", title, caption, speedup_figure(run, comparison, cache)))
    if rows["share_of_ceiling"].notna().any():
        caption = "Least traffic over time, in per cent of the bandwidth of the best copy in this run; cold."
        charts.append(Chart("ceiling", "Share of the ceiling", caption, ceiling_figure(run, comparison)))
    charts += [Chart(shown.name, shown.title, shown.caption, figure) for shown, figure in counts.charts(run)]
    return charts


def _caches(table: pandas.DataFrame) -> list[str]:
    """The cache states in a table, out of the two there are: they become names of files."""
    return [cache for cache in ("cold", "warm") if (table["cache"] == cache).any()]


def write_charts(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Write charts as PNG and SVG into `folder`; the same data give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for chart in charts:
        png, svg = folder / f"{chart.name}.png", folder / f"{chart.name}.svg"
        png.write_bytes(style.png(chart.figure))
        svg.write_text(chart.svg, encoding="utf-8")
        paths += [png, svg]
    return paths
