"""Times every candidate of a case, for the fit of a cost function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kernelbench.core.cost_model import CandidateTime
from kernelbench.core.gpu import DeviceProperties
from kernelbench.core.methods import METHODS
from kernelbench.core.progress import Advance, Progress
from kernelbench.core.records import Case, Implementation, Limits, Operation
from kernelbench.core.tunable import values_text
from kernelbench.measure.binaries import build_plans
from kernelbench.measure.search import Search
from kernelbench.planning.candidates import Candidate
from kernelbench.planning.case_plans import CasePlan, plan_case
from kernelbench.planning.tuned import source_hash

if TYPE_CHECKING:
    from kernelbench.build import Compiler

Job = tuple[Implementation, Case]


def build_candidates(
    jobs: Sequence[Job], operation: Operation, device: DeviceProperties, compiler: Compiler, progress: Progress
) -> dict[str, object]:
    """Compile all candidates of all cases in parallel, so that they are in the cache; returns a summary."""
    plans = [_all_plans(one, case, operation, device) for one, case in jobs]
    return build_plans(plans, compiler, device.architecture, progress)[1]


def _all_plans(one: Implementation, case: Case, operation: Operation, device: DeviceProperties) -> CasePlan:
    assert one.plan is not None
    rule = plan_case(case, operation, one, device)
    if rule.status != "ok" or one.tunable is None:
        return CasePlan(case, (rule,), ())
    candidates = [replace(one, plan=partial(one.plan, **values)) for values in one.tunable.listed(case, device)]
    return CasePlan(case, (rule, *(plan_case(case, operation, each, device) for each in candidates)), ())


def time_candidates(search: Search, limits: Limits, advance: Advance) -> list[CandidateTime]:
    """All candidates of the search's case beside their quantities; none where the rule cannot run."""
    found = search.measure_all(advance)
    if found.status != "ok" or not found.candidates:
        return []
    return list(_times(search, found.candidates, limits))


def _times(search: Search, candidates: Sequence[Candidate], limits: Limits) -> Iterator[CandidateTime]:
    one, case, device = search.implementation, search.case, search.bench.properties
    assert search.listed is not None
    assert one.tunable is not None
    assert one.tunable.model is not None
    rule, *others = candidates
    measured = {tuple(each.values.items()): each for each in others}
    quantities = one.tunable.model.quantities(case, device)
    for values, known in zip(search.listed, quantities, strict=True):
        key = tuple(values.items())
        is_rule = search.alike.get(key) == ()
        each = rule if is_rule else measured.get(key)
        if each is None:  # launches the same as an earlier candidate
            continue
        timed = each.seconds is not None
        yield CandidateTime(
            gpu=device.name,
            kernel=f"{one.operation}/{one.name}",
            source=source_hash(one.source),
            case=case.key,
            values=values_text(values),
            is_rule=is_rule,
            status=each.status,
            reason=each.reason,
            method=each.method,
            seconds=each.seconds,
            floor_s=(limits.graph_floor_s if each.method == METHODS[0] else limits.floor_s) if timed else None,
            noise=(each.high - each.low) / 2 if each.high is not None and each.low is not None else None,
            quantities=known,
        )
