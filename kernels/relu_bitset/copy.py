"""Launch plans of copy.cu: the yardsticks, which move as many bytes as relu with its mask does."""

from dataclasses import replace
from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, LaunchPlan, Scalar, dtypes
from ..common.copies import copy_kernels
from ..common.launch_helpers import copy_plan


def plan(case: Case, device: DeviceProperties, **shape: int) -> LaunchPlan:
    entry = f"relu_bitset_copy_{dtypes.suffix(case.dtype)}"
    planned = copy_plan(entry, ("x", "y", "mask"), case.elements, dtypes.itemsize(case.dtype), device, **shape)
    (launch,) = planned.launches
    words = Scalar("int64", -(-case.elements // 32))
    return replace(planned, launches=(replace(launch, arguments=(*launch.arguments, words)),))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """x, and a mask without a bit."""
    return {"y": inputs["x"], "mask": xp.zeros(-(-inputs["x"].size // 32))}


IMPLEMENTATIONS = copy_kernels("copies x to y and writes zeros for the mask", plan, reference)
