"""Launch plan of streamed.cu: dropout and addition, one tile per block."""

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, Scalar, dtypes
from ..common.launch_helpers import (
    STREAMED_BLOCK,
    STREAMED_HINT,
    STREAMED_PACKS,
    streamed_plan,
    streamed_tunable,
)


def plan(
    case: Case,
    device: DeviceProperties,
    block: int = STREAMED_BLOCK,
    packs: int = STREAMED_PACKS,
    hint: int = STREAMED_HINT,
) -> LaunchPlan:
    entry = f"dropout_add_streamed_{dtypes.suffix(case.dtype)}"
    arguments = ("x", "mask", "addend", "y", Scalar("float32", case.parameter("scale", 1.25)))
    return streamed_plan(entry, arguments, case, device, block=block, packs=packs, hint=hint)


IMPLEMENTATIONS = (
    Implementation(
        "streamed",
        "dropout and addition, one block per tile of packs of 16 bytes",
        Origin("written here"),
        plan=plan,
        tunable=streamed_tunable("dropout_add"),
    ),
)
