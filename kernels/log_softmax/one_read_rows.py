"""Launch plan of one_read_rows.cu: rows of the last axis, held between load and store wherever something holds them."""

from kernelbench.records import Case, DeviceProperties, Implementation, LaunchPlan, Origin
from kernelbench.row_plans import one_read_rows_plan


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    return one_read_rows_plan("log_softmax_one_read_rows", case, device, keeps_powers=False)


IMPLEMENTATIONS = (
    Implementation(
        "one_read_rows", "rows held by lanes, warps, a block or a cluster, read once", Origin("written here"), plan=plan
    ),
)
