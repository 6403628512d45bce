"""Launch plans of branch.cu: a factor loaded inside a divergent branch, or outside."""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin
from ._narrow import narrow_plan

ARTICLE = Origin(
    "Oneflow-Inc/oneflow, 100 days of open source: performance optimisation",
    differs="said in words; the kernel was written here",
)


def plan(case: Case, device: DeviceProperties, variant: str) -> LaunchPlan:
    return narrow_plan(f"indexing_branch_{variant}", case, device, case.elements)


IMPLEMENTATIONS = (
    Implementation(
        "branch_inside",
        "loads on both sides of a branch, which the compiler may merge",
        ARTICLE,
        plan=partial(plan, variant="inside"),
    ),
    Implementation(
        "branch_kept", "loads on both sides of a branch, kept there", ARTICLE, plan=partial(plan, variant="kept")
    ),
    Implementation(
        "branch_outside", "an address chosen, then one load", ARTICLE, plan=partial(plan, variant="outside")
    ),
)
