"""Launch plan of copy.cu: the yardstick, which moves each byte of x and y once and computes nothing."""

from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import copy_plan


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    entry = f"copy_copy_{dtypes.suffix(case.dtype)}"
    return copy_plan(entry, ("x", "y"), case.elements, dtypes.itemsize(case.dtype), device)


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The copied input."""
    return {"y": inputs["x"]}


IMPLEMENTATIONS = (
    Implementation(
        "copy",
        "copies x to y: the yardstick, each block one tile",
        Origin("written here"),
        plan=plan,
        role="yardstick",
        reference=reference,
    ),
)
