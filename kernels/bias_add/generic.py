"""Launch plan of generic.cu: a bias along any axis."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes
from ..common.launch_helpers import ELEMENTWISE_BLOCK, index_name, waves_grid

ONEFLOW = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow/pull/3636",
    differs="arithmetic in float32; blocks of 256 in up to 32 waves, where those have 512 and at most 8192 blocks",
)


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    _, dim, inner = case.outer_dim_inner
    launch = Launch(
        entry=f"bias_add_generic_{index_name(case.elements)}_{dtypes.suffix(case.dtype)}",
        grid=waves_grid(case.elements, device),
        block=(ELEMENTWISE_BLOCK, 1, 1),
        arguments=(
            "x", "bias", "y", Scalar("int64", case.elements), Scalar("int64", dim * inner), Scalar("int64", inner)
        ),
    )  # fmt: skip
    return LaunchPlan((launch,))


IMPLEMENTATIONS = (Implementation("generic", "finds the bias by two divisions, whatever the axis", ONEFLOW, plan=plan),)
