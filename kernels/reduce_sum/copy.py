"""Launch plans of copy.cu: the yardsticks, which read half of x and write as much, and add nothing up."""

from dataclasses import replace
from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, LaunchPlan, dtypes
from ..common.copies import copy_kernels
from ..common.launch_helpers import copy_plan


def plan(case: Case, device: DeviceProperties, **shape: int) -> LaunchPlan:
    half, itemsize = case.elements // 2, dtypes.itemsize(case.dtype)
    entry = f"reduce_sum_copy_{dtypes.suffix(case.dtype)}"
    copied = copy_plan(entry, ("x", "half", "y"), half, itemsize, device, **shape)
    return replace(copied, scratch=(("half", max(1, half) * itemsize),))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The copied input."""
    return {"y": inputs["x"].reshape(-1)[:1]}


IMPLEMENTATIONS = copy_kernels("copies half of x, as many bytes as a sum reads", plan, reference)
