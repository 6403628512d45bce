"""explain: suites -> plans -> build -> counters of the simulator -> explanation. Nothing is verified or timed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kernelbench.core import places
from kernelbench.core.progress import Progress
from kernelbench.core.records import Suite
from kernelbench.explain.records import CaseExplanation
from kernelbench.measure.binaries import build_for, plans_for
from kernelbench.measure.counting import count_case
from kernelbench.measure.opening import opened
from kernelbench.planning.catalog import load_catalog
from kernelbench.walks.request import Request, read_suites

DEFAULT_GPU = "h200"  # plans and bounds are for this GPU, unless another is named


@dataclass(frozen=True)
class Explained:
    suite: Suite
    explanation: CaseExplanation


def explain(request: Request, gpu: str | None, progress: Progress, *, lines: bool = False) -> Iterator[Explained]:
    """Explain suites case by case, always on the simulator.

    Plans and bounds are for `gpu`; `lines` adds the source lines of every implementation.
    """
    from kernelbench.build import find_compiler
    from kernelbench.compare import read_ledger
    from kernelbench.compare.ledger import claims_about
    from kernelbench.devices.known import known_gpu
    from kernelbench.explain import explain_case, listings

    catalog, ledger = load_catalog(specimens=True, own=request.kernels), read_ledger(places.LEDGER)
    suites, properties = read_suites(request, catalog), known_gpu(gpu or DEFAULT_GPU)
    with opened(replace(request, device=f"simulated:{gpu or DEFAULT_GPU}"), catalog, progress) as bench:
        compiler = find_compiler(request.nvcc)
        for suite in suites:
            plans, _ = build_for(plans_for(bench, suite, catalog), bench, compiler, progress)
            for plan in plans:
                operation = catalog.operations[plan.case.operation]
                counted, missing = count_case(bench, operation, plan, request.seed, progress)
                claims = claims_about(ledger, operation.name, suite.name)
                found = explain_case(plan.case.key, counted, properties, claims, missing)
                sources = [listing for one in counted.values() for listing in listings(one)] if lines else ()
                yield Explained(suite, replace(found, listings=sources))
