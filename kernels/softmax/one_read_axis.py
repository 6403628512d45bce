"""Launch plan of one_read_axis.cu: along an axis that is not the last, tiles held in registers and shared memory."""

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin
from ..softmax_family.choices import axis_plan
from ..softmax_family.peers import refuse_scale_and_mask
from ..softmax_family.tuning import axis_tunable


def plan(case: Case, device: DeviceProperties, **values: int) -> LaunchPlan:
    """Values: those of a candidate, see axis_candidates; none for the fastest by the cost function."""
    refuse_scale_and_mask(case)
    return axis_plan("softmax_one_read_axis", case, device, values)


IMPLEMENTATIONS = (
    Implementation(
        "one_read_axis",
        "off the last axis: tiles or clusters hold dim, read once",
        Origin("written here"),
        plan=plan,
        tunable=axis_tunable("softmax"),
    ),
)
