"""The comparison of two runs for the terminal (rich)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelbench.compare.changes import VERDICTS, Change, Changes, JudgedRow
from kernelbench.compare.verdicts import some_labels
from kernelbench.core.operations import key_words
from kernelbench.core.units import digits, number_of, time_column
from kernelbench.report import view
from kernelbench.report.table_widths import Table
from kernelbench.report.tables import NUMBER, WORD, block_table, list_table, styled_cell

if TYPE_CHECKING:
    from rich.console import RenderableType

FIRST_WIDTH = 31  # of case and implementation
SPARE = {"by": {"spare": 3}, "band %": {"spare": 2}, "95 % interval": {"spare": 1}}  # in narrow windows
CASES = 3  # of a group that are named; the others are counted
PLACES = 8  # rows that are named per remark
CHANGE_OF_SHARE = "Change: of the time over that at the ceiling; negative is closer to it"


def changes_table(changes: Changes, *, every: bool = True) -> RenderableType:
    """A table per cache state, then what could not be compared, then remarks. Without `every`, only what changed."""
    from rich.console import Group
    from rich.text import Text

    labels = change_labels(changes)
    judged = [row for row in changes.judged if every or row.verdict in ("SLOWER", "FASTER")]
    without = [row for row in changes.without if every or row.first_status != row.second_status]
    parts: list[RenderableType] = []
    for cache in dict.fromkeys(row.cache for row in judged):
        parts.append(_table([row for row in judged if row.cache == cache], labels, cache, changes))
    if any(row.more_samples for row in judged):
        parts.append(Text("UNSURE +N: about N more samples of the row in each run would decide.", "dim"))
    if without:
        parts.append(list_table(("not compared", "cases", "why"), not_compared_groups(without, labels), "Not compared"))
    remarks = _remarks(judged, labels)
    if remarks:
        parts.append(list_table(("remark", "rows"), remarks, "Remarks"))
    return Group(*parts)


def change_labels(changes: Changes) -> dict[str, str]:
    """Short names of all cases of the two runs."""
    return view.case_labels({row.case: key_words(row.case) for row in changes.rows})


def _table(rows: Sequence[JudgedRow], labels: Mapping[str, str], cache: str, changes: Changes) -> Table:
    what = "a positive change is slower"
    if changes.by_share:
        what = f"share of each GPU's ceiling. {CHANGE_OF_SHARE}"
    cells = change_columns(rows, changes.by_share)
    first = ("case, implementation", {"max_width": FIRST_WIDTH})
    if len({(row.case, row.implementation) for row in rows}) < len(rows):  # timed by two methods
        del cells["by"]  # a column that narrow windows drop
        rows = [replace(row, implementation=f"{row.implementation}, {row.method}") for row in rows]
    numbers = [(header, {**NUMBER, **SPARE.get(header, {})}) for header in cells]
    return block_table(
        f"Second run against the first, {cache}; {what}",
        [first, *numbers, ("verdict", WORD)], rows, labels,
        lambda row: [
            *(cell(row) for cell in cells.values()),
            styled_cell(row.verdict, view.verdict_text(changes.word(row.verdict), row.more_samples)),
        ],
    )  # fmt: skip


def change_columns(rows: Sequence[JudgedRow], by_share: bool) -> dict[str, Callable[[JudgedRow], str]]:
    """The columns between the name of a row and its verdict: header and cell."""
    time = time_column(seconds for row in rows for seconds in (row.first_s, row.second_s))
    return {
        "by": lambda row: row.method,
        "first": lambda row: _share(row.first_share) if by_share else time(row.first_s),
        "second": lambda row: _share(row.second_share) if by_share else time(row.second_s),
        "change %": lambda row: percent_text(row.ratio),
        "95 % interval": _interval,
        "band %": _band,
    }


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _interval(row: JudgedRow) -> str:
    return f"{percent_text(row.ratio_low)} .. {percent_text(row.ratio_high)}"


def _band(row: JudgedRow) -> str:
    return f"±{digits(100 * row.band, 2)}"


def percent_text(ratio: float) -> str:
    """A ratio as its distance from 1 in per cent: `+1.96`, `-12.3`, `0.00`."""
    change = 100 * (ratio - 1)
    text = f"{change:+.2f}" if abs(change) < 9.995 else f"{change:+.1f}" if abs(change) < 99.95 else f"{change:+.0f}"
    return text if any(digit in "123456789" for digit in text) else "0.00"


def not_compared_groups(rows: Sequence[Change], labels: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Implementation, cases and reason; rows with the same statuses form one group."""
    found: dict[tuple[str, str, str], list[Change]] = {}
    for row in rows:
        found.setdefault((row.implementation, row.first_status, row.second_status), []).append(row)
    return [
        (key[0], some_labels((labels[row.case] for row in group), CASES), _reason(group))
        for key, group in found.items()
    ]


def _reason(group: Sequence[Change]) -> str:
    reasons = list(dict.fromkeys(row.reason for row in group))
    return reasons[0] + (f" (and {len(reasons) - 1} like it)" if reasons[1:] else "")


def _remarks(rows: Sequence[JudgedRow], labels: Mapping[str, str]) -> list[tuple[str, str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.reason:
            found.setdefault(row.reason, []).append(f"{row.implementation} {labels[row.case]}")
    return [(reason, some_labels(places, PLACES)) for reason, places in found.items()]


# ---- Sentences -----------------------------------------------------------------------------------


def counts_text(changes: Changes) -> str:
    """`1 SLOWER, 0 FASTER, 2 UNSURE, 215 SAME; 12 rows not compared`; of two GPUs CLOSER and FARTHER, by share."""
    measure = "By share of each GPU's ceiling, not by time: " if changes.by_share else ""
    counts = measure + ", ".join(f"{len(changes.of(verdict))} {changes.word(verdict)}" for verdict in VERDICTS)
    left = len(changes.without)
    return counts + (f"; {number_of(left, 'row')} not compared" if left else "")


def regression_lines(changes: Changes, least: float) -> list[str]:
    """A line per regression of at least `least`, then how many rows could hide one; never empty."""
    limit = f"{100 * least:g} %"
    labels = change_labels(changes)
    lines = [regression_line(row, labels) for row in changes.regressions(least)]
    if not lines:
        lines = [f"No row is slower by {limit}."]
    blind = changes.blind(least)
    if blind:
        rows = "row has" if blind == 1 else "rows have"
        lines.append(f"{blind} {rows} a band and interval too wide to show {limit} for certain.")
    return lines


def regression_line(row: Change, labels: Mapping[str, str], *, with_band: bool = False) -> str:
    place = [row.implementation, labels[row.case]]
    place += [row.cache, f"by {row.method}"] if row.cache else []
    what = f"{percent_text(row.ratio)} % ({_interval(row)})" if isinstance(row, JudgedRow) else row.reason
    band = f", band {_band(row)} %" if with_band and isinstance(row, JudgedRow) else ""
    return f"REGRESSION: {', '.join(place)}: {what}{band}"
