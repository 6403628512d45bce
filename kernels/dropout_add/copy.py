"""Launch plans of copy.cu: the yardsticks, which move as many bytes as dropout and addition in one launch."""

from dataclasses import replace
from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, LaunchPlan, Scalar, dtypes
from ..common.copies import copies
from ..common.launch_helpers import copy_plan


def plan(case: Case, device: DeviceProperties, **shape: int) -> LaunchPlan:
    itemsize = dtypes.itemsize(case.dtype)
    # Read are x, addend and a byte of mask an element, written is y: half of that each way, and y takes one D of it.
    more = case.elements * (itemsize + 1) // (2 * itemsize)
    arrays = ("x", "addend", "y", "rest")
    planned = copy_plan(
        f"dropout_add_copy_{dtypes.suffix(case.dtype)}", arrays, case.elements, itemsize, device, **shape
    )
    (launch,) = planned.launches
    launch = replace(launch, arguments=(*launch.arguments, Scalar("int64", more)))
    return replace(planned, launches=(launch,), scratch=(("rest", max(1, more) * itemsize),))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """What a copy leaves in y."""
    return {"y": inputs["x"]}


IMPLEMENTATIONS = copies("copies x and a part of the addend, as many bytes as the fused kernel moves", plan, reference)
