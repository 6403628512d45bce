"""Launch plan of copy.cu: the yardstick, which writes as many bytes as a mask has. There is no input to copy."""

from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, Implementation, LaunchPlan, Origin
from ..common.launch_helpers import packed_plan


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    return packed_plan("random_mask_copy_i8", ("mask",), case, device)


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """All elements kept."""
    return {"mask": xp.ones(case.elements)}


IMPLEMENTATIONS = (
    Implementation(
        "copy",
        "writes a 1 to every byte: the yardstick, which only writes, as a mask is only written",
        Origin("written here"),
        plan=plan,
        role="yardstick",
        reference=reference,
    ),
)
