"""A history in words and tables: for the terminal, programs and pull requests."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbench.compare.history import History, LevelShift, Moment, RunShifts, Trend
from kernelbench.core import columns
from kernelbench.core.operations import key_words
from kernelbench.core.units import number_of, time_column
from kernelbench.report import formats, view
from kernelbench.report.changes_table import percent_text
from kernelbench.report.tables import NUMBER, TEXT, list_table, new_table

if TYPE_CHECKING:
    from rich.console import RenderableType

CODES = {
    "same": "machine code as before, so their source is not the cause",
    "other code": "other machine code",
    "other binary": "other source, flags or compiler",
    "other launches": "other launches",
    "": "calls of a library",
}
RUNS = ("run", "started", "commit", "folder")
HEADERS = ("case", "implementation", "cache", "by", "first", "last", "change %", "steps at run")


def history_sentence(found: History) -> str:
    """How many rows changed, over which time."""
    first, last = (when(found.moments[place]) for place in (0, -1))
    what = f"{len(found.changed)} of {number_of(len(found.trends), 'row')} changed"
    return f"{found.suite} on {found.device}: {what} over {len(found.moments)} runs, {first} to {last}."


def when(moment: Moment) -> str:
    """`2026-11-21 08:03 UTC`."""
    return f"{moment.started[:16].replace('T', ' ')} UTC"


def event_lines(found: History, event: RunShifts) -> list[str]:
    """The rows that stepped, then what changed: in their code, and between the two runs."""
    moment = found.moments[event.moment]
    head = f"Run {event.moment + 1}, {when(moment)}: {_moved([step for _, step in event.rows])}."
    return [head, *suspects(event)]


def _moved(steps: Sequence[LevelShift]) -> str:
    """`3 rows slower by 1.2 to 4.1 %, 1 row faster by 2 %`."""
    parts = []
    for word, chosen in (
        ("slower", [step.ratio for step in steps if step.ratio > 1]),
        ("faster", [step.ratio for step in steps if step.ratio < 1]),
    ):
        if chosen:
            sizes = sorted(abs(ratio - 1) for ratio in chosen)
            ends = dict.fromkeys(f"{100 * size:.1f}" for size in (sizes[0], sizes[-1]))
            parts.append(f"{number_of(len(chosen), 'row')} {word} by {' to '.join(ends)} %")
    return ", ".join(parts)


def suspects(event: RunShifts) -> list[str]:
    """What may be to blame."""
    codes = Counter(step.code for _, step in event.rows)
    told = [f"{number_of(count, 'row')} ({_names(event, code)}): {CODES[code]}." for code, count in codes.most_common()]
    return told + [f"What else changed: {one}." for one in event.differences]


def _names(event: RunShifts, code: str) -> str:
    return ", ".join(dict.fromkeys(trend.implementation for trend, step in event.rows if step.code == code))


def history_labels(found: History) -> dict[str, str]:
    """Short names of all cases."""
    return view.case_labels({trend.case: key_words(trend.case) for trend in found.trends})


def runs_table(found: History, folder: Path) -> RenderableType:
    """The runs by number, as other tables name them, each by its place in `folder`."""
    lines = [(*others, os.path.relpath(place, folder)) for *others, place in history_rows(found)]
    table = list_table(RUNS, lines, "Runs")
    table.notes = {RUNS[-1]: f"These folders are in {folder}."}
    return table


def left_out_table(left_out: Sequence[str], folder: Path) -> RenderableType:
    """Runs in `folder` that are no part of a history, and why."""
    return list_table(
        ("run", "reason"), [one.removeprefix(f"{folder}/").split(": ", 1) for one in left_out], "Left out"
    )


def history_rows(found: History) -> list[tuple[int, str, str, str]]:
    """A line per run under the headers RUNS."""
    numbered = enumerate(found.moments, start=1)
    return [(number, when(moment), moment.commit, str(moment.folder)) for number, moment in numbered]


def trends_table(found: History, *, every: bool = False) -> RenderableType | None:
    """Rows that changed, the largest change first; with `every`, all. None if there is none to show."""
    trends = [*found.changed, *(one for one in found.trends if not one.steps and every)]
    if not trends:
        return None
    kinds = [(header, NUMBER if header in ("first", "last", "change %") else TEXT) for header in HEADERS]
    return new_table("Rows; a positive change is slower", kinds, row_lines(found, trends))


def row_lines(found: History, trends: Sequence[Trend]) -> list[tuple[str, ...]]:
    """A line per trend under HEADERS; all times are in one unit."""
    labels = history_labels(found)
    ends = [(one.levels_s[0][2], one.levels_s[-1][2]) for one in trends]
    time = time_column(seconds for both in ends for seconds in both)
    return [
        (labels[one.case], one.implementation, one.cache, one.method, time(first), time(last), percent_text(one.ratio),
         "; ".join(f"{step.moment + 1}: {percent_text(step.ratio)}" for step in one.steps))
        for one, (first, last) in zip(trends, ends, strict=True)
    ]  # fmt: skip


# ---- For programs and pull requests ----------------------------------------------------------------


def as_text(found: Sequence[History], left_out: Sequence[str], form: str) -> str:
    """CSV: a line per row and step, columns.HISTORY. JSON: all of it. Markdown: what the terminal shows."""
    if form == "csv":
        return formats.as_csv([line for one in found for line in _lines(one)], columns.column_names(columns.HISTORY))
    if form == "json":
        return formats.as_json({"histories": [_document(one) for one in found], "left_out": list(left_out)})
    return "\n\n".join([_markdown(one) for one in found] + [formats.escaped(one) for one in left_out])


def _lines(found: History) -> Iterator[dict[str, Any]]:
    differences = {(event.before, event.moment): event.differences for event in found.events}
    names = columns.column_names(columns.HISTORY)
    for trend in found.trends:
        common = {
            "suite": found.suite, "device": found.device, "case": trend.case, "implementation": trend.implementation,
            "cache": trend.cache, "method": trend.method, "runs": len(trend.points),
            "first_s": trend.levels_s[0][2], "last_s": trend.levels_s[-1][2],
        }  # fmt: skip
        for step in trend.steps or (None,):
            cells = _step_cells(found, step, differences) if step else {}
            yield {name: {**common, **cells}.get(name) for name in names}


def _step_cells(
    found: History, step: LevelShift, differences: Mapping[tuple[int, int], Sequence[str]]
) -> dict[str, str | float | list[str]]:
    return {
        "step": found.moments[step.moment].started,
        "step_run": str(found.moments[step.moment].folder),
        "step_before": str(found.moments[step.before].folder),
        "step_ratio": step.ratio,
        "step_band": step.band,
        "step_runs": step.runs,
        "step_code": step.code,
        "step_differences": list(differences[step.before, step.moment]),
    }


def _document(found: History) -> dict[str, Any]:
    return {
        "suite": found.suite,
        "device": found.device,
        "runs": [{**asdict(moment), "folder": str(moment.folder)} for moment in found.moments],
        "rows": [asdict(trend) for trend in found.trends],
        "events": [
            {"before": event.before, "moment": event.moment, "rows": len(event.rows), "differences": event.differences}
            for event in found.events
        ],
        "rows_in_one_run": found.single,
    }


def _markdown(found: History) -> str:
    parts = [f"**{formats.escaped(history_sentence(found))}**"]
    for event in found.events:
        head, *rest = (formats.escaped(line) for line in event_lines(found, event))
        parts.append("\n".join([head, "", *(f"- {line}" for line in rest)]))
    if found.changed:
        parts.append(formats.grid(HEADERS, row_lines(found, found.changed), ("first", "last", "change %")))
    return "\n\n".join(parts)
