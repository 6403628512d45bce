"""Launch plan of two_kernels.cu: dropout, then addition, one launch each."""

from dataclasses import replace

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, Scalar, dtypes
from ..common.launch_helpers import packed_plan

ONEFLOW = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow",
    differs="packs of 16 bytes by its element-wise template, as in the fused kernel; arithmetic in float32",
)


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    suffix = dtypes.suffix(case.dtype)
    dropping = packed_plan(f"dropout_add_two_kernels_dropout_{suffix}", ("x", "mask", "dropped"), case, device)
    adding = packed_plan(f"dropout_add_two_kernels_add_{suffix}", ("dropped", "addend", "y"), case, device)
    (launch,) = dropping.launches
    scale = Scalar("float32", case.parameter("scale", 1.25))
    return replace(
        dropping,
        launches=(replace(launch, arguments=(*launch.arguments, scale)), *adding.launches),
        scratch=(("dropped", case.elements * dtypes.itemsize(case.dtype)),),
    )


IMPLEMENTATIONS = (Implementation("two_kernels", "dropout, then addition, one launch each", ONEFLOW, plan=plan),)
