"""Launch plan of copy.cu: the yardstick, which moves each byte of dy and dx once and computes nothing."""

from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import copy_plan


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    entry = f"relu_grad_copy_{dtypes.suffix(case.dtype)}"
    return copy_plan(entry, ("dy", "dx"), case.elements, dtypes.itemsize(case.dtype), device)


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The copied input."""
    return {"dx": inputs["dy"]}


IMPLEMENTATIONS = (
    Implementation(
        "copy",
        "copies dy to dx: the yardstick, no gradient",
        Origin("written here"),
        plan=plan,
        role="yardstick",
        reference=reference,
    ),
)
