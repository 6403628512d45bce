"""Launch plans of copy.cu: the yardsticks, which write as many bytes as a mask has. There is nothing to copy from."""

from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, LaunchPlan
from ..common.copies import copy_kernels
from ..common.launch_helpers import streamed_plan

STREAM_STORES = 3  # a hint of common/streamed.cuh


def plan(case: Case, device: DeviceProperties, packs: int, streamed: int) -> LaunchPlan:
    return streamed_plan("random_mask_copy_i8", ("mask",), case, device, packs=packs, hint=STREAM_STORES * streamed)


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """All elements kept."""
    return {"mask": xp.ones(case.elements)}


IMPLEMENTATIONS = copy_kernels("writes a 1 to every byte, as a mask is only written", plan, reference)
