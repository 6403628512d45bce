"""check: suites with every distribution of inputs -> device -> plans -> build -> verify."""

from kernelbench.core.progress import Progress
from kernelbench.core.records import Result
from kernelbench.core.stopwatch import Stopwatch
from kernelbench.measure.bench import run_cases
from kernelbench.measure.binaries import build_for, plans_for
from kernelbench.measure.case_run import Settings
from kernelbench.measure.opening import open_bench
from kernelbench.planning.catalog import load_catalog
from kernelbench.suite import with_inputs
from kernelbench.walks.request import Request, read_suites


def check(request: Request, progress: Progress) -> list[Result]:
    """Verify every implementation on every case with every distribution of its inputs, and time nothing."""
    from kernelbench.build import find_compiler

    catalog = load_catalog(specimens=True, own=request.kernels)
    suites = read_suites(request, catalog, progress)
    suites = [with_inputs(suite, catalog.operations, request.inputs) for suite in suites]
    results: list[Result] = []
    with open_bench(request, catalog, progress) as bench:
        compiler, settings = find_compiler(request.nvcc), Settings(request.seed)
        for suite in suites:
            plans, _ = build_for(plans_for(bench, suite, catalog), bench, compiler, progress)
            title = f"Checking {suite.name} on {bench.name}"
            run_cases(bench, plans, settings, title, progress, results.extend, Stopwatch())
    return results
