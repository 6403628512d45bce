"""Rows as text for programs and pull requests: CSV, JSON, Markdown. The terminal's tables are in `tables`."""

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from kernelbench.core import texts

TABLE = "table"
FORMS = (TABLE, "csv", "json", "markdown")
_ESCAPED = str.maketrans(
    {"|": "\\|", "<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " ", "`": "\\`", "*": "\\*", "_": "\\_"}
)
Rows = Sequence[Mapping[str, Any]]  # all with the same names, in the same order


def format_rows(form: str, rows: Rows) -> str:
    """All rows in one of FORMS but the table."""
    if form == "csv":
        return as_csv(rows)
    return as_json(rows) if form == "json" else as_markdown(rows)


def as_csv(rows: Rows, names: Sequence[str] = ()) -> str:
    """A header, `names` unless the rows have it, and a line per row; texts of one cell are separated by `; `."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0] if rows else names)
    writer.writerows([texts.csv_cell(_text(value, ".9g")) for value in row.values()] for row in rows)
    return text.getvalue().rstrip("\n")


def as_json(document: Any) -> str:
    """Numbers that JSON does not have, infinities and NaN, are null."""
    return json.dumps(_plain(document), indent=2, allow_nan=False)


def as_markdown(rows: Rows) -> str:
    """A table of GitHub's Markdown; columns of numbers are aligned right."""
    names = list(rows[0]) if rows else []
    numeric = {name for name in names if any(_is_number(row[name]) for row in rows)}
    return grid(names, ([_text(value, ".4g") for value in row.values()] for row in rows), numeric)


def grid(headers: Sequence[str], lines: Iterable[Sequence[str]], numeric: Collection[str] = ()) -> str:
    """A Markdown table of texts; the columns of `numeric` headers are aligned right."""
    rule = ["--:" if header in numeric else "---" for header in headers]
    rows = ["|".join(("", *(f" {escaped(str(cell))} " for cell in line), "")) for line in lines]
    return "\n".join([f"| {' | '.join(headers)} |", f"|{'|'.join(rule)}|", *rows])


def escaped(text: str) -> str:
    """A text that Markdown shows as it is, on one line."""
    return text.translate(_ESCAPED)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any, number: str) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_text(one, number)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(_text(one, number) for one in value)
    return format(value, number) if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
