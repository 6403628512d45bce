"""run: suites -> device -> limits -> plans -> build -> verify and measure -> run on disk -> comparison.

Walks print nothing: what goes on goes to the `Progress` they are given, and results come back as records.
"""

from collections.abc import Iterator
from contextlib import ExitStack

from kernelbench.compare.answer import Answer, judge_run
from kernelbench.core.progress import Progress
from kernelbench.core.stopwatch import BUILDING, LIMITS, REPORTING, STARTING, Stopwatch
from kernelbench.measure.binaries import build_for, machine_code_of, measured_limits, plans_for
from kernelbench.measure.opening import open_bench
from kernelbench.measure.suite_run import SuiteRun
from kernelbench.planning.catalog import load_catalog
from kernelbench.planning.twins import with_twins
from kernelbench.report.style import import_ahead
from kernelbench.runs.folders import expected_text, new_folder
from kernelbench.walks.counters import add_counters
from kernelbench.walks.request import Request, read_suites


def run(request: Request, progress: Progress) -> Iterator[Answer]:
    """Measure the suites one after the other; each answer comes when its suite is complete and on disk."""
    from kernelbench.build import find_compiler
    from kernelbench.compare.self_test import self_test

    stopwatch, catalog = Stopwatch(), load_catalog(specimens=True, own=request.kernels)
    suites = read_suites(request, catalog, progress)
    if not request.in_process:  # imports would delay a measurement in the same process
        import_ahead(pages=not request.no_report)
    with ExitStack() as stack:
        with stopwatch.on(STARTING):
            bench = stack.enter_context(open_bench(request, catalog, progress))
        compiler, limits = find_compiler(request.nvcc), None
        if not bench.counting:
            if not request.partial and (expected := expected_text([suite.name for suite in suites])):
                progress.say(expected)
            with stopwatch.on(LIMITS):
                limits = measured_limits(bench, compiler, progress)
        for suite in suites:
            measuring = SuiteRun(suite, suite.name, request, catalog, bench, limits, progress, stopwatch)
            plans = plans_for(bench, suite, catalog)  # before the folder: a mistake in --cu leaves none
            plans = tuple(map(with_twins, plans)) if request.self_test else plans
            folder = request.out or new_folder(suite, bench.name, progress, resume=request.resume)
            with measuring.into(folder, plans, twins=request.self_test, resume=request.resume) as record:
                with stopwatch.on(BUILDING):
                    plans, builds = build_for(plans, bench, compiler, progress)
                record.built(builds, machine_code_of(plans), compiler.versions)
                measuring.measure(record, plans)  # each case is on disk once it and those before it are finished
                if request.counters:  # after the timing: its launches are replayed, and never timed
                    record.add_counters(*add_counters(plans, record.read(), catalog, bench, request, progress))
                if request.self_test:
                    record.add_self_test(self_test(record.read()))
                done = record.read()
            with stopwatch.on(REPORTING):
                with progress.stage("Comparing", 1) as advance:
                    found = judge_run(done)
                    advance(1, "")
                yield found
            stopwatch.lap()  # reporting is not the next suite's time
    if not bench.counting:
        progress.say(stopwatch.line())
