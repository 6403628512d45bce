"""plan and build: suites -> plans for a GPU -> binaries. Neither needs a GPU."""

from collections.abc import Sequence
from typing import Any

from kernelbench.core.progress import Progress
from kernelbench.core.records import CasePlan, DeviceProperties, Suite
from kernelbench.measure.binaries import build_plans
from kernelbench.planning.case_plans import plan_suite
from kernelbench.planning.catalog import load_catalog
from kernelbench.planning.tuned import tables_for
from kernelbench.walks.request import Request, read_suites

Found = Sequence[tuple[Suite, Sequence[CasePlan]]]


def plan(request: Request, gpu: DeviceProperties, progress: Progress) -> Found:
    """Every suite with its launch plans for `gpu`."""
    catalog, tables = load_catalog(specimens=True, own=request.kernels), tables_for(gpu.name)
    return [(suite, plan_suite(suite, catalog, gpu, tables)) for suite in read_suites(request, catalog, progress)]


def build(request: Request, gpu: DeviceProperties, progress: Progress) -> tuple[Found, dict[str, Any]]:
    """Compile what the suites need on `gpu`; the plans with their binaries, and a summary."""
    from kernelbench.build import find_compiler

    compiler = find_compiler(request.nvcc)
    found = plan(request, gpu, progress)
    plans, summary = build_plans([one for _, plans in found for one in plans], compiler, gpu.architecture, progress)
    rest = iter(plans)
    return [(suite, tuple(next(rest) for _ in own)) for suite, own in found], summary
