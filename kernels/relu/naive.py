"""Launch plan of naive.cu: one element per thread."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes
from ..common.launch_helpers import ELEMENTWISE_BLOCK, thread_each

PAGE = Origin(
    "CSDN blog, CUDA notes on element-wise kernels",
    differs="the index is 64-bit, and checked: the published kernel trusts its grid; other element types",
)


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    launch = Launch(
        entry=f"relu_naive_{dtypes.suffix(case.dtype)}",
        grid=thread_each(case.elements, device),
        block=(ELEMENTWISE_BLOCK, 1, 1),
        arguments=("x", "y", Scalar("int64", case.elements)),
    )
    return LaunchPlan((launch,))


IMPLEMENTATIONS = (Implementation("naive", "one element per thread", PAGE, plan=plan),)
