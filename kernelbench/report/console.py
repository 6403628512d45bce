"""Tables of measured results for the terminal (rich). Colour only repeats what a word says, so a pipe
loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kernelbench.compare.comparison import ComparedRow, Comparison, baseline_names
from kernelbench.compare.ratios import PUBLISHED
from kernelbench.compare.step_sums import sum_of
from kernelbench.compare.verdicts import ClaimVerdict, some_labels
from kernelbench.core.units import digits, energy_text, rate_text, share_text, time_column, time_text
from kernelbench.report import counts, step, tables, view
from kernelbench.report.table_widths import Cell, Options, Table
from kernelbench.runs.results import Run
from kernelbench.runs.row_records import Row

if TYPE_CHECKING:
    from rich.console import RenderableType

PRECISE = 0.005  # half width of an interval, as a share of the median, that needs no remark
SPARE: Mapping[str, Options] = {  # columns that narrow windows leave out, the first of them first
    "by": {"spare": 4},
    "ceiling": {"spare": 3},
    "of its peak": {"spare": 2},
    "95 %": {"spare": 1},
}
NEAR_FLOOR, DISTURBED = "°", "!"  # marks of a time


def results_table(run: Run) -> RenderableType:
    """Median times: a row per case, a column per implementation, in panels as wide as the window, per cache state.

    For a run of the simulator, what it counted; for a step, the sum of its parts.
    """
    from rich.console import Group
    from rich.text import Text

    if summed := sum_of(run):
        return step.table(summed)
    rows, labels = view.shown_rows(run), view.case_labels(view.words_by_case(run))
    parts: list[RenderableType] = []
    for cache in sorted({row.cache for row in rows}):  # cold first
        parts.append(_time_panels([row for row in rows if row.cache == cache], run, labels, cache))
    if parts:
        parts.append(Text(_legend(rows), "dim"))
    if run.simulated:
        parts += [counts.tables(run), Text(counts.note(run), "dim")]
    missing = view.reason_groups(run.rows)
    if missing:
        parts.append(tables.reasons_table(missing, labels, "Without counts" if run.simulated else "Without a time"))
    if disturbed := view.disturbed_groups(rows):  # because there were too few other samples
        lines = [(labels[case], what, ", ".join(names)) for case, what, names in disturbed]
        parts.append(tables.new_table("Disturbed", ("case", "cache, what was seen", "implementations"), lines))
    return Group(*parts)


def _legend(rows: Sequence[Row]) -> str:
    parts = ["-: no time, reason below. ±: half width of the 95 % interval, where above 0.5 %."]
    if any(row.floor_limited for row in rows):
        parts.append(f"{NEAR_FLOOR}: floor-limited, below 3 times an empty kernel.")
    if any(row.disturbed for row in rows):
        parts.append(f"{DISTURBED}: disturbed, see below.")
    return " ".join(parts)


def _time_panels(rows: Sequence[Row], run: Run, labels: Mapping[str, str], cache: str) -> RenderableType:
    """The tables of one cache state, each with as many implementations as fit."""
    time = time_column(map(view.median_seconds, rows))
    cells = {(row.case, row.implementation): _time_cell(row, time) for row in rows}
    methods = {row.case: row.method for row in rows}
    used = set(methods.values())
    starts = {case: label for case, label in labels.items() if cache == "cold" or case in methods}
    if len(used) > 1:
        starts = {case: f"{label} ({methods.get(case, 'no time')})" for case, label in starts.items()}
    title = f"Median time, {cache}" + (f", by {next(iter(used))}" if len(used) == 1 else "")
    present = {row.implementation for row in rows}
    names = [name for name in view.implementation_names(run) if name in present]
    shown = {_broken(name): [cells.get((case, name), "-") for case in starts] for name in names}
    return tables.panel_tables(title, ("case", {"max_width": 40}), list(starts.values()), shown)


def _time_cell(row: Row, time: Callable[[float | None], str]) -> str:
    """`26.43 µs`, with marks for what makes it less certain, or `26.43 µs ±2%` where the interval is wide."""
    seconds = view.median_seconds(row)
    half = (row.high_s - row.low_s) / 2 / seconds if row.low_s and row.high_s else 0.0
    remark = f"\n±{100 * half:.1f} %" if half > PRECISE else ""
    marks = (NEAR_FLOOR if row.floor_limited else "") + (DISTURBED if row.disturbed else "")
    return time(seconds) + marks + remark


def _broken(name: str) -> str:
    """Break a name at underscores into lines of about 12 characters."""
    lines = [""]
    for word in name.replace("_", "_\0").split("\0"):
        if lines[-1] and len(lines[-1]) + len(word) > 12:
            lines.append("")
        lines[-1] += word
    return "\n".join(lines)


def comparison_table(comparison: Comparison, run: Run) -> RenderableType:
    """Speed-ups against the baseline with their intervals, beside the published ones; a block per case. For a
    step, also the sum of its parts."""
    from rich.console import Group
    from rich.text import Text

    labels = view.case_labels(view.words_by_case(run))
    summed = sum_of(run)
    parts: list[RenderableType] = [step.table(summed)] if summed else []
    for cache in dict.fromkeys(row.cache for row in comparison):
        rows = [row for row in comparison if row.cache == cache]
        parts.append(counts.ratios_table(rows, labels) if run.simulated else _speedups(rows, labels, cache))
        parts += [Text(note, "dim") for note in _notes(rows, labels)]
        parts.append(Text(""))
    return Group(*parts)


def _speedups(rows: Sequence[ComparedRow], labels: Mapping[str, str], cache: str) -> Table:
    """The comparison of one cache state; columns that nobody fills are left out."""
    devices = {row.published_device for row in rows if _published(row, False) or _is_abroad(row)}
    methods = {row.method for row in rows} - {""}
    time = time_column(row.median_s for row in rows)
    cells: dict[str, Callable[[ComparedRow], str]] = {
        "by": lambda row: row.method if len(methods) > 1 else "",
        "time": lambda row: time(row.median_s),
        "speed-up": lambda row: "1" if row.is_baseline else view.ratio_text(row.speedup),
        "95 %": _interval,
        "ceiling": lambda row: share_text(row.share_of_ceiling),
        "energy": lambda row: energy_text(row.energy_j),
        "GB per J": lambda row: "" if row.bytes_per_j is None else digits(row.bytes_per_j / 1e9, 3),
        "published": lambda row: _published(row, with_device=len(devices) > 1),
        "of its peak": lambda row: share_text(row.published_share) if _is_abroad(row) else "",
    }
    cells = {header: cell for header, cell in cells.items() if any(cell(row) for row in rows)}

    title = f"Speed-up over {baseline_names(rows)}" + (f", {cache}" if cache else "")
    title += f", by {min(methods)}" if len(methods) == 1 else ""
    numbers = [(header, {**tables.RIGHT, "max_width": 22, **SPARE.get(header, {})}) for header in cells]
    table = tables.block_table(
        title, [("case, implementation", {"max_width": 34}), *numbers, ("verdict", tables.WORD)], rows, labels,
        lambda row: [*(cell(row) for cell in cells.values()), _verdict(row)],
    )  # fmt: skip
    notes = {"speed-up": f"published: on {min(devices)}"} if len(devices) == 1 else {}
    if "published" in cells and not all(_published(row, False) for row in rows if row.implementation != row.baseline):
        notes["published"] = "published: empty where nothing was published."
    if any(row.more_samples for row in rows):
        notes["verdict"] = "UNSURE +N: about N more samples of each would decide."
    table.notes = {**notes, "95 %": "95 %: half width of the interval of the speed-up."}
    return table


def _verdict(row: ComparedRow) -> str | Cell:
    if row.is_baseline:
        return "baseline"
    return tables.styled_cell(row.verdict, view.verdict_text(row.verdict, row.more_samples))


def _is_abroad(row: ComparedRow) -> bool:
    """Whether the ratio is against the implementation's own time on the GPU that it was published for."""
    return row.baseline == PUBLISHED and row.speedup is not None


def _interval(row: ComparedRow) -> str:
    low, high = row.speedup_low, row.speedup_high
    if row.is_baseline or not row.speedup or low is None or high is None:
        return ""
    return f"±{100 * max(high - row.speedup, row.speedup - low) / row.speedup:.1f} %"


def _published(row: ComparedRow, with_device: bool) -> str:
    if row.published_speedup is None or row.implementation == row.baseline:
        return ""
    return view.ratio_text(row.published_speedup) + (f" {row.published_device}" if with_device else "")


def _notes(rows: Sequence[ComparedRow], labels: Mapping[str, str]) -> list[str]:
    """Why cells are empty, a line per reason. Reasons of one implementation that differ in their numbers alone are one
    line with the first of them. The verdict of an UNSURE row says how many samples are missing."""
    reasons: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows:
        if row.reason and not row.is_baseline and not row.more_samples:
            name, _, why = row.reason.partition(": ")  # `ft: wrong (..)`; a reason of other form stays whole
            alike = reasons.setdefault((name, view.without_numbers(why)), {})
            alike.setdefault(row.reason, []).append(labels[row.case])
    return [_note(alike) for alike in reasons.values()]


def _note(alike: Mapping[str, Sequence[str]]) -> str:
    """`alike`: the cases of each reason."""
    (first, cases), *others = alike.items()
    more = [case for _, where in others for case in where]
    return f"{some_labels(cases, 3)}: {first}" + (f"; alike on {some_labels(more, 3)}" if more else "")


def claims_table(verdicts: Iterable[ClaimVerdict]) -> Table:
    """Whether each published claim holds, in a sentence; below it direction and size, as they were asked for."""
    kinds = (("claim", {"max_width": 26}), "verdict", "")
    rows: list[Sequence[str | Cell]] = []
    for one in verdicts:
        rows.append((one.id, tables.styled_cell(one.verdict), one.sentence))
        for name, part in (("direction", one.direction), ("size", one.size)):
            if part is not None:
                rows.append((f"  {name}", f"  {part.answer}", f"{part.required} ({view.asked_by(part)})"))
    return tables.new_table("Published claims", kinds, rows)


def limits_line(run: Run) -> str:
    """Floor and ceiling of this GPU in this run, on one line."""
    if run.simulated:
        return f"{run.device}: counts of what kernels do; the simulator has no times{_stopped(run)}"
    limits = run.environment.get("limits") or {}
    floor, graph, dram = (limits.get(name) for name in ("floor_s", "graph_floor_s", "dram_bytes_per_s"))
    parts = []
    if floor is not None:
        by_graph = f", by graph {time_text(graph)}" if graph else ""
        parts.append(f"an empty kernel takes {time_text(floor)} (floor{by_graph})")
    if dram is not None:
        copy = limits.get("dram_copy")
        parts.append(f"the best copy reaches {rate_text(dram)} (ceiling{f', {copy}' if copy else ''})")
    return f"{run.device}: {'; '.join(parts) or 'floor and ceiling are not known'}{_stopped(run)}"


def _stopped(run: Run) -> str:
    return "; the run was stopped before its end, other cases are missing" if run.stopped else ""
