"""Launch plan of streamed.cu: the product of two arrays, one tile per block."""

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
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
    entry = f"multiply_streamed_{dtypes.suffix(case.dtype)}"
    return streamed_plan(entry, ("x", "y", "z"), case, device, block=block, packs=packs, hint=hint)


IMPLEMENTATIONS = (
    Implementation(
        "streamed",
        "one block per tile of packs of 16 bytes",
        Origin("written here"),
        plan=plan,
        tunable=streamed_tunable("multiply"),
    ),
)
