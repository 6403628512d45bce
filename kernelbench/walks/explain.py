"""explain: suites -> plans -> build -> counters of the simulator -> explanation. Nothing is verified or timed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbench.core import places
from kernelbench.core.errors import NoCounters
from kernelbench.core.hardware_counters import CountedLaunch
from kernelbench.core.progress import Advance, Progress
from kernelbench.core.records import Suite
from kernelbench.core.texts import one_line
from kernelbench.devices import SIMULATED_GPU
from kernelbench.devices.gpu_lock import gpu_to_itself
from kernelbench.explain.counted import Counted
from kernelbench.explain.records import CaseExplanation
from kernelbench.measure.binaries import build_for, plans_for
from kernelbench.measure.counting import count_case
from kernelbench.measure.opening import opened
from kernelbench.measure.profiling.passes import Profiled, beside, gpu_here, profiled
from kernelbench.planning.catalog import load_catalog
from kernelbench.report import view
from kernelbench.walks.request import Request, read_suites

if TYPE_CHECKING:
    from kernelbench.explain.profiled import ReportExplanation


@dataclass(frozen=True)
class Explained:
    """One case. `launches`: with hardware counters, where they were asked for; `unavailable`: why there are none."""

    suite: Suite
    explanation: CaseExplanation
    launches: tuple[CountedLaunch, ...] = ()
    unavailable: str = ""


def explain(
    request: Request, gpu: str | None, progress: Progress, *, lines: bool = False, measured: bool = False
) -> Iterator[Explained]:
    """Explain suites case by case, always on the simulator.

    Plans and bounds are for `gpu`; `lines` adds the source lines of every implementation; `measured`: the launches
    also run on the GPU of this machine, for which plans and bounds then are.
    """
    from kernelbench.build import find_compiler
    from kernelbench.compare import read_ledger
    from kernelbench.compare.ledger import claims_about
    from kernelbench.devices.known import known_gpu
    from kernelbench.explain import explain_case, listings

    here: Mapping[str, Any] = {}
    unavailable = ""
    if measured:
        try:
            gpu, here = gpu_here(gpu)
        except NoCounters as error:
            unavailable = str(error)
    catalog, ledger = load_catalog(specimens=True, own=request.kernels), read_ledger(places.LEDGER)
    suites, properties = read_suites(request, catalog), known_gpu(gpu or SIMULATED_GPU)
    with opened(replace(request, device=f"simulated:{gpu or SIMULATED_GPU}"), catalog, progress) as bench:
        compiler = find_compiler(request.nvcc)
        for suite in suites:
            plans, _ = build_for(plans_for(bench, suite, catalog), bench, compiler, progress)
            hardware = Profiled(unavailable=unavailable)
            if measured and not unavailable:
                with gpu_to_itself(here, progress, wait=request.wait):
                    hardware = profiled(plans, request, progress)
            labels = view.case_labels({plan.case.key: plan.case.words for plan in plans})
            with progress.stage(f"Counting {suite.name}", sum(len(plan.planned) for plan in plans)) as advance:
                for plan in plans:
                    operation = catalog.operations[plan.case.operation]
                    counted, missing = count_case(
                        bench, operation, plan, request.seed, _about(labels[plan.case.key], advance)
                    )
                    claims = claims_about(ledger, operation.name, suite.name)
                    found = explain_case(plan.case.key, counted, properties, claims, missing)
                    sources = [listing for one in counted.values() for listing in listings(one)] if lines else ()
                    both: dict[str, Counted | str] = {**missing, **counted}
                    launches = beside(plan.case.key, hardware, both) if measured else []
                    yield Explained(suite, replace(found, listings=sources), tuple(launches), hardware.unavailable)


def _about(case: str, advance: Advance) -> Advance:
    """`advance` that says the case before what is being done."""
    return lambda amount, what: advance(amount, f"{case} {what}")


def explain_file(path: Path) -> ReportExplanation:
    """Explain the kernels of a report of Nsight Compute, whoever made it; needs no GPU."""
    from kernelbench.explain.profiled import explain_report
    from kernelbench.measure.profiling.reports import read_report

    return explain_report(one_line(path.name), read_report(path))
