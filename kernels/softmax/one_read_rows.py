"""Launch plan of one_read_rows.cu: rows of the last axis, held between load and store wherever something holds them."""

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin
from ..softmax_family.peers import refuse_scale_and_mask
from ..softmax_family.row_plans import one_read_rows_plan
from ..softmax_family.row_tuning import Step, tunable


def plan(
    case: Case,
    device: DeviceProperties,
    threads: int = 0,
    blocks: int = 0,
    rows: int | None = None,
    block: int | None = None,
    hint: int | None = None,
) -> LaunchPlan:
    """Threads, blocks and the others: see Step."""
    refuse_scale_and_mask(case)
    step = Step(threads, blocks, rows, block, hint)
    return one_read_rows_plan("softmax_one_read_rows", case, device, keeps_exponentials=True, step=step)


IMPLEMENTATIONS = (
    Implementation(
        "one_read_rows",
        "rows held by lanes, warps, a block or a cluster, read once",
        Origin("written here"),
        plan=plan,
        tunable=tunable("softmax"),
    ),
)
