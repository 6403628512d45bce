"""Launch plan of copy.cu: the yardstick, which reads half of x and writes as much, and adds nothing up."""

from dataclasses import replace
from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import copy_plan


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    half, itemsize = case.elements // 2, dtypes.itemsize(case.dtype)
    entry = f"reduce_sum_copy_{dtypes.suffix(case.dtype)}"
    copied = copy_plan(entry, ("x", "half", "y"), half, itemsize, device)
    return replace(copied, scratch=(("half", max(1, half) * itemsize),))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The copied input."""
    return {"y": inputs["x"].reshape(-1)[:1]}


IMPLEMENTATIONS = (
    Implementation(
        "copy",
        "copies half of x: the yardstick, as many bytes as a sum reads",
        Origin("written here"),
        plan=plan,
        role="yardstick",
        reference=reference,
    ),
)
