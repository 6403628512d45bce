"""Tables of docs/reading-a-report.md: every column of every CSV file, out of `kernelbench.core.columns`."""

from __future__ import annotations

from pathlib import Path

from kernelbench.core import columns

BEGIN, END = "<!-- columns: generated, do not edit -->", "<!-- end of columns -->"
_FILES = (
    ("results.csv", "a row for each case, implementation, cache and method", columns.RESULTS),
    ("samples.csv.gz", "a row for each sample", columns.SAMPLES),
    ("comparison.csv", "a row for each case, cache and implementation, against the baseline", columns.COMPARISON),
    ("compare RUN RUN --format csv", "a row for each row of either run", columns.CHANGES),
)


def columns_markdown() -> str:
    """A Markdown section with a table for each file: column, unit, meaning."""
    parts = []
    for name, what, listed in _FILES:
        lines = [f"### {name}", "", f"{what[0].upper()}{what[1:]}.", "", "| column | unit | meaning |", "|---|---|---|"]
        lines += [f"| `{one.name}` | {one.unit} | {one.meaning.replace('|', chr(92) + '|')} |" for one in listed]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def updated(page: str) -> str:
    """The page's text with the tables between its two markers made new. ValueError where a marker is missing."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"no '{BEGIN}' followed by '{END}' in the page; expected the markers round the column tables")
    return f"{before}{BEGIN}\n\n{columns_markdown()}\n\n{END}{after}"


def update(path: Path) -> None:
    """Write the tables into a page."""
    path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
