"""What a run of the simulator shows instead of times: tables for the terminal, charts, rows of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log2
from typing import TYPE_CHECKING, Any

from kernelbench.compare.comparison import ComparedRow, baseline_names
from kernelbench.compare.counted_runs import counted_of_run
from kernelbench.core.counters import SECTOR_BYTES
from kernelbench.core.units import bytes_text, count_text
from kernelbench.explain.counted import METRICS, Counted, Metric
from kernelbench.report import heat, view
from kernelbench.report.drawing import Chart
from kernelbench.report.table_widths import ForWidth, Table
from kernelbench.report.tables import NUMBER, RIGHT, block_table, table_columns, table_panels
from kernelbench.runs.results import Run

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Shown:
    """One number per implementation and case."""

    name: str  # of its chart's file
    title: str
    caption: str
    value: Callable[[Counted], float | None]
    text: Callable[[float], str]
    ideal: float  # the best possible value
    doublings: float  # from the ideal to the strongest colour


def _traffic(one: Counted) -> float | None:
    return SECTOR_BYTES * one.counters.global_sectors / one.least_bytes if one.least_bytes else None


def _per_32_elements(one: Counted) -> float | None:
    """Warp instructions per 128 bytes of the least traffic: 32 elements of 4 bytes."""
    return one.counters.warp_instructions / (one.least_bytes / 128) if one.least_bytes else None


SHOWN = (
    Shown("traffic", "Sectors touched, in multiples of the fewest possible",
          "Sectors of 32 bytes that loads, stores and atomics touch, over the least traffic: each input read once, "
          "each output written once. Caches answer part of what is above 1.",
          _traffic, view.shown_ratio, 1.0, 4.0),
    Shown("wavefronts", "Wavefronts per shared-memory access",
          "Passes over the 32 banks for a load or store of shared memory. Above 1 for accesses of 4 bytes: bank "
          "conflicts.",
          METRICS["wavefronts"].value, view.shown_ratio, 1.0, 4.0),
    Shown("instructions", "Warp instructions per 128 bytes that must move",
          "PTX instructions that warps execute; machine code differs.",
          _per_32_elements, lambda value: view.shown_ratio(value) if value < 10 else count_text(value), 1.0, 8.0),
    Shown("lanes", "Active lanes per warp instruction, of 32",
          "The rest is masked off: by a condition, by the end of a row, or for want of work.",
          METRICS["lanes"].value, lambda value: f"{value:.0f}", 32.0, -2.0),
)  # fmt: skip
_SAMPLED = " Some are scaled up from a sample of blocks, and may come out a little below 1."
NARROW = 48  # most characters of a case
IN_TERMINAL = ("traffic", "wavefronts", "instructions")


def charts(run: Run) -> list[Chart]:
    """A heat table per number that the run has."""
    values = {shown: _values(run, shown) for shown in SHOWN}
    remark = _SAMPLED if any(row.sampled for row in run.rows) else ""
    return [
        Chart(
            shown.name, shown.title, shown.caption + (remark if shown.name == "traffic" else ""),
            partial(heat.heat_figure, _panels(run, of_shown, shown), _order(of_shown)),
        )
        for shown, of_shown in values.items()
        if of_shown
    ]  # fmt: skip


def _values(run: Run, shown: Shown) -> dict[str, dict[str, float]]:
    """Counts by implementation, then case; an implementation without any is left out."""
    found: dict[str, dict[str, float]] = {}
    for case, counted in counted_of_run(run).items():
        for name, one in counted.items():
            value = shown.value(one)
            if value is not None:
                found.setdefault(name, {})[case] = value
    return found


def _order(values: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Implementations by their median case, the least first."""
    return sorted(values, key=lambda name: sorted(values[name].values())[len(values[name]) // 2])


def _panels(run: Run, values: Mapping[str, Mapping[str, float]], shown: Shown) -> list[heat.HeatPanel]:
    present = {case for of_name in values.values() for case in of_name}
    panels = []
    for dtype in dict.fromkeys(row.dtype for row in run.rows if row.case in present):
        cases = {row.case: row.words for row in run.rows if row.dtype == dtype and row.case in present}
        cells = [
            heat.Cell(case, name, shown.text(value), _strength(value, shown))
            for name, of_name in values.items()
            for case, value in of_name.items()
            if case in cases
        ]
        panels.append(heat.HeatPanel(f"{dtype}, {shown.title[0].lower()}{shown.title[1:]}", cases, cells))
    return panels


def _strength(value: float, shown: Shown) -> float:
    """0 at the ideal, 1 at `shown.doublings` doublings from it."""
    return min(1.0, max(0.0, log2(max(value, 1e-9) / shown.ideal) / shown.doublings))


# ---- Terminal ------------------------------------------------------------------------------------


def tables(run: Run) -> RenderableType:
    """A row per implementation and a column per case, or the other way round if that takes fewer tables."""
    return ForWidth(lambda width: _tables(run, width))


def _tables(run: Run, width: int) -> list[Table]:
    labels = view.case_labels(view.words_by_case(run))
    found: list[Table] = []
    for shown in SHOWN:
        values = _values(run, shown) if shown.name in IN_TERMINAL else {}
        cases = {case: label for case, label in labels.items() if any(case in of_name for of_name in values.values())}
        texts = {(name, case): shown.text(value) for name, of_name in values.items() for case, value in of_name.items()}
        names = [name for name in view.implementation_names(run) if name in values]
        columns_of = {label: [texts.get((name, case), "-") for name in names] for case, label in cases.items()}
        turned = {name: [texts.get((name, case), "-") for case in cases] for name in names}
        upright = table_panels(shown.title, "implementation", names, columns_of, width, RIGHT)
        across = table_panels(shown.title, ("case", {"max_width": NARROW}), list(cases.values()), turned, width, RIGHT)
        found += upright if len(upright) <= len(across) else across
    return found


def note(run: Run) -> str:
    sampled = sum(bool(row.sampled) for row in run.rows)
    total = sum(row.counters is not None for row in run.rows)
    text = "The simulator counts what the PTX does, summed over all launches."
    if sampled:
        text += f" {sampled} of {total} rows ran a sample of their blocks, scaled up to all; --full runs every block."
    if any(_has_gap(_values(run, shown)) for shown in SHOWN if shown.name in IN_TERMINAL):
        text += " -: no such access, or no counts, for the reason below."
    return text


def _has_gap(values: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether an implementation lacks the number on a case where another has it."""
    return any(of_name.keys() != {case for one in values.values() for case in one} for of_name in values.values())


def ratios_table(rows: Sequence[ComparedRow], labels: Mapping[str, str]) -> Table:
    """Rows of a comparison: each count over that of the baseline, a block per case."""
    shown = {header: of for header, of in _COMPARED.items() if any(of(row)[0] for row in rows)}

    def cells(row: ComparedRow) -> list[str]:
        itself = row.implementation == row.baseline  # shows its counts; others show the ratio of theirs to these
        found = (of(row) for of in shown.values())
        return [text(count) if itself else view.ratio_text(ratio) for count, ratio, text in found]

    title = f"Counts over those of {baseline_names(rows)}"
    kinds = [("case, implementation", {"max_width": 34}), *table_columns(NUMBER, *shown)]
    counted = [row for row in rows if any(of(row)[0] is not None for of in shown.values())]
    return block_table(title, kinds, counted, labels, cells)


# Count, ratio to the baseline's, and how the count is written, by header.
_COMPARED: Mapping[str, Callable[[ComparedRow], tuple[int | None, float | None, Callable[[float | None], str]]]] = {
    "global\ntraffic": lambda row: (row.global_bytes, row.global_bytes_ratio, bytes_text),
    "distinct\nbytes": lambda row: (row.distinct_bytes, row.distinct_bytes_ratio, bytes_text),
    "shared\nwavefronts": lambda row: (row.shared_wavefronts, row.shared_wavefronts_ratio, count_text),
    "warp\ninstr.": lambda row: (row.warp_instructions, row.warp_instructions_ratio, count_text),
}


# ---- Page ----------------------------------------------------------------------------------------


def page_table(run: Run) -> dict[str, Any]:
    """Headers with their meanings, and a row per case and implementation; {} for a run that counted nothing."""
    counted = counted_of_run(run)
    everyone = [one for of_case in counted.values() for one in of_case.values()]
    metrics = [metric for metric in METRICS.values() if metric.shown and any(metric.value(one) for one in everyone)]
    if not metrics:
        return {}
    labels = view.case_labels(view.words_by_case(run))
    rows = [
        {
            "case": labels[row.case],
            "implementation": row.implementation,
            "status": row.status,
            "word": "" if row.status == "ok" else view.shown_status(row.status, row.role),
            "cells": [page_cell(counted.get(row.case, {}).get(row.implementation), metric) for metric in metrics],
            "note": row.sampled or ("" if row.status == "ok" else row.reason),
        }
        for row in run.rows
    ]
    return {"headers": [(metric.header.replace("\n", " "), metric.meaning) for metric in metrics], "rows": rows}


def page_cell(one: Counted | None, metric: Metric) -> dict[str, str]:
    """A number to sort by, and its text."""
    value = None if one is None else one.value(metric.name)
    return {"value": "", "text": ""} if value is None else {"value": f"{value:.6g}", "text": metric.text(value)}
