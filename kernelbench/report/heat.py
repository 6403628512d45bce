"""The chart of shares of the ceiling: a table whose cells are coloured by their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelbench.report import style, view
from kernelbench.report.style import INK, SERIES, WIDTH

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kernelbench.results import Run


def ceiling_figure(run: Run, comparison: pandas.DataFrame) -> Figure:
    """A heat table: implementations by cases, per cent of the best copy's bandwidth; a panel a dtype."""
    from matplotlib.figure import Figure

    rows = view.shown_rows(run.rows, view.shown_methods(run.rows, comparison))
    rows = rows[rows["share_of_ceiling"].notna()]
    names = rows.groupby("implementation")["share_of_ceiling"].median().sort_values(ascending=False).index.tolist()
    dtypes = list(dict.fromkeys(rows["dtype"]))
    bold = {*comparison["baseline"], *comparison[comparison["published_speedup"].notna()]["implementation"]}
    height = 0.23 * len(names) + 1.1
    with style.settings():
        figure = Figure(figsize=(WIDTH, height * len(dtypes)), layout="constrained")
        panels = figure.subplots(len(dtypes), 1, squeeze=False)[:, 0]
        for axis, dtype in zip(panels, dtypes, strict=True):
            _heat_panel(axis, rows[rows["dtype"] == dtype], names, bold)
            axis.set_title(f"{dtype}, cold, % of the best copy", pad=8)
        style.settle(figure)
    return figure


def _heat_panel(axis: Axes, rows: pandas.DataFrame, names: Sequence[str], bold: set[str]) -> None:
    """Cells of one colour, the stronger the larger the share: opacity works on white and on black."""
    from matplotlib.patches import Rectangle

    cases = list(dict.fromkeys(rows["case"]))
    labels = view.case_labels(cases)
    for row in view.records(rows):
        x, y = cases.index(row["case"]), names.index(row["implementation"])
        share = row["share_of_ceiling"]
        strength = 0.04 + 0.56 * min(share, 1.0) ** 1.5
        axis.add_patch(
            Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, facecolor=SERIES[0], alpha=strength, linewidth=0, clip_on=False)
        )
        axis.text(x, y, f"{100 * share:.0f}", ha="center", va="center", fontsize=8 if len(cases) <= 16 else 6.5)
    axis.set_xlim(-0.5, len(cases) - 0.5)
    axis.set_ylim(len(names) - 0.5, -0.5)
    style.case_ticks(axis, [labels[case] for case in cases])
    axis.set_yticks(range(len(names)), names, fontsize=8.5)
    for tick in axis.get_yticklabels():
        if tick.get_text() in bold:
            tick.set(fontweight="bold", color=INK)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    for spine in axis.spines.values():
        spine.set_visible(False)
