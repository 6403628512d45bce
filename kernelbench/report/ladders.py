"""Ladders, for claims about an order: the steps from top to bottom, and how many times as fast each makes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING

from kernelbench.compare.comparison import Comparison
from kernelbench.compare.ledger import published_figures
from kernelbench.core.records import Claim
from kernelbench.core.units import time_column
from kernelbench.explain.evidence import has_parameters
from kernelbench.report import style, view
from kernelbench.report.palette import Look
from kernelbench.report.style import BAD, FAINT, INK, MUTED, PAPER, SOFT
from kernelbench.report.view import number_text
from kernelbench.runs.results import Run
from kernelbench.runs.row_records import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = 3  # fewest in a ladder
CASES = 9  # most that are shown
ACROSS = 3  # panels beside one another
TITLE = 32  # characters per line of a panel's title
LEVEL = 0.99  # a step that makes it slower than this stands out


@dataclass(frozen=True)
class LadderPanel:
    """Seconds of each step that has a time, by name."""

    title: str
    times: Mapping[str, float]
    published: bool = False


@dataclass(frozen=True)
class Ladder:
    """Implementations in a published order, and the claims that state it or its beginning."""

    order: Sequence[str]
    claims: Sequence[Claim]


def published_ladders(run: Run, claims: Sequence[Claim]) -> list[Ladder]:
    """The published orders of three and more of the run's implementations; one that begins another is part of it."""
    present = {row.implementation for row in run.rows}
    orders = {
        claim.id: tuple(claim.document["claim"]["order"])
        for claim in claims
        if claim.kind == "order" and present >= set(claim.document["claim"]["order"])
    }
    found: list[Ladder] = []
    for order in sorted(set(orders.values()), key=lambda one: (-len(one), one)):
        if len(order) >= STEPS and not any(tuple(one.order[: len(order)]) == order for one in found):
            about = [one for one in claims if one.id in orders and order[: len(orders[one.id])] == orders[one.id]]
            found.append(Ladder(order, about))
    return found


def ladder_panels(run: Run, comparison: Comparison, ladder: Ladder) -> tuple[list[LadderPanel], int]:
    """Published times, then cases measured with the L2 cleared; and how many of these are not near the floor."""
    rows = _of_one_method([row for row in run.rows if row.implementation in ladder.order], run, comparison)
    above = {row.case for row in rows if not row.floor_limited}  # steps do not show near the time of an empty kernel
    times: dict[str, dict[str, float]] = {}
    for row in rows:
        if (row.case in above or not above) and any(_is_about(claim, row) for claim in ladder.claims):
            times.setdefault(row.case, {})[row.implementation] = view.median_seconds(row)
    times = {case: of_case for case, of_case in times.items() if len(of_case) >= STEPS}
    labels = view.case_labels({row.case: row.words for row in rows if row.case in times}, number_text)
    chosen = _chosen(list(times))
    measured = [LadderPanel(labels[case], times[case]) for case in chosen]
    return [*_published(ladder, run), *measured], len(times)


def _of_one_method(rows: Sequence[Row], run: Run, comparison: Comparison) -> list[Row]:
    """The cold times of each case by one method: the one that more steps have, else the one that other charts show."""
    timed = [row for row in rows if row.status == "ok" and row.cache == "cold"]
    steps = Counter((row.case, row.method) for row in timed)
    shown = view.shown_methods(run.rows, comparison)
    best = {
        case: max((steps[case, method], method == shown[case, "cold"], method) for method in ("events", "graph"))[-1]
        for case in {row.case for row in timed}
    }
    return [row for row in timed if row.method == best[row.case]]


def _is_about(claim: Claim, row: Row) -> bool:
    """Whether a claim concerns a case. A claim about another operation lends its order only."""
    stated = claim.document["claim"]
    if claim.document["operation"] != row.operation:
        return True
    return (
        row.dtype in stated.get("dtypes", [row.dtype])
        and row.shape[row.axis] >= stated.get("from_columns", 0)
        and has_parameters(row.words, stated.get("parameters", {}))
    )


def _chosen(cases: Sequence[str]) -> list[str]:
    """As many as a figure has room for, spread evenly, the last among them."""
    if len(cases) <= CASES:
        return list(cases)
    return [cases[round(index * (len(cases) - 1) / (CASES - 1))] for index in range(CASES)]


def _published(ladder: Ladder, run: Run) -> list[LadderPanel]:
    """A panel per shape and GPU that figures of these steps are from."""
    operations = {row.operation for row in run.rows}
    found: dict[str, dict[str, float]] = {}
    for figure in (figure for claim in ladder.claims for figure in published_figures(claim)):
        if figure.seconds is None or figure.implementation not in ladder.order or figure.operation not in operations:
            continue
        where = f"on {figure.device}" if figure.device and not figure.device.startswith("not ") else "GPU not stated"
        shape = f", {number_text('x'.join(map(str, figure.shape)))}" if figure.shape else ""
        found.setdefault(f"published, {where}{shape}", {})[figure.implementation] = figure.seconds
    return [LadderPanel(title, times, published=True) for title, times in found.items() if len(times) >= STEPS]


def ladder_figure(ladder: Ladder, shown: Sequence[LadderPanel], looks: Mapping[str, Look]) -> Figure:
    """A panel per case: bars of time in the published order, with the factor of each step."""
    across = min(ACROSS, len(shown))
    down = ceil(len(shown) / across)
    with style.new_figure((0.19 * len(ladder.order) + 0.5) * down) as figure:
        grid = figure.subplots(down, across, squeeze=False)
        for number, axis in enumerate(grid.flat):
            if number >= len(shown):
                axis.set_visible(False)
                continue
            _panel(axis, shown[number], ladder.order, looks, named=number % across == 0)
    return figure


def _panel(axis: Axes, panel: LadderPanel, order: Sequence[str], looks: Mapping[str, Look], named: bool) -> None:
    before: float | None = None
    longest, time_text = max(panel.times.values()), time_column(panel.times.values())
    for place, name in enumerate(order):
        time = panel.times.get(name)
        if time is None:
            axis.annotate(
                "n/a", (0, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=7, color=SOFT
            )
            continue
        if panel.published:
            axis.barh(place, time, 0.66, facecolor=PAPER, edgecolor=MUTED, hatch="////")
        else:
            axis.barh(place, time, 0.66, color=looks[name].colour)
        axis.annotate(
            time_text(time), (time, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=7,
            color=SOFT,
        )  # fmt: skip
        if before is not None:
            factor = before / time
            axis.annotate(
                view.ratio_text(factor), (1, place), xycoords=("axes fraction", "data"), ha="right", va="center",
                fontsize=7.5, fontweight="bold", color=BAD if factor < LEVEL else INK,
            )  # fmt: skip
        before = time
    axis.set_xlim(0, 1.62 * longest)
    axis.set_ylim(len(order) - 0.4, -0.6)
    axis.set_xticks([])
    axis.set_yticks(range(len(order)), order if named else [], fontsize=7.5)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines["bottom"].set_visible(False)
    axis.spines["left"].set_color(FAINT)
    axis.set_title("\n".join(wrap(panel.title, TITLE)), fontsize=8.5)
