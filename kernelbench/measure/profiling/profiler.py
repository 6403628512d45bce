"""Runs Nsight Compute over implementations, in a process of its own, and reads its report."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelbench.core import places, processes
from kernelbench.core.errors import NoCounters, ResultsError
from kernelbench.core.hardware_counters import HARDWARE_METRICS, STALL_METRICS, ProfiledLaunch
from kernelbench.core.progress import Advance
from kernelbench.core.texts import one_line
from kernelbench.measure.bench import short_labels
from kernelbench.measure.profiling.ncu_target import ProfileJob
from kernelbench.measure.profiling.probe import NO_PERMISSION
from kernelbench.measure.profiling.reports import read_report

STARTING_S = 300.0  # to start, and to fill arrays
ASKING_S = 60.0  # for the names of metrics
PASSES = 40  # the most that a launch is replayed; --timeout is for one
REPORT = "counters.ncu-rep"


@dataclass(frozen=True)
class Profile:
    """Launches by the number of their item, and reasons for the items that have none."""

    launches: Mapping[int, tuple[ProfiledLaunch, ...]]
    reasons: Mapping[int, str]


def profile_items(job: ProfileJob, ncu: Path, folder: Path, patience_s: float, advance: Advance) -> Profile:
    """Profile all items; the report stays in `folder`. `patience_s`: the longest that one run of an item may take.

    `advance` is called as items end. NoCounters where ncu cannot read counters here.
    """
    job_file, outcomes, log = (folder / f".profiling.{name}" for name in ("job", "outcomes", "log"))
    report = folder / REPORT
    report.unlink(missing_ok=True)  # of an earlier pass
    try:
        job_file.write_bytes(pickle.dumps(job))
        outcomes.touch()
        command = profiler_command(ncu, known_metrics(ncu), report, job_file, outcomes)
        limit_s = STARTING_S + PASSES * patience_s * len(job.items)
        problem = _run(command, log, limit_s, _Watch(job, outcomes, advance))
        if not report.is_file():
            raise NoCounters(problem or "ncu wrote no report")
        try:
            found = read_report(report)
        except ResultsError as error:
            raise NoCounters(problem or str(error)) from error
        return sorted_out(job, found, outcomes.read_text(encoding="utf-8"), problem)
    finally:
        for path in (job_file, outcomes, log):
            path.unlink(missing_ok=True)


def profiler_command(ncu: Path, metrics: Sequence[str], report: Path, job: Path, outcomes: Path) -> list[str]:
    """Clocks stay as they are, as in every run; caches are empty when a kernel begins, as in rows with a cold L2."""
    return [
        str(ncu), "--target-processes", "application-only", "--profile-from-start", "off", "--nvtx",
        "--clock-control", "none", "--cache-control", "all", "--metrics", ",".join(metrics),
        "--export", str(report), "--force-overwrite",
        sys.executable, "-m", "kernelbench.measure.profiling.ncu_target", str(job), str(outcomes),
    ]  # fmt: skip


def known_metrics(ncu: Path) -> list[str]:
    """The metrics to ask for that ncu has for this GPU; all of them if it does not say."""
    sources = [(*one.sources, *one.also) for one in HARDWARE_METRICS.values()]
    wanted = [name for names in sources for name in names] + list(STALL_METRICS.values())
    try:
        known = set(processes.output_of([str(ncu), "--query-metrics"], ASKING_S).split())
    except processes.FAILED:
        return wanted
    return [name for name in wanted if name.partition(".")[0] in known] or wanted


class _Watch:
    """Follows the lines of `outcomes`: one per item that has run."""

    def __init__(self, job: ProfileJob, outcomes: Path, advance: Advance) -> None:
        labels = short_labels(list({item.case.key: item.case for item in job.items}.values()))
        self._names = [f"{labels[item.case.key]} {item.name}" for item in job.items]
        self._outcomes, self._advance = outcomes, advance
        self._done = self._size = 0

    def __call__(self) -> None:
        if (size := self._outcomes.stat().st_size) == self._size:
            return
        self._size = size
        done = self._outcomes.read_bytes().count(b"\n")
        for name in self._names[self._done : done]:
            self._advance(1, name)
        self._done = max(done, self._done)


def _run(command: Sequence[str], log: Path, limit_s: float, watch: Callable[[], None]) -> str:
    """Run ncu, which prints to `log`; returns why it failed, '' if it did not. NoCounters without permission."""
    paths = [str(places.PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        process = processes.start(command, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, log)
        code = processes.wait(process, limit_s, watch)
    except OSError as error:
        raise NoCounters(f"{command[0]} cannot be started ({error.strerror})") from error
    except subprocess.TimeoutExpired:
        return f"ncu was ended after {limit_s:.0f} s (--timeout)"
    said = log.read_text(encoding="utf-8", errors="replace")
    if "ERR_NVGPUCTRPERM" in said:
        raise NoCounters(NO_PERMISSION)
    return "" if code == 0 else f"ncu ended with exit code {code}: {_last_error(said)}"


def _last_error(said: str) -> str:
    """The last line that ncu marks as an error, else the last line."""
    lines = [one_line(line) for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("==ERROR==")]
    return (errors or lines or ["it said nothing"])[-1]


def sorted_out(job: ProfileJob, found: Sequence[ProfiledLaunch], outcomes: str, problem: str) -> Profile:
    """The launches of each item, by the NVTX range that it opened. `outcomes`: lines of the profiled program."""
    told = {one["number"]: one["reason"] for one in map(json.loads, outcomes.splitlines())}
    launches: dict[int, tuple[ProfiledLaunch, ...]] = {}
    for one in found:
        number = next((int(name) for name in one.range_names if name.isdecimal()), None)
        if number is not None:
            launches[number] = (*launches.get(number, ()), one)
    reasons = {}
    for item in job.items:
        reason = told.get(item.number, f"the profiled process ended before this one{f': {problem}' if problem else ''}")
        if reason or item.number not in launches:
            reasons[item.number] = reason or "ncu recorded no launch of it"
    return Profile({number: own for number, own in launches.items() if number not in reasons}, reasons)
