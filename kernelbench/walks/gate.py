"""gate: two versions of kernels -> pairs whose machine code differs -> measured in the same rounds -> verdicts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from kernelbench.core import places
from kernelbench.core.errors import InputError
from kernelbench.core.progress import Progress
from kernelbench.core.records import CasePlan, Limits, Suite
from kernelbench.core.stopwatch import Stopwatch
from kernelbench.measure.bench import Bench, run_cases
from kernelbench.measure.binaries import build_for, machine_code_of, measured_limits, plans_for
from kernelbench.measure.opening import opened
from kernelbench.measure.versions import (
    BASE,
    Versions,
    load_versions,
    with_base,
    with_noise,
    without_equal,
    without_refused,
)
from kernelbench.planning.twins import twins_text
from kernelbench.runs.environment import start_environment
from kernelbench.runs.folders import folder_to_itself
from kernelbench.runs.recording import Recording
from kernelbench.runs.results import Run
from kernelbench.walks.request import Request, read_suites

if TYPE_CHECKING:
    from kernelbench.build import Compiler
    from kernelbench.compare.gate import Gated

BANDS = "Both versions were timed in the same rounds; the bands come from twins of BASE's kernels in these rounds."


def gate(base: Path, head: Path, request: Request, progress: Progress) -> Iterator[Gated]:
    """Measure HEAD's kernels beside BASE's, suite by suite; without suites those that are named like an operation.

    `request.out`: a folder that keeps a run per suite; None keeps none.
    """
    from kernelbench.build import find_compiler

    versions = load_versions(base, head)
    request = replace(request, kernels=versions.own, suites=request.suites or _suites(versions, base, head))
    suites = [_narrowed(suite, versions) for suite in read_suites(request, versions.head)]
    compiler = find_compiler(request.nvcc)
    with TemporaryDirectory() as scratch, opened(request, versions.head, progress) as bench:
        session = _Session(versions, {"base": str(base), "head": str(head)}, request, bench, compiler, progress)
        for suite in suites:
            yield session.gated(suite, (request.out or Path(scratch)) / suite.name)


@dataclass
class _Session:
    """What all suites of a gate share. `paths`: of both versions, as they were given."""

    versions: Versions
    paths: Mapping[str, str]
    request: Request
    bench: Bench
    compiler: Compiler
    progress: Progress
    limits: Limits | None = None  # not measured yet, or on the simulator

    def gated(self, suite: Suite, folder: Path) -> Gated:
        """Measure the pairs whose machine code differs; nothing if there are none."""
        from kernelbench.compare.changes import Changes
        from kernelbench.compare.gate import Gated, counted, judged

        counting, both = self.bench.counting, self._planned(suite)
        built, builds = build_for(both, self.bench, self.compiler, self.progress)
        plans = [plan for plan in map(without_equal, built) if plan.planned]
        total = sum(len(plan.planned) // 2 for plan in both)
        equal = total - sum(len(plan.planned) // 2 for plan in plans)
        notes = list(_notes(suite, self.versions))
        if not plans:
            return Gated(suite.name, self.bench.name, counting, total, equal, None, (), notes)
        if self.limits is None and not counting:
            self.limits = measured_limits(self.bench, self.compiler, self.progress)
        run = self._measured(suite, plans, builds, folder)
        names = {name: name + BASE for name in suite.implementations}
        changes = Changes(
            first=f"BASE, {self.paths['base']}",
            second=f"HEAD, {self.paths['head']}",
            by_share=False,
            differences=(),
            noise=() if counting else (BANDS,),
            rows=judged(run, names),
        )
        return Gated(suite.name, self.bench.name, counting, total, equal, changes, list(counted(run, names)), notes)

    def _planned(self, suite: Suite) -> list[CasePlan]:
        """The cases with both versions of each kernel, where either of them takes the case."""
        pairs = self.versions.pairs(suite.operation)
        earlier = replace(suite, implementations=tuple(pairs[name] for name in suite.implementations))
        head = plans_for(self.bench, suite, self.versions.head)
        base = plans_for(self.bench, earlier, self.versions.base)
        both = [without_refused(with_base(*sides)) for sides in zip(head, base, strict=True)]
        return [plan for plan in both if plan.planned]

    def _measured(self, suite: Suite, plans: Sequence[CasePlan], builds: Mapping[str, Any], folder: Path) -> Run:
        """The run on disk, with a twin of each of BASE's versions where times are taken."""
        from kernelbench.measure.case_run import settings_for

        started, stopwatch = time.monotonic(), Stopwatch()
        request, bench, catalog = self.request, self.bench, self.versions.head
        plans = plans if bench.counting else [with_noise(plan) for plan in plans]
        twins = None if bench.counting else twins_text(plans)
        with folder_to_itself(folder):
            environment = start_environment(
                suite, plans, twins, bench.environment(), self.limits, catalog.own, request.seed, request.arguments
            )
            environment["gate"] = dict(self.paths)
            record = Recording(folder, environment, catalog.operations, self.limits, resume=False)
            record.built(builds, machine_code_of(plans), self.compiler.versions)
            settings = settings_for(request.seed, request.caches or suite.caches, self.limits, quick=request.quick)
            what = "Counting" if bench.counting else "Measuring"
            title = f"{what} both versions of {suite.name} on {bench.name}"
            run_cases(bench, plans, settings, title, self.progress, record.append, stopwatch)
            record.finish(time.monotonic() - started, stopwatch.lap())
            return record.read()


def _suites(versions: Versions, base: Path, head: Path) -> list[str]:
    """The suites that have the name of an operation with kernels in both versions."""
    operations = versions.operations
    if not operations:
        raise InputError(f"{base} and {head}: no kernel in common; expected <operation>/<name>.cu and .py in both")
    if versions.head.files:
        raise InputError(f"{head}: which operation is it? Name a suite: kernelbench gate {base} {head} softmax")
    found = [name for name in operations if (places.SUITES / f"{name}.yaml").is_file()]
    if len(found) < len(operations):
        missing = ", ".join(name for name in operations if name not in found)
        raise InputError(f"{head}: no suite has the name of {missing}; name suites behind the two versions")
    return found


def _narrowed(suite: Suite, versions: Versions) -> Suite:
    """The suite with only the kernels that both versions have."""
    if suite.step is not None:
        raise InputError(f"'{suite.name}' is a step, which takes one kernel per part; name another suite")
    pairs = versions.pairs(suite.operation)
    names = tuple(name for name in suite.implementations if name in pairs)
    if not names:
        raise InputError(f"suite '{suite.name}' has no kernel of {suite.operation} that both versions have")
    return replace(suite, implementations=names)


def _notes(suite: Suite, versions: Versions) -> Iterator[str]:
    """What a gate cannot compare."""
    if versions.head.files:
        return
    base, head = versions.names(suite.operation)
    for text, names in (
        ("only in BASE", [name for name in base if name not in head]),
        ("only in HEAD", [name for name in head if name not in base]),
        ("a library call, which has no machine code to compare", versions.calls(suite.operation)),
    ):
        if names:
            yield f"{suite.operation}: {', '.join(names)}: {text}"
