"""Launch plans of coordinates.cu: the column as a remainder, or by subtraction."""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin
from ._narrow import narrow_plan

ARTICLE = Origin(
    "Oneflow-Inc/oneflow, 100 days of open source: performance optimisation",
    differs="stated in two lines; the kernel around them was written here",
)


def plan(case: Case, device: DeviceProperties, variant: str) -> LaunchPlan:
    return narrow_plan(f"indexing_coordinates_{variant}", case, device, case.elements)


IMPLEMENTATIONS = (
    Implementation("remainder", "column = i % columns", ARTICLE, plan=partial(plan, variant="remainder")),
    Implementation(
        "multiply_subtract", "column = i - row * columns", ARTICLE, plan=partial(plan, variant="multiply_subtract")
    ),
)
