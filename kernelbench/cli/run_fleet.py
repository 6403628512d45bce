"""`run` on many GPUs: which options workers get, progress of every GPU, and what is printed at the end."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernelbench.cli.progress import ELSEWHERE_S, ConsoleProgress, repeat_in_thread
from kernelbench.cli.terminal import console, say, tell, warn
from kernelbench.core.errors import InputError
from kernelbench.core.units import clock_text

if TYPE_CHECKING:
    from kernelbench.fleet.jobs import FleetJob
    from kernelbench.fleet.workers import Workers
    from kernelbench.walks.request import Request

_OWN = ("suites", "device", "gpus", "share", "cluster", "tls", "out", "resume", "no_report")  # not for workers
_HOST = ("kernels", "cu", "entry", "grid", "block", "shared", "args", "nvcc", "in_process", "wait")
_LEAST_S = 2.0  # no remaining time is shown before this


def worker_options(context: click.Context, *, cluster: bool) -> list[str]:
    """The options of this command line that each worker's `kernelbench run` gets too.

    InputError for options that name files on this host, if the workers are on other hosts.
    """
    words: list[str] = []
    for option in context.command.params:
        name = str(option.name)
        source = context.get_parameter_source(name)
        if name in _OWN or source is not click.core.ParameterSource.COMMANDLINE:
            continue
        if cluster and name in _HOST:
            raise InputError(f"{option.opts[0]}: is for this host only; leave it out: cluster workers use their own")
        words += _words(option, context.params[name])
    return words


def _words(option: click.Parameter, value: Any) -> Iterator[str]:
    if isinstance(value, bool):
        yield (option.opts if value else option.secondary_opts)[0]
    elif option.multiple:
        yield from (word for one in value for word in (option.opts[0], str(one)))
    else:
        yield from (option.opts[0], ",".join(value) if isinstance(value, tuple) else str(value))


def run_fleet(request: Request, options: Sequence[str], workers: Workers) -> int:
    """Measure, write the page, and say what came of it; the exit code."""
    from kernelbench.runs.results import read_run
    from kernelbench.walks.fleet import run_fleet as walk

    show = _Shown()
    with show.shown():
        fleet, ended = walk(request, options, workers, show, show.start)
    if any(True for _ in fleet.runs()):
        report(fleet.folder, page=not request.no_report)
    say(f"fleet: {fleet.folder}")
    lost = any(not one.is_complete for one in ended)
    return int(lost or any(read_run(path).has_failures for _, _, path in fleet.runs()))


def report(folder: Path, out: Path | None = None, *, page: bool = True) -> None:
    """Print what a fleet says, and write its page if one is wanted."""
    from kernelbench.walks.fleet_report import report_fleet

    place, sentences = report_fleet(folder, out, ConsoleProgress(lasting=False), page=page)
    tell(*sentences)
    if place:
        say(f"page: {place}")


@dataclass
class _OfGpu:
    """How far a GPU is: its jobs, and how many cases of each are finished, by suite."""

    jobs: dict[str, FleetJob] = field(default_factory=dict)
    finished: dict[str, int] = field(default_factory=dict)
    first_s: float = 0.0  # when the first word of it came, and what was done then
    before: float = 0.0
    doing: str = ""

    def done(self) -> float:
        """In the unit of costs: cases of one suite take longer than those of another."""
        return sum(job.cost * self.finished.get(name, 0) / job.cases for name, job in self.jobs.items())

    def line(self, label: str) -> str:
        """`a100: 3 of 6 cases, softmax, 0:40 left`."""
        finished, cases = sum(self.finished.values()), sum(job.cases for job in self.jobs.values())
        if finished >= cases:
            return f"{label}: {finished} of {cases} cases, finished"
        since, done = time.monotonic() - self.first_s, self.done()
        missing, new = sum(job.cost for job in self.jobs.values()) - done, done - self.before
        left = clock_text(since * missing / new) + " left" if new > 0 and since > _LEAST_S else "starting"
        return f"{label}: {finished} of {cases} cases, {self.doing}, {left}"


class _Shown:
    """A line per GPU on stderr: up to date on a terminal, every 30 s elsewhere."""

    def __init__(self) -> None:
        self._gpus: dict[str, _OfGpu] = {}
        self._lock = threading.Lock()
        self._console = console(stderr=True)

    def stage(self, title: str, total: float) -> Any:
        return ConsoleProgress().stage(title, total)

    def say(self, text: str) -> None:
        if sys.stderr.isatty():
            self._console.print(text)
        else:
            warn(text)

    def start(self, jobs: Sequence[FleetJob], taken_from: str | None) -> Any:
        with self._lock:
            for job in jobs:
                if taken_from:
                    del self._gpus[taken_from].jobs[job.name]
                gpu = self._gpus.setdefault(job.label, _OfGpu(doing=job.name))
                gpu.jobs[job.name] = job
        return self._advance

    def _advance(self, label: str, suite: str, cases: int) -> None:
        with self._lock:
            gpu = self._gpus[label]
            gpu.finished[suite], gpu.doing = cases, suite
            if not gpu.first_s:
                gpu.first_s, gpu.before = time.monotonic(), gpu.done()

    def _text(self) -> str:
        with self._lock:
            return "\n".join(gpu.line(label) for label, gpu in self._gpus.items())

    @contextmanager
    def shown(self) -> Iterator[None]:
        if sys.stderr.isatty():
            from rich.live import Live

            with Live(get_renderable=self._text, console=self._console, transient=True):
                yield
            return
        with repeat_in_thread(lambda: warn(self._text()) if self._gpus else None, ELSEWHERE_S):
            yield
