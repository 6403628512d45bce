"""Launch plan of one_read_axis.cu: along an axis that is not the last, tiles held in registers and shared memory."""

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin
from ..softmax_family.axis_plans import axis_plan
from ..softmax_family.axis_tuning import TileStep, tunable


def plan(
    case: Case,
    device: DeviceProperties,
    packs: int | None = None,
    blocks: int = 0,
    loads: int | None = None,
    stores: int | None = None,
) -> LaunchPlan:
    """Packs, blocks and hints: see TileStep."""
    return axis_plan("log_softmax_one_read_axis", case, device, TileStep(packs, blocks, loads, stores))


IMPLEMENTATIONS = (
    Implementation(
        "one_read_axis",
        "off the last axis: tiles or clusters hold dim, read once",
        Origin("written here"),
        plan=plan,
        tunable=tunable("log_softmax"),
    ),
)
