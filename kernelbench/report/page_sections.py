"""The contents of the HTML page, section by section, as plain texts and numbers. The template only lays them out."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelbench.compare.comparison import ComparedRow, Comparison, baseline_names
from kernelbench.compare.step_sums import step_of
from kernelbench.compare.verdicts import NOT_DECIDED, ClaimVerdict
from kernelbench.core import places
from kernelbench.core.units import bytes_text, duration_text, rate_text, time_text
from kernelbench.report import peer_texts, peers, strips, summary, view
from kernelbench.report.profiler_commands import kept_options, strip_options
from kernelbench.runs.results import Run
from kernelbench.runs.row_records import Row

_OF_A_PART, _FLAGS_OF_A_PART = ("--part", "--out", "--device"), ("--resume",)  # options of `kernelbench run`
_UNITS: Mapping[str, Callable[[float], str]] = {
    " bytes per s": rate_text,
    " bytes": bytes_text,
    " hz": lambda number: f"{number / 1e6:.0f} MHz",
}
_HASH = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{4,}\b")


def header(run: Run, comparison: Comparison, verdicts: Sequence[ClaimVerdict]) -> dict[str, Any]:
    """Title, the answer in a sentence, and what the run was."""
    environment, cases = run.environment, view.words_by_case(run)
    counts = Counter(view.shown_status(row.status, row.role) for row in run.rows)
    troubles = ("wrong", "failed", "unsupported", "skipped", view.AS_EXPECTED)
    limits = environment.get("limits") or {}
    return {
        "title": view.text_or_empty(environment.get("title")) or run.suite,
        "suite": run.suite,
        "device": run.device,
        "simulated": run.simulated,
        "date": view.text_or_empty(environment.get("started"))[:10],
        "answer": _answer(run, comparison, verdicts),
        "cases": len(cases),
        "implementations": len(view.implementation_names(run)),
        "measured": counts["ok"],
        "troubles": [f"{counts[status]} {status}" for status in troubles if counts[status]],
        "alarm": bool(counts["wrong"] or counts["failed"]),
        "floor": time_text(limits.get("floor_s")),
        "graph_floor": time_text(limits.get("graph_floor_s")),
        "ceiling": rate_text(limits.get("dram_bytes_per_s")),
        "ceiling_copy": view.text_or_empty(limits.get("dram_copy")),
        "l2": rate_text(limits.get("l2_bytes_per_s")),
        "common": view.shared_words(cases),
        "stopped": run.stopped,
    }


def _answer(run: Run, comparison: Comparison, verdicts: Sequence[ClaimVerdict]) -> str:
    """On the simulator only some claims can be judged; the others are not worth a sentence each."""
    if not run.simulated:
        found = [] if verdicts else peers.peer_cases(run)
        said = (
            [peer_texts.peers_headline(found)]
            if found
            else []
            if verdicts
            else summary.run_headline(run, comparison, ())
        )
        return " ".join(said) or view.claims_answer(verdicts, run.device)
    judged = [one for one in verdicts if one.verdict != NOT_DECIDED]
    rest = len(verdicts) - len(judged)
    why = "they need times of a GPU, or counts that this run lacks"
    undecided = f" {rest} of {len(verdicts)} published claims are not decided: {why}." if rest else ""
    return f"Kernels were executed and counted, not timed: {run.device}.{undecided}"


def measurements(
    run: Run, comparison: Comparison, labels: Mapping[str, str], with_strips: bool
) -> list[dict[str, Any]]:
    """Every row of results.csv, in its order."""
    speedups = {(row.case, row.implementation, row.cache, row.method): row for row in comparison}
    paths = strips.sample_strips(run.samples) if with_strips else {}
    lines = []
    for row in run.rows:
        key = (row.case, row.implementation, row.cache, row.method)
        line = {"case": labels[row.case], "implementation": row.implementation, "status": row.status}
        if row.status == "ok":
            line |= _time_cells(row) | _speedup_cells(speedups.get(key)) | {"strip": paths.get(key, "")}
        lines.append(line | {"word": view.shown_status(row.status, row.role), "note": _note(row)})
    return lines


def _time_cells(row: Row) -> dict[str, str]:
    median, low, high, bandwidth = row.median_s, row.low_s, row.high_s, row.bandwidth_bytes_per_s
    return {
        "cache": row.cache,
        "method": row.method,
        "seconds": "" if median is None else f"{median:.4g}",  # of a simulator's run that does not say it is one
        "median": time_text(median),
        "half": "" if median is None or low is None or high is None else f"{50 * (high - low) / median:.2f}",
        "share": "" if row.share_of_ceiling is None else f"{100 * row.share_of_ceiling:.0f}",
        "bandwidth": "" if bandwidth is None else f"{bandwidth / 1e9:.0f}",
        "samples": view.text_or_empty(row.samples),
        "range": f"5 % below {time_text(row.p5_s)}, 5 % above {time_text(row.p95_s)}",
    }


def _speedup_cells(row: ComparedRow | None) -> dict[str, str]:
    if row is None or row.speedup is None:
        return {"speedup": "", "speedup_interval": "", "verdict": ""}
    low, high = row.speedup_low, row.speedup_high
    interval = "" if low is None or high is None else f"{view.shown_ratio(low)} to {view.shown_ratio(high)}"
    return {
        "speedup": view.shown_ratio(row.speedup),
        "speedup_interval": interval,
        "verdict": view.verdict_text(row.verdict, row.more_samples),
    }


def _note(row: Row) -> str:
    """What to know of a row: its reason, and what makes its time less certain."""
    parts = (
        row.reason,
        "floor-limited" if row.floor_limited else "",
        f"stopped by the {row.stopped}" if row.stopped in ("time limit", "sample limit") else "",
        f"clock lowered: {row.throttle}" if row.throttle else "",
        f"disturbed: {row.disturbed}" if row.disturbed else "",
    )
    return "; ".join(filter(None, parts))


def problem_groups(run: Run) -> list[view.ReasonGroup]:
    """What was wrong, failed, unsupported or skipped, with its reason; wrong rows first."""
    order = {"wrong": 0, "failed": 1, "skipped": 2}
    return sorted(view.reason_groups(run.rows), key=lambda group: order.get(group.status, 3))


def launch_rows(run: Run) -> list[Row]:
    """The first row of each case and implementation that tells of its launches, or how far off the output was."""
    first = {(row.case, row.implementation): row for row in reversed(run.rows)}
    kept = {id(row) for row in first.values() if row.launch_texts or row.check}
    return [row for row in run.rows if id(row) in kept]


def environment(run: Run) -> list[tuple[str, str]]:
    """The run's environment as lines of name and value; what has a section of its own is left out."""
    left_out = {"implementations", "limits", "title", "claims", "command", "contents", "step", "self_test", "code"}
    return list(_flat({key: value for key, value in run.environment.items() if key not in left_out}))


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for key, value in values.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, Mapping):
            lines += _flat(value, f"{name}: ")
        elif value not in (None, "", []):
            lines.append(_with_unit(name, value))
    return lines


def _with_unit(name: str, value: Any) -> tuple[str, str]:
    """Units in names become units of values: `l2 bytes` 50000000 is `l2` 50.0 MB."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    for unit, written in _UNITS.items():
        if number is not None and name.endswith(unit):
            return name.removesuffix(unit), written(number)
    if number is not None and name == "wall s":
        return "duration", duration_text(number)
    if isinstance(value, list | tuple):
        return name, ("." if name.endswith("compute capability") else " ").join(map(_short, value))
    if number is not None and (name.endswith(" s") or name.startswith("seconds: ")):
        return name.removesuffix(" s"), time_text(number)
    return name, _short(value)


def _short(value: Any) -> str:
    """Numbers with four digits, the first twelve of a hash; environment.json has all of them."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return _HASH.sub(r"\1…", str(value))


def repeat_commands(run: Run, comparison: Comparison) -> list[tuple[str, str]]:
    """What to type to get this again, on this GPU or another."""
    words = view.text_or_empty(run.environment.get("command"))
    joined = "shared" in run.environment  # of parts, whose own options say nothing of the whole
    device = _device(words) if run.simulated else []
    baseline = baseline_names(comparison) or view.text_or_empty(run.environment.get("baseline"))
    several = step_of(run) or ", " in baseline  # each operation has its own
    against = ["--baseline", baseline] if baseline and not several else []
    folder = places.as_typed(run.folder)
    lines = [
        ("as it was run", strip_options(words, _OF_A_PART, _FLAGS_OF_A_PART) if joined else words),
        ("measure again", shlex.join(["kernelbench", "run", run.suite, *device])),
        ("compare", shlex.join(["kernelbench", "compare", folder, *against])),
        ("this page", shlex.join(["kernelbench", "report", folder])),
    ]
    return [(what, line) for what, line in lines if line]


def _device(command: str) -> list[str]:
    """The option that names the simulator, with its GPU where the run had one."""
    found = [*kept_options(command, ("--device",), ())]
    return found if "simulated" in " ".join(found) else ["--device", "simulated"]
