"""Launch plan of from_y.cu: the gradient of relu from its output."""

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import packed_plan

ONEFLOW = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow",
    differs="packs of 16 bytes by its element-wise template",
)


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    return packed_plan(f"relu_grad_from_y_{dtypes.suffix(case.dtype)}", ("dy", "y", "dx"), case, device)


IMPLEMENTATIONS = (Implementation("from_y", "reads the output of relu", ONEFLOW, plan=plan),)
