"""The sum of a step: its table for terminal and page, and its chart. A step with a missing part has no sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernelbench.compare.step_sums import FUSED, SIDES, UNFUSED, Amount, PartAmount, StepSum
from kernelbench.core.operations import key_words
from kernelbench.core.units import bytes_text, time_column, time_text
from kernelbench.report import style, view
from kernelbench.report.style import INK, PAPER, SOFT
from kernelbench.report.tables import RIGHT, new_table, table_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import RenderableType

HEADERS = ("part", "case", "calls", "unfused", "one call", "fused", "one call", "per step, unfused", "fused")
NUMBERS = (2, 4, 6, 7, 8)  # columns of HEADERS that are aligned right
SPARE = (1, 3, 4, 5, 6)  # columns that narrow windows leave out
NO_SUM = "no sum"


def title(summed: StepSum) -> str:
    if summed.unit == "B":
        return "Bytes per step, all global accesses as the simulator counts them"
    return "Time per step, every call with the L2 cleared"


def amount_text(summed: StepSum, amount: Amount | None) -> str:
    if amount is None:
        return ""
    return time_text(amount.value) if summed.unit == "s" else bytes_text(amount.value)


def _column(summed: StepSum) -> Callable[[Amount | None], str]:
    """How the amounts of the table are written: times all in one unit."""
    if summed.unit != "s":
        return lambda amount: amount_text(summed, amount)
    time = time_column(amount.value for one in summed.parts for amount in one.amounts.values() if amount)
    return lambda amount: time(amount.value if amount else None)


def part_rows(summed: StepSum) -> list[tuple[str, ...]]:
    """Cells by HEADERS, a line per part: '-' if it was not measured, empty on a side without that part."""
    written, found = _column(summed), []
    for one in summed.parts:
        part, words = one.part, key_words(one.part.case)  # a stopped run may have no row of it
        case = " ".join((part.operation, words["shape"], words["dtype"]))
        calls = {side: written(one.amounts[side]) or "-" if side in one.amounts else "" for side in SIDES}
        steps = [written(one.total(side)) or "-" if side in one.amounts else "" for side in SIDES]
        names = (part.unfused, calls[UNFUSED], part.fused, calls[FUSED])
        found.append((part.name, case, str(part.calls), *names, *steps))
    return found


def totals(summed: StepSum) -> tuple[str, ...]:
    """The last line: both sums, `no sum` if a part is missing."""
    calls = str(sum(one.part.calls for one in summed.parts))
    sums = [_column(summed)(summed.total(side)) or NO_SUM for side in SIDES]
    return ("a step", "", calls, "", "", "", "", *sums)


def remarks(summed: StepSum) -> list[str]:
    """What the sums say, why there is none, and what they leave out."""
    found = []
    if ratio := summed.ratio:
        timed = summed.unit == "s"
        takes, much = ("takes", "as long") if timed else ("moves", "as many bytes")
        interval = f", 95 % interval {view.shown_ratio(ratio.low)} to {view.shown_ratio(ratio.high)}" if timed else ""
        found.append(f"Unfused, a step {takes} {view.shown_ratio(ratio.value)} times {much} as fused{interval}.")
    for side in SIDES:
        if missing := summed.missing(side):
            found.append(f"No sum of the {side} step, because parts are missing: {'; '.join(missing)}.")
    return [*found, f"Left out: {summed.leaves_out}"]


# ---- Terminal ------------------------------------------------------------------------------------


def table(summed: StepSum) -> RenderableType:
    """The parts, two lines each, then their sums and the remarks."""
    from rich.console import Group
    from rich.text import Text

    headers = ("calls", "unfused\none call", "fused\none call", "unfused\nper step", "fused\nper step")
    shown = new_table(title(summed), [("part", {"max_width": 38}), *table_columns(RIGHT, *headers)])
    for name, case, calls, unfused, unfused_call, fused, fused_call, *sums in part_rows(summed):
        shown.add((name, "bold"), calls, unfused, fused)
        shown.add(f"  {case}", "", unfused_call, fused_call, *sums)
    shown.add_section()
    name, _, calls, *_, unfused, fused = totals(summed)
    shown.add(*((cell, "bold") for cell in (name, calls, "", "", unfused, fused)))
    return Group(shown, *(Text(remark, "dim") for remark in remarks(summed)), Text(""))


# ---- Page ----------------------------------------------------------------------------------------


def section(summed: StepSum | None) -> dict[str, Any] | None:
    """The step as the template needs it; None if the run is not of a step."""
    if summed is None:
        return None
    return {
        "title": title(summed),
        "headers": HEADERS,
        "classes": [
            f"{'n' if place in NUMBERS else 'name'}{' spare' if place in SPARE else ''}"
            for place in range(len(HEADERS))
        ],
        "lines": [*part_rows(summed), totals(summed)],
        "remarks": remarks(summed),
    }


# ---- Chart ---------------------------------------------------------------------------------------


def figure(summed: StepSum) -> Figure:
    """A bar per side, stacked from its parts; the words `no sum` where a part is missing."""
    parts = _shown_parts(summed)
    with style.new_figure(2.6) as drawn:
        axis = drawn.subplots()
        for place, side in enumerate(SIDES):
            total = summed.total(side)
            if total is None:
                axis.annotate(NO_SUM, (0, place), xytext=(4, 0), textcoords="offset points", va="center", color=SOFT)
                continue
            _bar(axis, place, side, summed, parts)
            axis.annotate(
                amount_text(summed, total), (total.value, place), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize=9, color=INK,
            )  # fmt: skip
        _settle(axis, summed)
        drawn.legend(loc="outside upper left", ncols=6, frameon=False, fontsize=8.5, handlelength=1.2)
    return drawn


def _shown_parts(summed: StepSum) -> Mapping[str, str]:
    """A colour per operation, the largest first; operations beyond the last colour are grey."""
    sizes: dict[str, float] = {}
    for one in summed.parts:
        found = [amount.value for side in SIDES if (amount := one.total(side))]
        sizes[one.part.operation] = sizes.get(one.part.operation, 0.0) + sum(found)
    return style.colours(sorted(sizes, key=lambda name: -sizes[name]))


def _bar(axis: Axes, place: int, side: str, summed: StepSum, colours: Mapping[str, str]) -> None:
    start = 0.0
    labelled = set(axis.get_legend_handles_labels()[1])
    for operation in _operations(summed.parts, colours):
        width = sum(
            amount.value for one in summed.parts if one.part.operation == operation and (amount := one.total(side))
        )
        if not width:
            continue
        label = "_" if operation in labelled else operation
        colour = colours.get(operation, style.MUTED)
        axis.barh(place, width, 0.6, left=start, color=colour, edgecolor=PAPER, linewidth=0.8, label=label)
        start += width


def _operations(parts: Sequence[PartAmount], colours: Mapping[str, str]) -> list[str]:
    """Operations with a colour of their own first."""
    names = dict.fromkeys(one.part.operation for one in parts)
    return [*(name for name in colours if name in names), *(name for name in names if name not in colours)]


def _settle(axis: Axes, summed: StepSum) -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_yticks(range(len(SIDES)), SIDES)
    axis.set_ylim(len(SIDES) - 0.5, -0.5)
    longest = max((total.value for side in SIDES if (total := summed.total(side))), default=1.0)
    axis.set_xlim(0, 1.12 * longest)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: amount_text(summed, Amount(value, value, value))))
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
