"""Launch plan of copy.cu: the yardstick, which moves as many bytes as relu with its mask does."""

from dataclasses import replace
from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, Implementation, LaunchPlan, Origin, Scalar, dtypes
from ..common.launch_helpers import copy_plan


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    entry = f"relu_bitset_copy_{dtypes.suffix(case.dtype)}"
    planned = copy_plan(entry, ("x", "y", "mask"), case.elements, dtypes.itemsize(case.dtype), device)
    (launch,) = planned.launches
    words = Scalar("int64", -(-case.elements // 32))
    return replace(planned, launches=(replace(launch, arguments=(*launch.arguments, words)),))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """x, and a mask without a bit."""
    return {"y": inputs["x"], "mask": xp.zeros(-(-inputs["x"].size // 32))}


IMPLEMENTATIONS = (
    Implementation(
        "copy",
        "copies x to y and writes zeros for the mask: the yardstick, no relu",
        Origin("written here"),
        plan=plan,
        role="yardstick",
        reference=reference,
    ),
)
