"""Launch plan of one_read_rows.cu and _words.cu: rows of the last axis, held between load and store wherever something
holds them."""

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin
from ..softmax_family.choices import rows_plan
from ..softmax_family.tuning import softmax_rows_tunable
from ..softmax_family.words import SOURCE


def plan(case: Case, device: DeviceProperties, **values: int) -> LaunchPlan:
    """Values: those of a candidate, see row_candidates; none for the fastest by the cost function."""
    return rows_plan("log_softmax_one_read_rows", case, device, keeps_exponentials=False, values=values)


IMPLEMENTATIONS = (
    Implementation(
        "one_read_rows",
        "rows held by lanes, warps, a block or a cluster, read once",
        Origin("written here"),
        plan=plan,
        tunable=softmax_rows_tunable("log_softmax", keeps_exponentials=False),
        other_sources=(SOURCE,),
    ),
)
