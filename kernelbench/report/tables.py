"""How tables for the terminal (rich) are made, and those of `plan`, `build`, `check` and `list`.

All tables fit 100 columns; long text is folded, never cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kernelbench.report import view

if TYPE_CHECKING:
    from rich.table import Table

    from kernelbench.compare.changes import Judged
    from kernelbench.compare.comparison import ComparedRow
    from kernelbench.core.records import Check

WIDTH = 100  # characters per line of a table
BETWEEN = 2  # characters between two columns of `new_table`
NAME_WIDTH = 28  # a word of more characters may be broken
STYLES = {
    "holds": "green", "FASTER": "green", "passed": "green",
    "direction only": "yellow", "holds in part": "yellow",
    "UNSURE": "yellow", "unsupported": "yellow", "skipped": "yellow",
    "does not hold": "red", "SLOWER": "red", "wrong": "bold red", "failed": "red",
    "not decided": "dim", "not measured": "dim", "SAME": "dim", "wrong, as expected": "green",
}  # fmt: skip
Options = Mapping[str, Any]  # of rich's Table.add_column
Column = str | tuple[str, Options]  # a header alone is a column of TEXT
Cell = str | tuple[str, str]  # a text, or with its style
TEXT: Options = {"overflow": "fold"}
WORD: Options = {"no_wrap": True}
NUMBER: Options = {"justify": "right", "no_wrap": True}
RIGHT: Options = {"justify": "right", "overflow": "fold"}
InCase = TypeVar("InCase", "ComparedRow", "Judged")


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
    rows: list[Sequence[Cell]] = []
    for line in lines:
        loads = line.loads or {}
        flag = view.never_read(loads)
        note = ("; ".join(filter(None, (flag, line.note))), "bold red" if flag else "")
        numbers = map(str, (line.registers, line.shared_bytes, line.spill_bytes))
        counts = " ".join(f"{name}={count}" for name, count in loads.items())
        rows.append((line.implementation, line.cases, *numbers, counts, note))
    numeric = columns(RIGHT, "registers", "shared B", "spills B")
    return new_table("", ["implementation", "cases", *numeric, "loads", "note"], rows)


def check_table(entries: Iterable[tuple[str, str, str, Check | None, str]]) -> Table:
    """Verification. `entries`: (case, implementation, status, check, reason)."""
    from rich.text import Text

    rows: list[Sequence[Cell]] = []
    for case, name, status, check, reason in entries:
        errors: tuple[float | None, ...] = (None,) * 4
        if check:
            allowed = check.tolerance
            errors = (check.max_absolute_error, allowed.absolute, check.max_relative_error, allowed.relative)
        numbers = ["" if error is None else f"{error:.1e}" for error in errors]
        message = reason or (check.message if check else "")
        rows.append((case, name, styled(status, status.replace(", ", ",\n")), *numbers, message))
    numeric = columns(NUMBER, "abs.\nerror", "allowed\nabs.", "rel.\nerror", "allowed\nrel.")
    table = new_table("", ["case", "implementation", ("status", WORD), *numeric, "reason"], rows)
    table.caption, table.caption_justify = Text("allowed: abs. + rel. times the expected value"), "left"
    return table


def list_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> Table:
    """Any rows of text under headers; numbers are aligned right."""
    lines = [list(map(view.text, row)) for row in rows]
    kinds = []
    for position, header in enumerate(headers):
        numeric = bool(rows) and all(isinstance(row[position], int | float) for row in rows)
        whole = all(" " not in line[position] and len(line[position]) <= NAME_WIDTH for line in lines)
        kinds.append((header, {"justify": "right" if numeric else "left", "no_wrap": whole, **TEXT}))
    return new_table(title, kinds, lines)


def block_table(
    title: str,
    kinds: Iterable[Column],
    rows: Sequence[InCase],
    labels: Mapping[str, str],
    cells: Callable[[InCase], Sequence[Cell]],
) -> Table:
    """A block per case: its label, then a line per row, the `cells` behind the implementation's name."""
    table = new_table(title, kinds)
    for case in dict.fromkeys(row.case for row in rows):
        table.add_section()
        add_row(table, (labels[case], "bold"))
        for row in (row for row in rows if row.case == case):
            add_row(table, f"  {row.implementation}", *cells(row))
    return table


def panel_tables(
    title: str,
    first: Column,
    names: Sequence[str],
    cells: Mapping[str, Sequence[str]],
    width: int,
    kind: Options = NUMBER,
    needed: Mapping[str, Sequence[str]] | None = None,
) -> list[Table]:
    """Tables with a row per name and a column per key of `cells`, as many side by side as fit `width` characters.

    `needed`: texts by column that must fit; left out, all of it.
    """
    found: list[Table] = []
    for panel in panels(needed or {header: (header, *column) for header, column in cells.items()}, width):
        rows = [(name, *(cells[header][place] for header in panel)) for place, name in enumerate(names)]
        found.append(new_table(title + (", continued" if found else ""), [first, *columns(kind, *panel)], rows))
    return found


def panels(columns: Mapping[str, Sequence[str]], width: int) -> list[list[str]]:
    """Group the keys of `columns` in order, so that each group fits `width` characters. `columns`: texts by key."""
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


def new_table(title: str, kinds: Iterable[Column] = (), rows: Iterable[Sequence[Cell]] = ()) -> Table:
    """A table without vertical lines, at most 100 columns wide. All text is shown as it is."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title, "bold") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
    )
    for kind in kinds:
        header, options = (kind, TEXT) if isinstance(kind, str) else kind
        table.add_column(Text(header), **options)
    for row in rows:
        add_row(table, *row)
    return table


def columns(kind: Options, *headers: str) -> list[Column]:
    """Columns of one kind."""
    return [(header, kind) for header in headers]


def add_row(table: Table, *cells: Cell) -> None:
    from rich.text import Text

    table.add_row(*(Text(cell) if isinstance(cell, str) else Text(*cell) for cell in cells))


def verdict(row: ComparedRow | Judged) -> Cell:
    return styled(row.verdict, view.verdict_text(row.verdict, row.more_samples))


def styled(word: str, text: str = "") -> Cell:
    """A verdict or status, or a text that says more, in its colour."""
    return text or word, STYLES.get(word, "")
