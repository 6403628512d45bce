"""run: suites -> device -> limits -> plans -> build -> verify and measure -> run on disk -> comparison.

Walks print nothing: what goes on goes to the `Progress` they are given, and results come back as records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from kernelbench.compare.answer import Answer, answer
from kernelbench.core import places
from kernelbench.core.errors import InputError
from kernelbench.core.progress import LoggedProgress, Progress
from kernelbench.core.records import Limits, Suite
from kernelbench.core.stopwatch import BUILDING, LIMITS, REPORTING, STARTING, Stopwatch
from kernelbench.measure.bench import Bench
from kernelbench.measure.binaries import build_for, machine_code_of, measured_limits, plans_for
from kernelbench.measure.opening import opened
from kernelbench.measure.suite_run import SuiteRun
from kernelbench.planning.catalog import Catalog, load_catalog
from kernelbench.planning.twins import twins_text, with_twins
from kernelbench.report.frames import LoadedRun
from kernelbench.runs.folders import expected_text, new_folder
from kernelbench.runs.results import Run
from kernelbench.walks.counters import add_counters
from kernelbench.walks.report import prepare
from kernelbench.walks.request import Request, read_suites, request_of_keywords

if TYPE_CHECKING:
    from kernelbench.build import Compiler


def run(request: Request, progress: Progress) -> Iterator[Answer]:
    """Measure the suites one after the other; each answer comes when its suite is complete and on disk."""
    from kernelbench.build import find_compiler

    stopwatch = Stopwatch()
    catalog = load_catalog(specimens=True, own=request.kernels)
    suites = read_suites(request, catalog)
    if not request.in_process:  # imports would delay a measurement in the same process
        prepare()
    with ExitStack() as stack:
        with stopwatch.on(STARTING):
            bench = stack.enter_context(opened(request, catalog, progress))
        if bench.counting and request.self_test:
            raise InputError(f"--self-test: {bench.name} times nothing; it needs a GPU")
        if bench.counting and request.energy:
            raise InputError(f"--energy: {bench.name} draws no power; it needs a GPU")
        compiler, limits = find_compiler(request.nvcc), None
        if not bench.counting:
            if not request.partial and (expected := expected_text([suite.name for suite in suites])):
                progress.say(expected)
            with stopwatch.on(LIMITS):
                limits = measured_limits(bench, compiler, progress)
        for suite in suites:
            done = run_suite(suite, request, catalog, bench, compiler, limits, progress, stopwatch)
            with stopwatch.on(REPORTING):
                with progress.stage("Comparing", 1) as advance:
                    found = answer(done)
                    advance(1, "")
                yield found
            stopwatch.lap()  # reporting is not the next suite's time
    if not bench.counting:
        progress.say(stopwatch.line())


def run_loaded(suite: str, options: Mapping[str, Any]) -> LoadedRun:
    """One suite with the keywords of `kernelbench.run`."""
    places.share_cache()
    (found,) = run(request_of_keywords(suite, options), LoggedProgress())
    return LoadedRun(found.run)


def run_suite(
    suite: Suite,
    request: Request,
    catalog: Catalog,
    bench: Bench,
    compiler: Compiler,
    limits: Limits | None,
    progress: Progress,
    stopwatch: Stopwatch,
) -> Run:
    """Plan, build and measure one suite; every finished case is on disk before the next begins."""
    from kernelbench.compare.self_test import self_test

    measuring = SuiteRun(suite, suite.name, request, catalog, bench, limits, progress, stopwatch)
    plans = plans_for(bench, suite, catalog)  # before the folder: a mistake in --cu leaves none
    plans = tuple(with_twins(plan) for plan in plans) if request.self_test else plans
    twins = twins_text(plans) if request.self_test else None
    folder = request.out or new_folder(suite, bench.name, progress, resume=request.resume)
    with measuring.into(folder, plans, twins, resume=request.resume) as record:
        with stopwatch.on(BUILDING):
            plans, builds = build_for(plans, bench, compiler, progress)
        record.built(builds, machine_code_of(plans), compiler.versions)
        measuring.measure(record, plans)
        if request.counters:  # after the timing: its launches are replayed, and never timed
            record.add_counters(*add_counters(plans, record.read(), catalog, bench, request, progress))
        if request.self_test:
            record.add_self_test(self_test(record.read()))
        return record.read()
