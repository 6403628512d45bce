"""Twins of a self-test: every implementation once more under another name, in the same rounds.

Nothing differs between the two, so a difference in a run is noise. Twins have rows and samples on disk like others,
from which noise is computed; comparisons, charts and claims leave them out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from kernelbench.core.records import Implementation
from kernelbench.planning.case_plans import CasePlan

AGAIN = ".again"  # suffix to the name of the original; names of kernels have no dot


def with_twins(
    plan: CasePlan, originals: Callable[[Implementation], bool] = lambda one: one.role != "specimen"
) -> CasePlan:
    """The case with a twin after each original."""
    planned = []
    for one in plan.planned:
        planned.append(one)
        if originals(one.implementation):
            twin = replace(one.implementation, name=one.implementation.name + AGAIN)
            planned.append(replace(one, implementation=twin))
    return replace(plan, planned=tuple(planned))


def originals_by_twin(plans: Iterable[CasePlan]) -> dict[str, str]:
    """Originals by twin, as environment.json has them."""
    names = dict.fromkeys(one.implementation.name for plan in plans for one in plan.planned)
    return {name: name.removesuffix(AGAIN) for name in names if name.endswith(AGAIN)}


def find_implementation(known: Mapping[str, Implementation], name: str) -> Implementation:
    """An implementation; for a name with a dot, its twin or one of its candidates, under that name."""
    return known[name] if name in known else replace(known[name.partition(".")[0]], name=name)
