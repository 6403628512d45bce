"""Launch plans of copy.cu: the yardsticks, which move as many bytes as dropout and addition in one launch."""

from dataclasses import replace
from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, LaunchPlan, Scalar, dtypes
from ..common.copies import copy_kernels
from ..common.launch_helpers import copy_plan


def plan(case: Case, device: DeviceProperties, **shape: int) -> LaunchPlan:
    itemsize = dtypes.itemsize(case.dtype)
    # Dropout reads x, addend and one byte of mask per element, and writes y. The copy reads half of that and writes
    # half of it: y and `more` elements.
    more = case.elements * (itemsize + 1) // (2 * itemsize)
    arrays = ("x", "addend", "y", "rest")
    planned = copy_plan(
        f"dropout_add_copy_{dtypes.suffix(case.dtype)}", arrays, case.elements, itemsize, device, **shape
    )
    (launch,) = planned.launches
    launch = replace(launch, arguments=(*launch.arguments, Scalar("int64", more)))
    return replace(planned, launches=(launch,), scratch=(("rest", max(1, more) * itemsize),))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The copied input."""
    return {"y": inputs["x"]}


IMPLEMENTATIONS = copy_kernels(
    "copies x and a part of the addend, as many bytes as the fused kernel moves", plan, reference
)
