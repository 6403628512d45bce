"""The chart of a claim: what was measured on each case, with its interval, beside what was required."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING

from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict
from kernelbench.report import style
from kernelbench.report.style import BAD, FAINT, GOOD, INK, MUTED, PAPER, PART, SOFT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLAIM_CHART = "claim-"  # before the claim's id: the name of its chart

# What the numbers of a kind are, on the axis. A kind that is not here has no number per case.
QUANTITIES = {
    "faster": "times as fast",
    "not_faster": "times as fast",
    "order": "how many times as fast the last is as the first",
    "near_best": "time over that of the best alternative",
    "bandwidth_share": "effective bandwidth over that of the kernel that reads once",
    "proportion": "time unfused over time fused",
    "level": "time of the slowest over that of the fastest",
    "curve": "bandwidth over that at the base of the curve",
    "under_ceiling": "bandwidth over that of the best copy",
    "step": "times as fast",
}
NARROW = 5.0  # inches: on a telephone, 358 px wide, text of 9.5 points is then as many px high
ROW, TIGHT = 0.21, 0.18  # inches per case, and per case of many
HEAD, LINE = 0.65, 0.18  # inches for the axis, and per line of the legend
MANY = 12  # cases that stand ROW apart; more stand TIGHT
LABEL = 34  # characters on a line of a case's label
SIGN, LETTER = 0.4, 0.068  # inches in the legend: a sign with the space around it, and a letter
NEAR = 4  # times what was measured: farther ends of what was required are not drawn
# Ratios of the largest number to the smallest from which on the axis is logarithmic, and labels powers of ten alone.
WIDE, VAST = 8, 200
STEPS = 6  # most intervals between the ticks of a linear axis
MET = {True: ("met", GOOD, "o"), False: ("not met", BAD, "X"), None: ("open", MUTED, "D")}
SIZE_MISSED = ("direction met, size not", PART, "s")
TOO_SHORT, PUBLISHED, REQUIRED = "too short to count", "published", "required"
LEGEND = ("met", SIZE_MISSED[0], "not met", "open", TOO_SHORT, REQUIRED, PUBLISHED)  # from the top down


def claim_figure(kind: str, verdict: ClaimVerdict) -> Figure:
    """A line per case that has a number, in the order of the run. `kind` is one of QUANTITIES."""
    cases = [case for case in verdict.cases if case.measured is not None]
    labels = [fill(case.label, LABEL) for case in cases]
    row = (ROW if len(cases) <= MANY else TIGHT) * max(label.count("\n") + 1 for label in labels)
    with style.new_figure(row * len(cases), NARROW) as figure:
        axis = figure.subplots()
        _scale(axis, cases)
        _required(axis, cases, _ends(cases))
        _measured(axis, verdict, cases)
        if kind != "under_ceiling":
            axis.axvline(1, color=INK, linewidth=0.8, zorder=1)
        axis.set_yticks(range(len(cases)), labels)
        axis.set_ylim(len(cases) - 0.4, -0.6)
        axis.grid(axis="y", visible=False)
        axis.set_xlabel(QUANTITIES[kind], loc="right")  # else a long one would leave the figure
        lines = _legend(figure, axis)
        figure.set_figheight(max(row * len(cases), 2 * ROW) + HEAD + LINE * lines)
    return figure


def _legend(figure: Figure, axis: Axes) -> int:
    """Draws the legend below the chart in as few lines as fit; returns how many."""
    signs = {str(sign.get_label()): sign for sign in axis.get_legend_handles_labels()[0]}
    words = [word for word in LEGEND if word in signs]
    lines = next(lines for lines in range(1, len(words) + 1) if _width(words, lines) <= NARROW)
    figure.legend(
        handles=[signs[word] for word in words], loc="outside lower center", ncols=ceil(len(words) / lines),
        frameon=False, handlelength=1.4, handletextpad=0.4, columnspacing=1.2, borderpad=0,
    )  # fmt: skip
    return lines


def _width(words: Sequence[str], lines: int) -> float:
    """Inches that a legend of so many lines takes."""
    columns = [words[start : start + lines] for start in range(0, len(words), lines)]
    return sum(SIGN + LETTER * max(map(len, column)) for column in columns)


def _required(axis: Axes, cases: Sequence[CaseVerdict], ends: tuple[float, float]) -> None:
    """A grey bar from the least to the largest number that the size allows, cut off at the axis's ends."""
    left, right = ends
    named = False
    for place, case in enumerate(cases):
        if case.required is None:
            continue
        low, high = max(case.required[0], left), min(case.required[1], right)
        axis.barh(place, max(high - low, 0), left=low, height=0.72, color=FAINT, zorder=0, label=_once(named, REQUIRED))
        named = True


def _measured(axis: Axes, verdict: ClaimVerdict, cases: Sequence[CaseVerdict]) -> None:
    seen: set[str] = set()
    for place, case in enumerate(cases):
        word, colour, marker = _sign(verdict, case)
        number = case.measured or 0.0
        low, high = case.interval or (number, number)
        axis.plot([low, high], [place, place], color=colour, linewidth=1.4, zorder=2)
        hollow = PAPER if case.below_floor else colour
        axis.plot(
            number, place, marker, color=colour, markerfacecolor=hollow, markersize=5, zorder=3,
            label=_once(word in seen, word),
        )  # fmt: skip
        seen.add(word)
        if case.published is not None:
            axis.plot(
                case.published, place, "|", color=SOFT, markersize=11, markeredgewidth=1.6, zorder=2,
                label=_once(PUBLISHED in seen, PUBLISHED),
            )  # fmt: skip
            seen.add(PUBLISHED)


def _sign(verdict: ClaimVerdict, case: CaseVerdict) -> tuple[str, str, str]:
    """Word, colour and marker of a case."""
    if case.below_floor:
        return TOO_SHORT, MUTED, "o"
    met = verdict.met(case)
    return SIZE_MISSED if met is False and verdict.direction and case.direction else MET[met]


def _once(named: bool, label: str) -> str:
    """The legend has each label once."""
    return f"_{label}" if named else label


def _ends(cases: Sequence[CaseVerdict]) -> tuple[float, float]:
    """Ends of the axis: they enclose all measured and published numbers, and the required ones that lie near."""
    numbers = [number for case in cases for number in (case.measured, case.published, *(case.interval or ())) if number]
    low, high = min(numbers, default=1.0), max(numbers, default=1.0)
    required = [case.required for case in cases if case.required]
    bands = [band for band in required if band[0] <= 2 * high and band[1] >= low / 2]
    near = [end for band in bands for end in band if low / NEAR <= end <= high * NEAR]
    low, high = min([low, 1.0, *near]), max([high, 1.0, *near])
    if high / low > WIDE:
        return low / 1.15, high * 1.15
    margin = max(0.06 * (high - low), 0.02)
    return low - margin, high + margin


def _scale(axis: Axes, cases: Sequence[CaseVerdict]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    left, right = _ends(cases)
    if left > 0 and right / left > WIDE * 1.15**2:
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if right / left < VAST else (1.0,)))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
    else:
        axis.locator_params(axis="x", nbins=STEPS)  # not as many as fit: ticks that come after the layout may be cut
    axis.set_xlim(left, right)
