"""explain: suites -> plans -> build -> counters of the simulator -> explanation. Nothing is verified or timed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kernelbench.compare.ledger import claims_about, read_ledger
from kernelbench.core import places
from kernelbench.core.errors import NoCounters
from kernelbench.core.progress import Advance, Progress
from kernelbench.devices import SIMULATED_GPU
from kernelbench.devices.gpu_lock import gpu_to_itself
from kernelbench.devices.known import known_gpu
from kernelbench.explain.case import explain_case
from kernelbench.explain.findings import CaseExplanation
from kernelbench.measure.binaries import build_for, plans_for
from kernelbench.measure.counting import count_case
from kernelbench.measure.opening import open_bench
from kernelbench.measure.profiling.passes import Profiled, gpu_to_profile, launches_of_case, profile_plans
from kernelbench.planning.catalog import load_catalog
from kernelbench.report.view import case_labels
from kernelbench.walks.request import Request, read_suites


def explain(
    request: Request, gpu: str | None, progress: Progress, *, lines: bool = False, measured: bool = False
) -> Iterator[CaseExplanation]:
    """Explain suites case by case, always on the simulator.

    Plans and bounds are for `gpu`; `lines` adds the source lines of every implementation; `measured`: the launches
    also run on this machine's GPU, and plans and bounds are for that GPU.
    """
    from kernelbench.build import find_compiler

    here: Mapping[str, Any] = {}
    unavailable = ""
    if measured:
        try:
            gpu, here = gpu_to_profile(gpu)
        except NoCounters as error:
            unavailable = str(error)
    catalog, ledger = load_catalog(specimens=True, own=request.kernels), read_ledger(places.LEDGER)
    suites, properties = read_suites(request, catalog, progress), known_gpu(gpu or SIMULATED_GPU)
    with open_bench(replace(request, device=f"simulated:{gpu or SIMULATED_GPU}"), catalog, progress) as bench:
        compiler = find_compiler(request.nvcc)
        for suite in suites:
            plans, _ = build_for(plans_for(bench, suite, catalog), bench, compiler, progress)
            hardware = Profiled(unavailable=unavailable)
            if measured and not unavailable:
                with gpu_to_itself(here, progress, wait=request.wait):
                    hardware = profile_plans(plans, request, progress)
            labels = case_labels({plan.case.key: plan.case.words for plan in plans})
            with progress.stage(f"Counting {suite.name}", sum(len(plan.planned) for plan in plans)) as advance:
                for plan in plans:
                    key, operation = plan.case.key, catalog.operations[plan.case.operation]
                    counted, missing = count_case(bench, operation, plan, request.seed, _about(labels[key], advance))
                    claims = claims_about(ledger, operation.name, suite.name)
                    found = explain_case(key, counted, properties, claims, missing, lines=lines)
                    launches = launches_of_case(key, hardware, {**missing, **counted}) if measured else ()
                    yield replace(found, suite=suite.name, launches=launches, unavailable=hardware.unavailable)


def _about(case: str, advance: Advance) -> Advance:
    """`advance` that says the case before what is being done."""
    return lambda amount, what: advance(amount, f"{case} {what}")
