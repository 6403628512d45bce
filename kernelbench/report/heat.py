"""Tables whose cells are coloured by their number: shares of the ceiling, counts of the simulator."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from statistics import median
from typing import TYPE_CHECKING

from kernelbench.compare.comparison import Comparison
from kernelbench.report import style, view
from kernelbench.report.case_axis import case_stretches, case_ticks, laid_out
from kernelbench.report.style import FAINT, HEAT, INK, PAPER, SOFT
from kernelbench.report.view import Words
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CASES = 24  # numbers of more cases side by side cannot be read
MISSING = "n/a"


@dataclass(frozen=True)
class Cell:
    case: str
    name: str  # of the implementation
    text: str
    strength: float  # of its colour, 0 to 1


@dataclass(frozen=True)
class HeatPanel:
    title: str
    cases: Mapping[str, Words]  # in the order of the columns
    cells: Sequence[Cell]


def ceiling_figure(run: Run, comparison: Comparison) -> Figure:
    """A heat table of per cent of the ceiling: implementations by cases, a panel per dtype."""
    words, cells = view.words_by_case(run), dict[str, list[Cell]]()
    shares: dict[str, list[float]] = {}
    for row in view.shown_rows(run, comparison):
        if (share := row.share_of_ceiling) is not None:
            cell = Cell(row.case, row.implementation, _per_cent(share), min(share, 1.0) ** 1.5)
            cells.setdefault(row.dtype, []).append(cell)
            shares.setdefault(row.implementation, []).append(share)
    names = sorted(sorted(shares), key=lambda name: -median(shares[name]))
    cited = (row.implementation for row in comparison if row.published_speedup is not None)
    panels = [
        HeatPanel(f"{dtype}, cold, % of the ceiling", {cell.case: words[cell.case] for cell in of_dtype}, of_dtype)
        for dtype, of_dtype in cells.items()
    ]
    return heat_figure(panels, names, {*(row.baseline for row in comparison), *cited})


def _per_cent(share: float) -> str:
    """Whole per cent; one decimal below 1 %."""
    return f"{100 * share:.0f}" if share >= 0.0095 else f"{100 * share:.1f}" if share >= 0.0005 else "<0.1"


def heat_figure(panels: Sequence[HeatPanel], names: Sequence[str], bold: Collection[str] = ()) -> Figure:
    """Panels from top to bottom; `names` are the rows of each, `bold` those that stand out."""
    panels = [part for panel in panels for part in _parts(panel)]
    height = 0.23 * len(names) + 1.3
    with style.new_figure(height * len(panels)) as figure:
        axes = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
        for axis, panel in zip(axes, panels, strict=True):
            _heat_panel(axis, panel, names, bold)
            axis.set_title(panel.title, pad=8)
    return figure


def _parts(panel: HeatPanel) -> list[HeatPanel]:
    """Cut the panel into as few parts as can be read; between two stretches if one ends nearby."""
    number = -(-len(panel.cases) // CASES)
    if number == 1:
        return [panel]
    ends = list(accumulate(len(one.cases) for one in case_stretches(view.case_words(panel.cases))))
    cuts = [0, *(_near(len(panel.cases) * part // number, ends) for part in range(1, number)), len(panel.cases)]
    parts = []
    for start, end in pairwise(cuts):
        cases = dict(islice(panel.cases.items(), start, end))
        title = panel.title + (", continued" if start else "")
        parts.append(HeatPanel(title, cases, [cell for cell in panel.cells if cell.case in cases]))
    return parts


def _near(place: int, ends: Sequence[int]) -> int:
    nearest = min(ends, key=lambda end: abs(end - place))
    return nearest if abs(nearest - place) <= CASES // 4 else place


def _heat_panel(axis: Axes, panel: HeatPanel, names: Sequence[str], bold: Collection[str]) -> None:
    """Cells of one colour, the stronger the larger the share: opacity works on white and on black. Hatched cells have
    no number."""
    from matplotlib.patches import Rectangle

    layout = laid_out(panel.cases)
    known = {(cell.name, cell.case): cell for cell in panel.cells}
    for y, name in enumerate(names):
        for case, x in layout.x.items():
            cell = known.get((name, case))
            patch = Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, linewidth=0, clip_on=False)
            if cell:
                patch.set(facecolor=HEAT, alpha=0.04 + 0.56 * cell.strength)
            else:
                patch.set(facecolor=PAPER, edgecolor=FAINT, hatch="////")
            axis.add_patch(patch)
            axis.text(
                x, y, cell.text if cell else MISSING, ha="center", va="center", color=INK if cell else SOFT,
                fontsize=8 if len(panel.cases) <= 16 else 6.5,
            )  # fmt: skip
    axis.set_xlim(-0.5, layout.right + 0.5)
    axis.set_ylim(len(names) - 0.5, -0.5)
    case_ticks(axis, layout)
    axis.set_yticks(range(len(names)), names, fontsize=8.5)
    for tick in axis.get_yticklabels():
        if tick.get_text() in bold:
            tick.set(fontweight="bold", color=INK)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    for spine in axis.spines.values():
        spine.set_visible(False)
