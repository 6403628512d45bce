"""Hardware counters for the terminal, beside those of the simulator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernelbench.core.hardware_counters import HARDWARE_METRICS, STALLS, CountedLaunch, count_agreement
from kernelbench.core.launch_texts import extent_text
from kernelbench.core.operations import key_words
from kernelbench.core.units import bytes_text, count_text, digits, duration_text, share_text
from kernelbench.explain.profiled import ReportExplanation, stall_sentences
from kernelbench.report import explanation, profiler_commands, tables
from kernelbench.report.table_widths import Table

if TYPE_CHECKING:
    from rich.console import RenderableType

TITLE = "Hardware counters"
MOST_STALLS = 3  # reasons named per launch


def agreement_sentences(launches: Sequence[CountedLaunch], about: Mapping[str, Any]) -> list[str]:
    """The answer in a sentence or two. `about`: the entry `counters` of environment.json."""
    if why := about.get("unavailable"):
        return [f"Hardware counters were not read: {why}. counters.csv has those of the simulator alone."]
    found = count_agreement(launches)
    took = f" The pass took {duration_text(about['seconds'])}." if "seconds" in about else ""
    if not found.metrics:
        return [f"Nsight Compute recorded no launch that the simulator counts too.{took}"]
    apart = [f"{found.explained} explained"] if found.explained else []
    apart += [f"{found.unexplained} unexplained"] if found.unexplained else []
    rest = f" The others: {', '.join(apart)}." if apart else ""
    plural = "launch" if found.launches == 1 else "launches"
    return [
        f"Hardware and simulator agree on {found.equal} of {found.metrics} counters of {found.launches} {plural}."
        f"{rest}{took}"
    ]


def printed_hardware_counters(launches: Sequence[CountedLaunch], unavailable: str) -> Iterable[RenderableType]:
    """What `explain --measured` adds to a case; nothing if it was not asked for."""
    from rich.text import Text

    if not launches:
        return
    if unavailable:
        yield Text(f" Hardware counters were not read: {unavailable}.")
    title = "Counters of the simulator, in brackets" if unavailable else f"{TITLE}, the simulator's in brackets"
    yield launches_table(launches, title)
    for one in launches:
        for sentence in stall_sentences(one.implementation, one.stalls):
            yield Text(f" {one.implementation}: {sentence.text}.")
    if not unavailable:
        if differing := differences_table(launches, {}):
            yield differing
        yield Text(f" {agreement_sentences(launches, {})[0]}")


def report_parts(found: ReportExplanation) -> Iterable[RenderableType]:
    """A report of Nsight Compute: sentences, metrics by kernel, and what only hardware counts."""
    from rich.text import Text

    kernels = "1 kernel" if len(found.launches) == 1 else f"{len(found.launches)} kernels"
    yield Text(f"{found.case}: {kernels}" + (f" on {found.gpu}" if found.gpu else ""), "bold")
    yield explanation.sentences_block(found)
    yield explanation.case_table(found)
    yield launches_table(found.launches)


def report_notes(found: ReportExplanation) -> list[str]:
    """What the figures are, and what the report lacks."""
    notes = ["Counts of the hardware. Launches of one kernel with the same grid and block are shown as their mean."]
    if found.absent:
        names = ", ".join(name.replace("_", " ") for name in found.absent)
        notes.append(f"Not in this report: {names}. `ncu --set full` collects them.")
    return notes


def hardware_rows(launches: Sequence[CountedLaunch]) -> list[dict[str, Any]]:
    """A row per launch, for programs."""
    return [
        {"report": one.case, "kernel": one.implementation, "grid": one.grid, "block": one.block}
        | {name: one.hardware.get(name) for name in HARDWARE_METRICS}
        | {f"stall_{name}": one.stalls.get(name) for name in STALLS}
        for one in launches
    ]


def hand_offs(suite: str, launches: Sequence[CountedLaunch]) -> list[str]:
    """Lines with the commands that take each implementation to NVIDIA's tools."""
    found = []
    for name in dict.fromkeys(one.implementation for one in launches):
        own = [one for one in launches if one.implementation == name]
        entries = [one.kernel for one in own if one.simulated]
        both = profiler_commands.profiler_commands(suite, key_words(own[0].case), name, entries)
        found += [f"To profile and to check {name}:", f"  {both.ncu}", f"  {both.sanitizer}"]
    return found


def differences_table(launches: Sequence[CountedLaunch], labels: Mapping[str, str]) -> Table | None:
    """Launches whose counters differ from the simulator's, with what explains it; None without any. `labels`: of the
    cases, by their keys."""
    rows = [
        (labels.get(one.case, one.case), one.implementation, str(one.launch), _spaced(one.differences), _why(one))
        for one in launches
        if one.differences
    ]
    if not rows:
        return None
    kinds: list[tables.Column] = ["case", "implementation", ("launch", tables.NUMBER), "hardware / simulator", "why"]
    return tables.new_table("Counters that differ", kinds, rows)


def _why(one: CountedLaunch) -> str:
    unexplained = [f"{', '.join(one.unexplained)}: unexplained"] if one.unexplained else []
    return _spaced("; ".join([*filter(None, [one.explanation]), *unexplained]))


def _spaced(text: str) -> str:
    """Names of metrics as words."""
    for name in HARDWARE_METRICS:
        text = text.replace(name, name.replace("_", " "))
    return text


def launches_table(launches: Sequence[CountedLaunch], title: str = TITLE) -> RenderableType:
    """A row per launch: each metric as the hardware counts it, with the simulator's count where that differs."""
    names = [_name(one, launches) for one in launches]
    cells = {
        which: [extent_text(size) if (size := getattr(one, which)) else "" for one in launches]
        for which in ("grid", "block")
        if any(getattr(one, which) for one in launches)
    }
    cells |= {
        name.replace("_", "\n", 1).replace("_", " "): [_cell(one, name) for one in launches]
        for name in HARDWARE_METRICS
        if any(one.hardware.get(name) or one.simulated.get(name) for one in launches)
    }
    if any(one.agreement for one in launches):
        cells["agreement"] = [one.agreement or "-" for one in launches]
    if any(one.stalls for one in launches):
        cells["most frequent\nstalls"] = [_stalls(one) for one in launches]
    return tables.panel_tables(title, "launch", names, cells)


def _name(one: CountedLaunch, launches: Sequence[CountedLaunch]) -> str:
    several = sum(other.implementation == one.implementation for other in launches) > 1
    return f"{one.implementation} {one.launch}" if several else one.implementation


def _cell(one: CountedLaunch, name: str) -> str:
    """`16.4 k`, with the simulator's in brackets where it differs, and alone, marked, where there is no other."""
    real, simulated = one.hardware.get(name), one.simulated.get(name)
    if real is None:
        return "-" if simulated is None else f"({count_text(simulated)})"
    text = _text(name, real)
    return text if simulated is None or simulated == round(real) else f"{text} ({count_text(simulated)})"


def _text(name: str, value: float) -> str:
    if name == "achieved_occupancy":
        return share_text(value)
    if name == "lanes_per_instruction":
        return digits(value, 3)
    return bytes_text(value) if HARDWARE_METRICS[name].unit == "B" else count_text(value)


def _stalls(one: CountedLaunch) -> str:
    """The most frequent reasons for which warps wait, in cycles per instruction."""
    named = sorted((-value, name) for name, value in one.stalls.items() if name != "selected")
    return ", ".join(f"{name.replace('_', ' ')} {digits(-value, 2)}" for value, name in named[:MOST_STALLS])
