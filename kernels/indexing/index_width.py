"""Launch plans of index_width.cu: 64-bit or 32-bit indices."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes
from ..common.launch_helpers import ELEMENTWISE_BLOCK, thread_each
from ._narrow import narrow_plan

ARTICLE = Origin(
    "Oneflow-Inc/oneflow, 100 days of open source: performance optimisation",
    differs="said in words; the kernel was written here",
)


def wide(case: Case, device: DeviceProperties) -> LaunchPlan:
    _, columns = case.rows_columns()
    launch = Launch(
        entry=f"indexing_index_width_int64_{dtypes.suffix(case.dtype)}",
        grid=thread_each(case.elements, device),
        block=(ELEMENTWISE_BLOCK, 1, 1),
        arguments=("x", "by_row", "by_column", "y", Scalar("int64", case.elements), Scalar("int64", columns)),
    )
    return LaunchPlan((launch,), defines=(("BLOCK", ELEMENTWISE_BLOCK),))


def narrow(case: Case, device: DeviceProperties) -> LaunchPlan:
    return narrow_plan("indexing_index_width_int32", case, device, case.elements)


IMPLEMENTATIONS = (
    Implementation("index_64", "64-bit indices", ARTICLE, plan=wide),
    Implementation("index_32", "32-bit indices", ARTICLE, plan=narrow),
)
