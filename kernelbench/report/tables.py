"""Plain tables for the terminal (rich): what `plan`, `build`, `check` and `list` print.

All tables fit 100 columns; long text is folded, never cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kernelbench.report import view

if TYPE_CHECKING:
    from rich.table import Table

    from kernelbench.core.records import Check

WIDTH = 100  # characters per line of a table
BETWEEN = 2  # characters between two columns of `new_table`
NAME_WIDTH = 28  # longest single word that is not broken
STYLES = {
    "holds": "green", "FASTER": "green", "passed": "green",
    "holds in part": "yellow", "UNSURE": "yellow", "unsupported": "yellow", "skipped": "yellow",
    "does not hold": "red", "SLOWER": "red", "wrong": "bold red", "failed": "red",
    "not measured": "dim", "SAME": "dim", "wrong, as expected": "green",
}  # fmt: skip


@dataclass(frozen=True)
class BuildLine:
    """One compiled kernel as `kernelbench build` lists it. `loads`: global loads by input, None if unknown."""

    implementation: str
    cases: str  # which group of cases this binary serves
    registers: int
    shared_bytes: int
    spill_bytes: int
    loads: Mapping[str, int] | None
    note: str = ""  # "cached", or the compiler's first error


def plan_table(entries: Iterable[tuple[str, str, Sequence[str], Sequence[str]]]) -> Table:
    """Launches. `entries`: (case, implementation, one text per launch, reasons for the choice or why there is none)."""
    return list_table(
        ("case", "implementation", "launches", "why"),
        [(case, name, "\n".join(launches) or "-", "\n".join(reasons)) for case, name, launches, reasons in entries],
    )


def build_table(lines: Iterable[BuildLine]) -> Table:
    """What the compiler made: registers, shared memory, spills, loads, and inputs never read."""
    from rich.text import Text

    table = new_table("")
    for header in ("implementation", "cases"):
        table.add_column(header, overflow="fold")
    for header in ("registers", "shared B", "spills B"):
        table.add_column(header, justify="right", overflow="fold")
    for header in ("loads", "note"):
        table.add_column(header, overflow="fold")
    for line in lines:
        loads = line.loads or {}
        flag = view.never_read(loads)
        note = Text("; ".join(part for part in (flag, line.note) if part), "bold red" if flag else "")
        numbers = map(str, (line.registers, line.shared_bytes, line.spill_bytes))
        counts = " ".join(f"{name}={count}" for name, count in loads.items())
        table.add_row(Text(line.implementation), Text(line.cases), *numbers, Text(counts), note)
    return table


def check_table(entries: Iterable[tuple[str, str, str, Check | None, str]]) -> Table:
    """Verification. `entries`: (case, implementation, status, check, reason)."""
    from rich.text import Text

    table = new_table("")
    table.caption, table.caption_justify = Text("allowed: abs. + rel. times the expected value"), "left"
    for header in ("case", "implementation"):
        table.add_column(header, overflow="fold")
    table.add_column("status", no_wrap=True)
    for header in ("abs.\nerror", "allowed\nabs.", "rel.\nerror", "allowed\nrel."):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for case, name, status, check, reason in entries:
        errors: tuple[float | None, ...] = (None,) * 4
        if check:
            allowed = check.tolerance
            errors = (check.max_absolute_error, allowed.absolute, check.max_relative_error, allowed.relative)
        numbers = ["" if error is None else f"{error:.1e}" for error in errors]
        word = Text(status.replace(", ", ",\n"), STYLES.get(status, ""))
        message = reason or (check.message if check else "")
        table.add_row(Text(case), Text(name), word, *numbers, Text(message))
    return table


def list_table(headers: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> Table:
    """Any rows of text under headers; numbers are put to the right."""
    from rich.text import Text

    lines = [list(row) for row in rows]
    table = new_table(title)
    for position, header in enumerate(headers):
        numeric = bool(lines) and all(isinstance(line[position], int | float) for line in lines)
        cells = [view.text(line[position]) for line in lines]
        whole = all(" " not in cell and len(cell) <= NAME_WIDTH for cell in cells)
        side: Literal["left", "right"] = "right" if numeric else "left"
        table.add_column(Text(header), justify=side, overflow="fold", no_wrap=whole)
    for line in lines:
        table.add_row(*(Text(view.text(cell)) for cell in line))
    return table


def panels(columns: Mapping[str, Sequence[str]], width: int) -> list[list[str]]:
    """Keys of `columns` gathered in order, so that those of each panel fit `width` characters. `columns`: by key, the
    texts in it."""
    found: list[list[str]] = []
    left = 0
    for key, texts in columns.items():
        needed = BETWEEN + max(len(line) for text in texts for line in text.split("\n"))
        if not found or needed > left:
            found.append([])
            left = width
        found[-1].append(key)
        left -= needed
    return found


def new_table(title: str) -> Table:
    """A table without vertical lines, at most 100 columns wide."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    return Table(
        title=Text(title, "bold") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
    )
