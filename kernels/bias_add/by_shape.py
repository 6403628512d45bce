"""Launch plan of by_shape.cu: a bias along the last axis, or along the first."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes
from ..common.launch_helpers import ELEMENTWISE_BLOCK, index_name, waves_grid

ONEFLOW = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow/pull/3636",
    differs="one element at a time and arithmetic in float32, also where that has half2; blocks of 256 in up to 32 "
    "waves, where those have 512 and at most 8192 blocks",
)


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    outer, dim, inner = case.outer_dim_inner
    if inner == 1:
        kernel, divisor, reason = "rows", dim, "the axis is the last: the bias is at i % dim"
    elif outer == 1:
        kernel, divisor, reason = "columns", inner, "the axis is the first: the bias is at i / inner"
    else:
        raise Unsupported(f"the axis must be the first or the last, got axis {case.axis} of {len(case.shape)}")
    launch = Launch(
        entry=f"bias_add_by_shape_{kernel}_{index_name(case.elements)}_{dtypes.suffix(case.dtype)}",
        grid=waves_grid(case.elements, device),
        block=(ELEMENTWISE_BLOCK, 1, 1),
        arguments=("x", "bias", "y", Scalar("int64", case.elements), Scalar("int64", divisor)),
    )
    return LaunchPlan((launch,), reasons=(reason,))


IMPLEMENTATIONS = (
    Implementation("by_shape", "one kernel for inner == 1 and one for outer == 1: one division", ONEFLOW, plan=plan),
)
