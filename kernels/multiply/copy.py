"""Launch plans of copy.cu: the yardsticks, which move as many bytes as a product of two arrays does."""

from dataclasses import replace
from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, LaunchPlan, dtypes
from ..common.copies import copy_kernels
from ..common.launch_helpers import copy_plan


def plan(case: Case, device: DeviceProperties, **shape: int) -> LaunchPlan:
    entry, itemsize = f"multiply_copy_{dtypes.suffix(case.dtype)}", dtypes.itemsize(case.dtype)
    copied = copy_plan(entry, ("x", "y", "z", "half"), case.elements, itemsize, device, **shape)
    return replace(copied, scratch=(("half", max(1, case.elements // 2) * itemsize),))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The copied input."""
    return {"z": inputs["x"]}


IMPLEMENTATIONS = copy_kernels("copies x, and half of y, as many bytes as a product moves", plan, reference)
