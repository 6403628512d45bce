"""Twins of a self-test: every implementation once more under another name, in the same rounds.

What a run shows between the two is noise: nothing else differs. Twins are rows and samples like others on disk, so
that noise can be read from them; comparisons, charts and claims are made without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kernelbench.core.records import Implementation
from kernelbench.planning.case_plans import CasePlan

AGAIN = ".again"  # behind the name of the original; no kernel's own name has a dot


def with_twins(plan: CasePlan) -> CasePlan:
    """The case with a twin behind each implementation. What is known to be wrong needs none: it is never timed."""
    planned = []
    for one in plan.planned:
        planned.append(one)
        if one.implementation.role != "specimen":
            twin = replace(one.implementation, name=one.implementation.name + AGAIN)
            planned.append(replace(one, implementation=twin))
    return replace(plan, planned=tuple(planned))


def twins_text(plans: Iterable[CasePlan]) -> dict[str, str]:
    """Originals by twin, as environment.json has them."""
    names = dict.fromkeys(one.implementation.name for plan in plans for one in plan.planned)
    return {name: name.removesuffix(AGAIN) for name in names if name.endswith(AGAIN)}


def implementation(known: Mapping[str, Implementation], name: str) -> Implementation:
    """An implementation, or by what is behind a dot of its name another run of it: its twin, or a candidate of it."""
    return known[name] if name in known else replace(known[name.partition(".")[0]], name=name)
