"""What a self-test found, in words and as a table, for terminal and page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kernelbench.report import view
from kernelbench.report.tables import RIGHT, new_table, table_columns
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from rich.console import RenderableType

HEADERS = ("kernels of", "rows", "95 % within", "found from")
MEANING = (
    "95 % within: how far most ratios of two rows of the same code are from 1. Found from: the smallest difference "
    "that would get the verdict FASTER or SLOWER on 95 % of the rows."
)


def self_test_figures(run: Run) -> Mapping[str, Any] | None:
    """The figures of environment.json; None if the run is no self-test, or was stopped too early."""
    test = run.environment.get("self_test") or {}
    return test if test.get("rows") else None


def self_test_sentences(test: Mapping[str, Any]) -> list[str]:
    rows, false = test["rows"], test.get("false_verdicts") or 0
    drift, signed = test.get("drift"), test.get("drift_signed")
    told = f"{false} of {rows} rows, each beside a twin of itself, {'is' if false == 1 else 'are'} falsely told apart"
    lines = [f"{told} ({_percent(false / rows)}); {test.get('same')} are SAME, {test.get('unsure')} UNSURE."]
    if drift is not None:
        tail = "" if signed is None else f"; with its sign {_percent(signed, signed=True)}"
        lines.append(
            f"Drift from the first half of the rounds to the second: {_percent(drift)}, median over the rows{tail}."
        )
    return lines + [f"False: {view.text_or_empty(one)}" for one in test.get("false_rows") or ()]


def self_test_rows(test: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """A line per length of kernel, under HEADERS."""
    return [
        (
            _length_text(one),
            view.text_or_empty(one.get("rows")),
            *(_percent(one.get(key)) for key in ("within", "detectable")),
        )
        for one in test.get("lengths") or ()
    ]


def section(run: Run) -> dict[str, Any] | None:
    test = self_test_figures(run)
    if test is None:
        return None
    return {
        "sentences": self_test_sentences(test),
        "headers": HEADERS,
        "rows": self_test_rows(test),
        "meaning": MEANING,
    }


def table(test: Mapping[str, Any]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    kinds = [HEADERS[0], *table_columns(RIGHT, *HEADERS[1:])]
    shown = new_table("Smallest difference found, by length of kernel", kinds, self_test_rows(test))
    return Group(*(Text(line) for line in self_test_sentences(test)), Text(""), shown, Text(MEANING, "dim"))


def _length_text(one: Mapping[str, Any]) -> str:
    low, high = one.get("from_s"), one.get("to_s")
    if not low:
        return f"under {_short(high)}"
    return f"{_short(low)} to {_short(high)}" if high else f"{_short(low)} and more"


def _short(seconds: float | None) -> str:
    """`20 µs`, `1 ms`: a round number of seconds."""
    if seconds is None:
        return ""
    return f"{1e3 * seconds:g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:g} µs"


def _percent(share: float | None, *, signed: bool = False) -> str:
    return "-" if share is None else f"{100 * share:{'+' if signed else ''}.2f} %"
