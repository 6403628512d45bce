"""Tables of measured results for the terminal (rich). Colour only repeats what a word says, so a pipe loses nothing.

All tables fit 100 columns; long text is folded, never cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernelbench.compare.step_sums import sum_of
from kernelbench.core.units import rate_text, share_text, time_text
from kernelbench.report import counts, step, view
from kernelbench.report.lists import (
    STYLES,
    WIDTH,
    BuildLine,
    build_table,
    check_table,
    list_table,
    new_table,
    plan_table,
)

if TYPE_CHECKING:
    import pandas
    from rich.console import RenderableType
    from rich.table import Table

    from kernelbench.runs.results import Run

__all__ = [
    "BuildLine", "build_table", "check_table", "claims_table", "comparison_table", "limits_line", "list_table",
    "panels", "plan_table", "results_table",
]  # fmt: skip

PRECISE = 0.005  # half width of an interval, as a share of the median, that needs no remark
NEAR_FLOOR, DISTURBED = "°", "!"  # marks of a time
BETWEEN = 2  # characters between two columns of `new_table`


def results_table(run: Run) -> RenderableType:
    """Median times: a row a case, a column an implementation, panels of at most 100 columns, one set a cache.

    Of a run of the simulator, what it counted; of a step, its parts added up.
    """
    from rich.console import Group
    from rich.text import Text

    summed = sum_of(run)
    if summed is not None:
        return step.table(summed)
    methods = view.shown_methods(run.table)
    rows, labels = view.shown_rows(run.table, methods), view.case_labels(run.table["case"])
    parts: list[RenderableType] = []
    for cache in sorted(rows["cache"].unique()):  # cold first
        parts += _time_panels(rows[rows["cache"] == cache], run.table, labels, methods, cache)
    if parts:
        parts.append(Text(_legend(rows), "dim"))
    if run.simulated:
        parts += [*counts.tables(run), Text(counts.note(run), "dim")]
    missing = view.reason_groups(run.table)
    if missing:
        parts.append(_reasons(missing, labels, "Without counts" if run.simulated else "Without a time"))
    if disturbed := view.disturbed_groups(rows):
        parts.append(_disturbed(disturbed, labels))
    return Group(*parts)


def _legend(rows: pandas.DataFrame) -> str:
    """What marks mean; those of single rows only where there are such."""
    parts = ["-: no time, reason below. ±: half width of the 95 % interval, where above 0.5 %."]
    if (rows["floor_limited"] != "").any():
        parts.append(f"{NEAR_FLOOR}: floor-limited, below 3 times an empty kernel.")
    if (rows["disturbed"] != "").any():
        parts.append(f"{DISTURBED}: disturbed, see below.")
    return " ".join(parts)


def _time_panels(
    rows: pandas.DataFrame,
    everything: pandas.DataFrame,
    labels: Mapping[str, str],
    methods: Mapping[tuple[str, str], str],
    cache: str,
) -> list[RenderableType]:
    """The tables of one cache state: as many implementations in each as fit."""
    from rich.text import Text

    cells = {(row["case"], row["implementation"]): _time_cell(row) for row in view.records(rows)}
    cases = [case for case in dict.fromkeys(everything["case"]) if cache == "cold" or case in set(rows["case"])]
    used = {methods[case, cache] for case in cases if (case, cache) in methods}
    starts = {case: labels[case] for case in cases}
    if len(used) > 1:
        starts = {case: f"{labels[case]} ({methods.get((case, cache), 'no time')})" for case in cases}
    first = min(40, max(map(len, starts.values())))
    title = f"Median time, {cache}" + (f", by {next(iter(used))}" if len(used) == 1 else "")
    columns = {
        _broken(name): [cells.get((case, name), "-") for case in cases]
        for name in dict.fromkeys(everything["implementation"])
        if name in set(rows["implementation"])
    }
    tables: list[RenderableType] = []
    for panel in panels(columns, WIDTH - first - BETWEEN):
        table = new_table(title + (", continued" if tables else ""))
        table.add_column("case", overflow="fold", max_width=first)
        for header in panel:
            table.add_column(Text(header), justify="right", no_wrap=True)
        for position, case in enumerate(cases):
            table.add_row(Text(starts[case]), *(columns[header][position] for header in panel))
        tables.append(table)
    return tables


def panels(columns: Mapping[str, Sequence[str]], width: int) -> list[list[str]]:
    """Headers gathered in order, so that the columns of each group fit `width` characters."""
    panels: list[list[str]] = []
    left = 0
    for header, cells in columns.items():
        needed = BETWEEN + max(len(line) for text in (header, *cells) for line in text.split("\n"))
        if not panels or needed > left:
            panels.append([])
            left = width
        panels[-1].append(header)
        left -= needed
    return panels


def _time_cell(row: Mapping[str, Any]) -> str:
    """`26.43 us`, with the marks of what makes it less certain, or `26.43 us ±2%` where the interval is wide."""
    half = (row["high_s"] - row["low_s"]) / 2 / row["median_s"] if row["low_s"] is not None else 0.0
    remark = f"\n±{100 * half:.1f} %" if half > PRECISE else ""
    marks = (NEAR_FLOOR if row["floor_limited"] else "") + (DISTURBED if row["disturbed"] else "")
    return time_text(row["median_s"]) + marks + remark


def _broken(name: str, width: int = 12) -> str:
    """A name broken at underscores into lines of about `width` characters."""
    lines = [""]
    for word in name.replace("_", "_\0").split("\0"):
        if lines[-1] and len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(lines)


def _reasons(groups: Sequence[tuple[str, str, list[str], str]], labels: Mapping[str, str], title: str) -> Table:
    """What has no time, with its reason; many cases of one reason are counted."""
    from rich.text import Text

    table = new_table(title)
    for header in ("implementation", "status", "cases", "reason"):
        table.add_column(header, overflow="fold")
    for name, status, cases, reason in groups:
        shown = "\n".join(labels[case] for case in cases[:3]) + (f"\nand {len(cases) - 3} more" if cases[3:] else "")
        word = view.STATUS_WORDS.get(status, status)
        table.add_row(Text(name), Text(word, STYLES.get(status, "")), Text(shown), Text(reason))
    return table


def _disturbed(groups: Sequence[tuple[str, str, list[str]]], labels: Mapping[str, str]) -> Table:
    """Times that count samples which something disturbed, for want of others."""
    from rich.text import Text

    table = new_table("Disturbed")
    for header in ("case", "cache, what was seen", "implementations"):
        table.add_column(header, overflow="fold")
    for case, what, names in groups:
        table.add_row(Text(labels[case]), Text(what), Text(", ".join(names)))
    return table


def comparison_table(table: pandas.DataFrame, run: Run) -> RenderableType:
    """Speed-ups against the baseline with their intervals, beside the published ones; a block a case. Of a step, its
    parts added up as well."""
    from rich.console import Group
    from rich.text import Text

    labels = view.case_labels([*run.table["case"], *table["case"]])
    summed = sum_of(run)
    parts: list[RenderableType] = [step.table(summed)] if summed else []
    for cache in dict.fromkeys(view.text(cache) for cache in table["cache"]):
        rows = [row for row in view.records(table) if view.text(row["cache"]) == cache]
        parts.append(counts.ratios_table(rows, labels) if run.simulated else _speedups(rows, labels, cache))
        parts += [Text(note, "dim") for note in _notes(rows, labels)]
        parts.append(Text(""))
    return Group(*parts)


def _speedups(rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str], cache: str) -> Table:
    """The comparison of one cache state; columns that nobody fills are left out."""
    from rich.text import Text

    devices = {view.text(row["published_device"]) for row in rows if _published(row, False) or _is_abroad(row)}
    methods = {view.text(row["method"]) for row in rows} - {""}
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "by": lambda row: view.text(row["method"]) if len(methods) > 1 else "",
        "time": lambda row: time_text(row["median_s"]),
        "speed-up": lambda row: "1" if _is_baseline(row) else view.ratio_text(row["speedup"]),
        "95 % interval": _interval,
        "ceiling": lambda row: share_text(row["share_of_ceiling"]),
        "published": lambda row: _published(row, with_device=len(devices) > 1),
        "of its peak": lambda row: share_text(row["published_share"]) if _is_abroad(row) else "",
    }
    columns = {header: cell for header, cell in columns.items() if any(cell(row) for row in rows)}
    of = ", ".join(dict.fromkeys(view.text(row["baseline"]) for row in rows))
    table = new_table(
        f"Speed-up over {of}" + (f", {cache}" if cache else "") + (f", by {min(methods)}" if len(methods) == 1 else "")
    )
    longest = max((len(str(row["implementation"])) for row in rows), default=0)
    table.add_column("case, implementation", overflow="fold", min_width=min(longest + 2, 34), max_width=34)
    for header in columns:
        table.add_column(header, justify="right", overflow="fold", max_width=22)
    table.add_column("verdict", no_wrap=True)
    for case in dict.fromkeys(row["case"] for row in rows):
        of_case = [row for row in rows if row["case"] == case]
        table.add_section()
        table.add_row(Text(labels[case], "bold"))
        for row in of_case:
            verdict = "baseline" if _is_baseline(row) else view.text(row["verdict"])
            said = verdict if _is_baseline(row) else view.verdict_text(row)
            cells = (cell(row) for cell in columns.values())
            table.add_row(Text(f"  {row['implementation']}"), *cells, Text(said, STYLES.get(verdict, "")))
    notes = [f"published: on {min(devices)}"] if len(devices) == 1 else []
    if any(view.number(row["more_samples"]) for row in rows):
        notes.append("UNSURE +N: about N more samples of each would decide.")
    if notes:
        table.caption, table.caption_justify = Text("\n".join(notes)), "left"
    return table


def _is_baseline(row: Mapping[str, Any]) -> bool:
    return bool(row["implementation"] == row["baseline"] and row["median_s"] is not None)


def _is_abroad(row: Mapping[str, Any]) -> bool:
    """Whether the ratio is against the implementation's own time on the GPU that it was published for."""
    return bool(row["baseline"] == "published" and row["speedup"] is not None)


def _interval(row: Mapping[str, Any]) -> str:
    low, high = row["speedup_low"], row["speedup_high"]
    return "" if _is_baseline(row) or low is None or high is None else f"{view.ratio(low)} .. {view.ratio(high)}"


def _published(row: Mapping[str, Any], with_device: bool) -> str:
    if row["published_speedup"] is None or row["implementation"] == row["baseline"]:
        return ""
    return view.ratio_text(row["published_speedup"]) + (f" {view.text(row['published_device'])}" if with_device else "")


def _notes(rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> list[str]:
    """Why cells are empty, alike reasons gathered. Of an UNSURE row its verdict says how many samples are missing."""
    cases: dict[str, list[str]] = {}
    for row in rows:
        if (
            view.text(row["reason"])
            and not _is_baseline(row)
            and not view.number(row["more_samples"])
            and labels[row["case"]] not in cases.setdefault(row["reason"], [])
        ):
            cases[row["reason"]].append(labels[row["case"]])
    return [
        f"{', '.join(where[:3])}{f' and {len(where) - 3} more' if where[3:] else ''}: {reason}"
        for reason, where in cases.items()
    ]


def claims_table(verdicts: Iterable[view.Verdict]) -> Table:
    """Whether each published claim holds, in a sentence."""
    from rich.text import Text

    table = new_table("Published claims")
    table.add_column("claim", overflow="fold", max_width=26)
    table.add_column("verdict", no_wrap=True)
    table.add_column("", overflow="fold")
    for verdict in verdicts:
        word = Text(verdict.verdict, STYLES.get(verdict.verdict, ""))
        table.add_row(Text(verdict.id), word, Text(verdict.sentence))
    return table


def limits_line(run: Run) -> str:
    """Floor and ceiling of this GPU in this run, on one line."""
    if run.simulated:
        return f"{run.device}: counts of what kernels do; the simulator has no times{_stopped(run)}"
    limits = run.environment.get("limits") or {}
    floor, graph, dram = (view.number(limits.get(name)) for name in ("floor_s", "graph_floor_s", "dram_bytes_per_s"))
    parts = []
    if floor is not None:
        parts.append(
            f"floor {time_text(floor)} (an empty kernel)" + (f", by graph {time_text(graph)}" if graph else "")
        )
    if dram is not None:
        copy = limits.get("dram_copy")
        parts.append(f"ceiling {rate_text(dram)}" + (f" (copy: {copy})" if copy else ""))
    return f"{run.device}: {'; '.join(parts) or 'floor and ceiling were not measured'}{_stopped(run)}"


def _stopped(run: Run) -> str:
    return "; the run was stopped before its end, other cases are missing" if run.stopped else ""
