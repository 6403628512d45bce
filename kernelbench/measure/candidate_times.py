"""Times every candidate of a case, for the fit of a cost function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kernelbench.core.cost_model import CandidateTime
from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.progress import Progress
from kernelbench.core.records import METHODS, Case, Implementation, Limits, Operation
from kernelbench.core.tunable import values_text
from kernelbench.measure.bench import Bench
from kernelbench.measure.binaries import build_plans
from kernelbench.measure.search import Search
from kernelbench.planning.candidates import Candidate
from kernelbench.planning.case_plans import CasePlan, plan_case
from kernelbench.planning.tuned import hash_of_plan

if TYPE_CHECKING:
    from kernelbench.build import Compiler

Job = tuple[Implementation, Case]
Plausible = Sequence[dict[str, int]]  # candidates


def plausible(job: Job, device: DeviceProperties, within: float) -> Plausible:
    """The first, which is that of a kernel's rule if it has one, and those that the cost function, as long as it is not
    fitted, expects to take at most `within` times as long as its own choice."""
    one, case = job
    assert one.tunable is not None
    assert one.tunable.model is not None
    model = one.tunable.model
    found = one.tunable.listed(case, device)
    times = [float(model.seconds(each, model.known)) for each in model.quantities(case, device)]
    pairs = zip(found, times, strict=True)
    return [each for number, (each, time) in enumerate(pairs) if number == 0 or time <= within * min(times)]


def build_candidates(
    jobs: Sequence[Job],
    operation: Operation,
    device: DeviceProperties,
    within: float,
    compiler: Compiler,
    progress: Progress,
) -> dict[str, Any]:
    """Compile the plausible candidates of all cases in parallel, so that they are in the cache; returns a summary."""
    plans = [_candidate_plans(job, operation, device, within) for job in jobs]
    return build_plans(plans, compiler, device.architecture, progress)[1]


def _candidate_plans(job: Job, operation: Operation, device: DeviceProperties, within: float) -> CasePlan:
    one, case = job
    assert one.plan is not None
    rule = plan_case(case, operation, one, device)
    if rule.status != "ok":
        return CasePlan(case, (rule,), ())
    candidates = [replace(one, plan=partial(one.plan, **values)) for values in plausible(job, device, within)]
    return CasePlan(case, (rule, *(plan_case(case, operation, each, device) for each in candidates)), ())


def time_candidates(
    job: Job, operation: Operation, within: float, bench: Bench, compiler: Compiler, seed: int, limits: Limits,
    progress: Progress, title: str,
) -> list[CandidateTime]:  # fmt: skip
    """The plausible candidates of a case; none where the rule cannot run."""
    one, case = job
    if plan_case(case, operation, one, bench.properties).status != "ok":
        return []
    tried = plausible(job, bench.properties, within)
    search = Search(bench, compiler, operation, one, case, seed, tried)
    with progress.stage(title, search.size) as advance:
        found = search.measure_all(advance)
    if found.status != "ok" or not found.candidates:
        return []
    return list(_times(search, tried, found.candidates, limits))


def _times(
    search: Search, tried: Plausible, candidates: Sequence[Candidate], limits: Limits
) -> Iterator[CandidateTime]:
    one, case = search.implementation, search.case
    rule, *others = candidates
    measured = {tuple(each.values.items()): each for each in others}
    for values in tried:
        key = tuple(values.items())
        is_rule = search.alike.get(key) == ()
        each = rule if is_rule else measured.get(key)
        if each is None:  # launches the same as an earlier candidate
            continue
        timed, planned = each.seconds is not None, search.rule if is_rule else search.planned[key]
        yield CandidateTime(
            gpu=search.bench.properties.name,
            kernel=f"{one.operation}/{one.name}",
            source=hash_of_plan(planned.plan, one),
            case=case.key,
            values=values_text(values),
            is_rule=is_rule,
            status=each.status,
            reason=each.reason,
            method=each.method,
            seconds=each.seconds,
            floor_s=(limits.graph_floor_s if each.method == METHODS[0] else limits.floor_s) if timed else None,
            noise=(each.high - each.low) / 2 if each.high is not None and each.low is not None else None,
        )
