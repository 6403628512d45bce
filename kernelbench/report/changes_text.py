"""The comparison of two runs as text for programs and pull requests: CSV, JSON, Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from kernelbench.compare.changes import CHANGES, VERDICTS, Change, Changes, JudgedRow
from kernelbench.core import columns
from kernelbench.report import formats, view
from kernelbench.report.changes_table import (
    CHANGE_OF_SHARE,
    change_columns,
    change_labels,
    counts_text,
    regression_lines,
)

_KEY = ("case", "implementation", "cache", "method")


def as_csv(changes: Changes) -> str:
    """A header and a line per row, with the columns CHANGES."""
    names = columns.column_names(CHANGES)
    return formats.as_csv([_cells(row, changes) for row in changes.rows], names)


def as_json(changes: Changes, least: float | None) -> str:
    """One object; `least`: what counts as a regression; None if nobody asked."""
    asked = [] if least is None else changes.regressions(least)
    document = {
        "first": changes.first,
        "second": changes.second,
        "by_share_of_ceiling": changes.by_share,
        "differences": list(changes.differences),
        "noise": list(changes.noise),
        "counts": {changes.word(verdict): len(changes.of(verdict)) for verdict in VERDICTS}
        | {"not compared": len(changes.without)},
        "fail_on": least,
        "regressions": [{name: getattr(row, name) for name in _KEY} for row in asked],
        "rows": [_cells(row, changes) for row in changes.rows],
    }
    return formats.as_json(document)


def _cells(row: Change, changes: Changes) -> dict[str, Any]:
    return {**asdict(row), "verdict": changes.word(row.verdict)}


def as_markdown(changes: Changes, least: float | None) -> str:
    """For a pull request: a table of what changed; what did not change is folded away."""
    labels = change_labels(changes)
    parts = [f"**{counts_text(changes)}**"]
    if least is not None:
        parts.append(_bullets(regression_lines(changes, least)))
    differences = [f"differs: {one}" for one in changes.differences]
    parts.append(_bullets([f"first: {changes.first}", f"second: {changes.second}", *differences]))
    changed = [row for verdict in VERDICTS[:3] for row in changes.of(verdict)]
    if changed:
        parts.append(_table(changed, labels, changes))
    same = changes.of("SAME")
    if same:
        parts.append(_folded(f"{len(same)} SAME", _table(same, labels, changes)))
    if changes.without:
        lines = [(row.implementation, labels[row.case], row.reason) for row in changes.without]
        parts.append(_folded(f"{len(lines)} not compared", formats.grid(("implementation", "case", "why"), lines)))
    parts.append(_folded("How it was judged", _bullets([_direction(changes), *changes.noise])))
    return "\n\n".join(parts)


def _direction(changes: Changes) -> str:
    if changes.by_share:
        return f"Two different GPUs, compared as shares of each ceiling. {CHANGE_OF_SHARE}."
    return "A positive change is slower."


def _table(rows: Sequence[JudgedRow], labels: dict[str, str], changes: Changes) -> str:
    cells = change_columns(rows, changes.by_share)
    lines = [
        (
            labels[row.case], row.implementation, row.cache,
            *(cell(row) for cell in cells.values()),
            view.verdict_text(changes.word(row.verdict), row.more_samples), row.reason,
        )
        for row in rows
    ]  # fmt: skip
    headers = ["case", "implementation", "cache", *cells, "verdict", "remark"]
    if not any(line[-1] for line in lines):
        headers, lines = headers[:-1], [line[:-1] for line in lines]
    return formats.grid(headers, lines, [*cells][1:])


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {formats.escaped(line)}" for line in lines)


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"
