"""counters: correct implementations -> launches under Nsight Compute, and on the simulator -> side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernelbench.core.hardware_counters import CountedLaunch
from kernelbench.core.progress import Progress
from kernelbench.measure.bench import Bench
from kernelbench.measure.opening import MeasureRequest
from kernelbench.measure.profiling.passes import (
    Key,
    Profiled,
    launches_of_case,
    profile_plans,
    simulated_counts,
    simulator_for,
)
from kernelbench.measure.profiling.probe import NO_GPU
from kernelbench.planning.case_plans import CasePlan
from kernelbench.planning.catalog import Catalog
from kernelbench.runs.results import Run


def add_counters(
    plans: Sequence[CasePlan], run: Run, catalog: Catalog, bench: Bench, request: MeasureRequest, progress: Progress
) -> tuple[tuple[CountedLaunch, ...], Mapping[str, Any]]:
    """Counters of every row of a run that is ok, on both sides, and the entry in environment.json."""
    correct = {(row.case, row.implementation) for row in run.rows if row.status == "ok"}
    chosen = [_only(plan, correct) for plan in plans]
    found = Profiled(unavailable=NO_GPU) if bench.counting else profile_plans(chosen, request, progress, run.folder)
    simulator = bench if bench.counting else simulator_for(bench, catalog)
    launches: list[CountedLaunch] = []
    with progress.stage("Counting on the simulator", sum(len(plan.planned) for plan in chosen)) as advance:
        for plan in chosen:
            counted = simulated_counts(simulator, catalog, plan, request, advance)
            launches += launches_of_case(plan.case.key, found, counted)
    return tuple(launches), found.environment()


def _only(plan: CasePlan, wanted: set[Key]) -> CasePlan:
    return replace(
        plan, planned=tuple(one for one in plan.planned if (plan.case.key, one.implementation.name) in wanted)
    )
