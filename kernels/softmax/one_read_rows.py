"""Launch plan of one_read_rows.cu: rows of the last axis, held between load and store wherever something holds them."""

from kernelbench.errors import Unsupported
from kernelbench.records import Case, DeviceProperties, Implementation, LaunchPlan, Origin
from kernelbench.row_plans import one_read_rows_plan


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    case.refuse("mask")
    if case.parameter("scale", 1.0) != 1.0:
        raise Unsupported(f"scale must be 1, got {case.parameter('scale', 1.0)}")
    return one_read_rows_plan(case, device, keeps_powers=True)


IMPLEMENTATIONS = (
    Implementation(
        "one_read_rows", "rows held by lanes, warps, a block or a cluster, read once", Origin("written here"), plan=plan
    ),
)
