"""Launch plan of fused.cu: dropout and addition in one launch."""

from dataclasses import replace

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, Scalar, dtypes
from ..common.launch_helpers import packed_plan

ONEFLOW = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow",
    differs="packs of 16 bytes by its element-wise template; arithmetic in float32 for half precision, where the "
    "kernel of that time has half2 products and sums",
)


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    planned = packed_plan(f"dropout_add_fused_{dtypes.suffix(case.dtype)}", ("x", "mask", "addend", "y"), case, device)
    (launch,) = planned.launches
    scale = Scalar("float32", case.parameter("scale", 1.25))
    return replace(planned, launches=(replace(launch, arguments=(*launch.arguments, scale)),))


IMPLEMENTATIONS = (Implementation("fused", "dropout and addition in one launch", ONEFLOW, plan=plan),)
