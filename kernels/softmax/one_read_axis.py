"""Launch plan of one_read_axis.cu: along an axis that is not the last, tiles held in registers."""

from kernelbench.axis_plans import axis_plan
from kernelbench.errors import Unsupported
from kernelbench.records import Case, DeviceProperties, Implementation, LaunchPlan, Origin


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    case.refuse("mask")
    if (scale := case.parameter("scale", 1.0)) != 1.0:
        raise Unsupported(f"scale must be 1, got {scale}")
    return axis_plan("softmax", case, device)


IMPLEMENTATIONS = (
    Implementation(
        "one_read_axis", "off the last axis: tiles or clusters hold dim, read once", Origin("written here"), plan=plan
    ),
)
