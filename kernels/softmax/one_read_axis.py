"""Launch plan of one_read_axis.cu: along an axis that is not the last, tiles held in registers."""

from kernelbench.axis_plans import axis_plan
from kernelbench.peers import refuse_scale_and_mask
from kernelbench.records import Case, DeviceProperties, Implementation, LaunchPlan, Origin


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    refuse_scale_and_mask(case)
    return axis_plan("softmax_one_read_axis", case, device)


IMPLEMENTATIONS = (
    Implementation(
        "one_read_axis", "off the last axis: tiles or clusters hold dim, read once", Origin("written here"), plan=plan
    ),
)
