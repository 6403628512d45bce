"""Launch plan of oneflow.cu: packs of 16 bytes, a grid of at most 32 waves."""

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import packed_plan

ONEFLOW = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow/blob/master/oneflow/core/cuda/elementwise.cuh",
    differs="alignment is looked at by the kernel, not before the launch, so one launch serves all arrays; the grid is "
    "that of packs where elements are gone through singly; a pack of 4 float32, as published, is one of 16 bytes",
)


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    entry = f"multiply_oneflow_{dtypes.suffix(case.dtype)}"
    return packed_plan(entry, ("x", "y", "z"), case, device)


IMPLEMENTATIONS = (
    Implementation("oneflow", "OneFlow's template: packs of 16 bytes, two elements at a time", ONEFLOW, plan=plan),
)
