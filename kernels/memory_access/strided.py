"""Launch plan of strided.cu: one element per thread, one side at the case's offset and stride."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes
from ..common.launch_helpers import ELEMENTWISE_BLOCK, thread_each

ARTICLE = Origin(
    "Oneflow-Inc/oneflow, 100 days of open source: performance optimisation",
    differs="the article draws a warp's accesses and shows no kernel; here a whole array is gone through",
)


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    place = (case.parameter("offset", 0), case.parameter("stride", 1))
    dense = (0, 1)
    x, y = (place, dense) if case.parameter("side", "load") == "load" else (dense, place)
    launch = Launch(
        entry=f"memory_access_strided_{dtypes.suffix(case.dtype)}",
        grid=thread_each(case.elements, device),
        block=(ELEMENTWISE_BLOCK, 1, 1),
        arguments=("x", "y", *(Scalar("int64", value) for value in (case.elements, *x, *y))),
    )
    return LaunchPlan((launch,))


IMPLEMENTATIONS = (Implementation("strided", "one element per thread, at offset and stride", ARTICLE, plan=plan),)
