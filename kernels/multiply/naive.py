"""Launch plan of naive.cu: one element per thread."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes
from ..common.launch_helpers import ELEMENTWISE_BLOCK, thread_each


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    launch = Launch(
        entry=f"multiply_naive_{dtypes.suffix(case.dtype)}",
        grid=thread_each(case.elements, device),
        block=(ELEMENTWISE_BLOCK, 1, 1),
        arguments=("x", "y", "z", Scalar("int64", case.elements)),
    )
    return LaunchPlan((launch,), debug=case.parameter("debug", False))


IMPLEMENTATIONS = (Implementation("naive", "one element per thread", Origin("written here"), plan=plan),)
