"""A history as one HTML page: self-contained, offline, without scripts; a chart per row that changed.

Runs may come from anywhere, so all their text is escaped, and the page forbids itself to load or to run anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbench import __version__
from kernelbench.compare.history import History, Trend
from kernelbench.core.units import time_text
from kernelbench.report import history_text, style
from kernelbench.report.changes_table import percent_text
from kernelbench.report.pages import inline_chart, render_template, write_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CHARTS = 60  # per suite and GPU; further rows stand in the table
WIDTH, HEIGHT = 3.6, 1.7  # inches


def write_history(found: Sequence[History], left_out: Sequence[str], out: Path) -> Path:
    return write_page(out, render(found, left_out))


def render(found: Sequence[History], left_out: Sequence[str]) -> str:
    values = {
        "version": __version__,
        "sections": [_section(one, number) for number, one in enumerate(found)],
        "headers": history_text.HEADERS,
        "run_headers": history_text.RUNS,
        "left_out": left_out,
    }
    return render_template("history.html.j2", values)


def _section(found: History, number: int) -> Mapping[str, Any]:
    labels = history_text.history_labels(found)
    return {
        "title": f"{found.suite} on {found.device}",
        "answer": history_text.history_sentence(found),
        "events": [history_text.event_lines(found, event) for event in found.events],
        "charts": [
            _chart(trend, labels[trend.case], len(found.moments), f"h{number}-{place}")
            for place, trend in enumerate(found.changed[:MOST_CHARTS])
        ],
        "without_chart": max(0, len(found.changed) - MOST_CHARTS),
        "rows": history_text.row_lines(found, [*found.changed, *(one for one in found.trends if not one.steps)]),
        "runs": history_text.history_rows(found),
        "single": found.single,
    }


def _chart(trend: Trend, label: str, runs: int, prefix: str) -> Mapping[str, Any]:
    """The drawing, and what it shows in words."""
    title = f"{trend.implementation} {label}"
    steps = ", ".join(f"{percent_text(step.ratio)} % at run {step.moment + 1}" for step in trend.steps)
    caption = f"{trend.cache}, by {trend.method}: {steps}"
    drawn = inline_chart(style.svg(_figure(trend, runs)), prefix, f"{title}, {caption}")
    return {"title": title, "caption": caption, "drawing": drawn}


def _figure(trend: Trend, runs: int) -> Figure:
    """Median and interval of each run, and the levels between steps as lines."""
    style.load_matplotlib()
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    at = [point.moment + 1 for point in trend.points]
    seconds = [point.seconds for point in trend.points]
    ends = (
        [point.seconds - point.low_s for point in trend.points],
        [point.high_s - point.seconds for point in trend.points],
    )
    with style.new_figure(HEIGHT, WIDTH) as figure:
        axis = figure.subplots()
        axis.errorbar(at, seconds, ends, fmt="o", color=style.SERIES[0], markersize=4, linewidth=1, zorder=3)
        for first, last, level in trend.levels_s:
            axis.plot((first + 0.6, last + 1.4), (level, level), color=style.SERIES[1], linewidth=1.6, zorder=2)
        for step in trend.steps:
            axis.axvline(step.moment + 0.5, color=style.MUTED, linestyle=":", linewidth=1)
        axis.set_xlim(0.4, runs + 0.6)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        axis.yaxis.set_major_locator(MaxNLocator(nbins=4))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: time_text(max(value, 0.0))))
        axis.set_xlabel("run")
    return figure
