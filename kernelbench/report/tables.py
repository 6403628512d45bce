"""How tables for the terminal are made, and those of `plan`, `build`, `check` and `list`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kernelbench.report import view
from kernelbench.report.table_widths import Cell, ForWidth, Options, Table

if TYPE_CHECKING:
    from kernelbench.compare.changes import JudgedRow
    from kernelbench.compare.comparison import ComparedRow
    from kernelbench.core.records import Check

STYLES = {
    "holds": "green", "FASTER": "green", "passed": "green",
    "direction only": "yellow", "holds in part": "yellow",
    "UNSURE": "yellow", "unsupported": "yellow", "skipped": "yellow",
    "does not hold": "red", "SLOWER": "red", "wrong": "bold red", "failed": "red",
    "not decided": "dim", "not measured": "dim", "SAME": "dim", "wrong, as expected": "green",
}  # fmt: skip
Column = str | tuple[str, Options]  # a header alone is a column of TEXT
TEXT: Options = {}
WORD: Options = {"no_wrap": True}
NUMBER: Options = {"justify": "right", "no_wrap": True}
RIGHT: Options = {"justify": "right"}
SHARE = "error,\nshare of\nallowed"
InCase = TypeVar("InCase", "ComparedRow", "JudgedRow")


@dataclass(frozen=True)
class BuildLine:
    """One compiled kernel as `kernelbench build` lists it; numbers are None where unknown. `loads`: global loads by
    input."""

    implementation: str
    cases: str  # which group of cases this binary serves
    registers: int | None
    shared_bytes: int | None
    spill_bytes: int | None
    loads: Mapping[str, int] | None
    note: str = ""  # "cached", or the compiler's first error


def plan_table(entries: Iterable[tuple[str, str, Sequence[str], Sequence[str]]]) -> Table:
    """Launches. `entries`: (case, implementation, one text per launch, reasons for the choice or why there is none)."""
    rows = [
        (case, name, "\n".join([*launches, *(f"  {reason}" for reason in reasons)]))
        for case, name, launches, reasons in entries
    ]
    return list_table(("case", "implementation", "launches, and why"), rows)


def build_table(lines: Iterable[BuildLine]) -> Table:
    """What the compiler made: registers, shared memory, spills, loads, and inputs never read."""
    rows: list[Sequence[str | Cell]] = []
    for line in lines:
        loads = line.loads or {}
        flag = view.never_read(loads)
        note = ("; ".join(filter(None, (flag, line.note))), "bold red" if flag else "")
        numbers = ("" if one is None else str(one) for one in (line.registers, line.shared_bytes, line.spill_bytes))
        counts = " ".join(f"{name}={count}" for name, count in loads.items())
        rows.append((line.implementation, line.cases, *numbers, counts, note))
    numeric = table_columns(RIGHT, "registers", "shared B", "spills B")
    return new_table("", ["implementation", "cases", *numeric, "loads", "note"], rows)


def check_table(entries: Iterable[tuple[str, str, str, Check | None]]) -> Table:
    """Verification. `entries`: (case, implementation, status, check)."""
    rows: list[Sequence[str | Cell]] = []
    for case, name, status, check in entries:
        errors: tuple[float | None, ...] = ()
        share = None
        if check:
            allowed, share = check.tolerance, check.share_of_tolerance
            errors = (check.max_absolute_error, allowed.absolute, check.max_relative_error, allowed.relative)
        numbers = ["" if error is None else f"{error:.1e}" for error in errors]
        rows.append((case, name, styled_cell(status), "" if share is None else f"{100 * share:.3g} %", *numbers))
    numeric: list[Column] = [
        (SHARE, NUMBER),
        ("abs.\nerror", {**NUMBER, "spare": 2}),
        ("allowed\nabs.", {**NUMBER, "spare": 4}),
        ("rel.\nerror", {**NUMBER, "spare": 1}),
        ("allowed\nrel.", {**NUMBER, "spare": 3}),
    ]
    table = new_table("", ["case", "implementation", ("status", WORD), *numeric], rows)
    table.notes = {SHARE: "allowed: abs. + rel. times the expected value, so an error may exceed either of the two"}
    return table


def reasons_table(groups: Iterable[view.ReasonGroup], labels: Mapping[str, str], title: str) -> Table:
    """Rows that are not ok, and why; of many cases with one reason, three are named."""
    rows = []
    for group in groups:
        more = len(group.cases) - 3
        shown = "\n".join(labels[case] for case in group.cases[:3]) + (f"\nand {more} more" if more > 0 else "")
        rows.append((group.implementation, styled_cell(group.status), shown, group.said(labels)))
    return new_table(title, ("implementation", "status", "cases", "reason"), rows)


def list_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> Table:
    """Any rows of text under headers; numbers are aligned right."""
    lines = [list(map(view.text_or_empty, row)) for row in rows]
    kinds = []
    for position, header in enumerate(headers):
        numeric = bool(rows) and all(isinstance(row[position], int | float) for row in rows)
        kinds.append((header, RIGHT if numeric else TEXT))
    return new_table(title, kinds, lines)


def block_table(
    title: str,
    kinds: Iterable[Column],
    rows: Sequence[InCase],
    labels: Mapping[str, str],
    cells: Callable[[InCase], Sequence[str | Cell]],
) -> Table:
    """A block per case: its label, then a line per row, the `cells` behind the implementation's name."""
    table = new_table(title, kinds)
    for case in dict.fromkeys(row.case for row in rows):
        table.add_section()
        table.add((labels[case], "bold"))
        for row in (row for row in rows if row.case == case):
            table.add(f"  {row.implementation}", *cells(row))
    return table


def panel_tables(title: str, first: Column, names: Sequence[str], cells: Mapping[str, Sequence[str]]) -> ForWidth:
    """Tables with a row per name and a column per key of `cells`, as many side by side as fit the window."""
    return ForWidth(lambda width: table_panels(title, first, names, cells, width))


def table_panels(
    title: str,
    first: Column,
    names: Sequence[str],
    cells: Mapping[str, Sequence[str]],
    width: int,
    kind: Options = NUMBER,
) -> list[Table]:
    def table(headers: Sequence[str]) -> Table:
        rows = [(name, *(cells[header][place] for header in headers)) for place, name in enumerate(names)]
        return new_table(title + (", continued" if found else ""), [first, *table_columns(kind, *headers)], rows)

    found: list[Table] = []
    shown: list[str] = []
    for header in cells:
        if shown and table([*shown, header]).least() > width:
            found.append(table(shown))
            shown = []
        shown.append(header)
    return [*found, table(shown)] if shown else found


def new_table(title: str, kinds: Iterable[Column] = (), rows: Iterable[Sequence[str | Cell]] = ()) -> Table:
    """A table without vertical lines. All text is shown as it is."""
    table = Table(title, [(kind, TEXT) if isinstance(kind, str) else kind for kind in kinds])
    for row in rows:
        table.add(*row)
    return table


def table_columns(kind: Options, *headers: str) -> list[Column]:
    return [(header, kind) for header in headers]


def styled_cell(word: str, text: str = "") -> Cell:
    """A verdict or status, or a text that says more, in its colour."""
    return text or word, STYLES.get(word, "")
