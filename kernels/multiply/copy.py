"""Launch plan of copy.cu: the yardstick, which moves as many bytes as a product of two arrays does."""

from dataclasses import replace
from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import copy_plan


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    entry, itemsize = f"multiply_copy_{dtypes.suffix(case.dtype)}", dtypes.itemsize(case.dtype)
    copied = copy_plan(entry, ("x", "y", "z", "half"), case.elements, itemsize, device)
    return replace(copied, scratch=(("half", max(1, case.elements // 2) * itemsize),))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The copied input."""
    return {"z": inputs["x"]}


IMPLEMENTATIONS = (
    Implementation(
        "copy",
        "copies x, and half of y: the yardstick, as many bytes as a product moves",
        Origin("written here"),
        plan=plan,
        role="yardstick",
        reference=reference,
    ),
)
