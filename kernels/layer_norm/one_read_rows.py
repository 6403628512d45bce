"""Launch plan of one_read_rows.cu: rows of the last axis, by the techniques that softmax chooses for rows as long."""

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, Scalar, dtypes
from ..softmax_family.choice_values import choice_of_values as choice_of
from ..softmax_family.row_candidates import row_candidates
from ..softmax_family.row_plans import MAX_COLUMNS, EntryArguments, plan_of
from ..softmax_family.row_techniques import Choice, StagedLanes
from ..softmax_family.tuning import rows_tunable
from ._choices import choose, with_weights
from ._long_rows import LongRows, long_rows_candidates, long_rows_plan
from .operation import EPS

NAME = "layer_norm_one_read_rows"
GIVEN = EntryArguments(("x", "gamma", "beta", "y"), (Scalar("float32", EPS),))


def candidates(case: Case, device: DeviceProperties) -> tuple[Choice | LongRows, ...]:
    """The rule's choice, then softmax's candidates (without StagedLanes, which has no weights there), then groups
    of blocks for long rows."""
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    itemsize = dtypes.itemsize(case.dtype)
    others = row_candidates(case, device, keeps_exponentials=False)
    held = (with_weights(one, columns, itemsize, device) for one in others if not isinstance(one, StagedLanes))
    sizes = (rows, columns, itemsize, device)
    return tuple(dict.fromkeys((choose(*sizes), *held, *long_rows_candidates(*sizes))))


def plan(case: Case, device: DeviceProperties, **values: int) -> LaunchPlan:
    """Values: those of a candidate; none for the rule's choice."""
    rows, columns = case.rows_columns(max_columns=MAX_COLUMNS)
    found = choice_of(values, candidates(case, device)) if values else None
    found = found or choose(rows, columns, dtypes.itemsize(case.dtype), device)
    return launches_of(found, case, device)


def launches_of(choice: Choice | LongRows, case: Case, device: DeviceProperties) -> LaunchPlan:
    if isinstance(choice, LongRows):
        return long_rows_plan(NAME, choice, case, device, GIVEN)
    return plan_of(NAME, choice, case, device, GIVEN)


IMPLEMENTATIONS = (
    Implementation(
        "one_read_rows",
        "rows held by a thread, lanes, warps, a block, a cluster or a group of blocks, read once",
        Origin("written here"),
        plan=plan,
        tunable=rows_tunable("layer_norm", candidates),
    ),
)
