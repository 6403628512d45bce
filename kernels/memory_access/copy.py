"""Launch plan of copy.cu: the yardstick, which copies as many elements from the beginning, densely."""

from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import copy_plan


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    entry = f"memory_access_copy_{dtypes.suffix(case.dtype)}"
    return copy_plan(entry, ("x", "y"), case.elements, dtypes.itemsize(case.dtype), device)


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The first elements of x, and behind them what outputs hold before a check."""
    x = inputs["x"].reshape(-1)[: case.elements]
    if case.parameter("side", "load") == "load":
        return {"y": x}
    last = case.parameter("offset", 0) + (case.elements - 1) * case.parameter("stride", 1)
    return {"y": xp.concatenate([x, xp.full(last + 1 - case.elements, xp.nan)])}


IMPLEMENTATIONS = (
    Implementation(
        "copy",
        "copies as many elements densely: the yardstick",
        Origin("written here"),
        plan=plan,
        role="yardstick",
        reference=reference,
    ),
)
