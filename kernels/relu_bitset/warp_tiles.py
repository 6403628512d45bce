"""Launch plan of warp_tiles.cu: relu and its bits by packs, one warp per tile."""

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import STREAMED_BLOCK, STREAMED_HINT, streamed_plan

PACKS = 2  # a warp's bits of two packs of float are 32 bytes, a whole sector


def plan(
    case: Case,
    device: DeviceProperties,
    block: int = STREAMED_BLOCK,
    packs: int = PACKS,
    hint: int = STREAMED_HINT,
) -> LaunchPlan:
    entry = f"relu_bitset_warp_tiles_{dtypes.suffix(case.dtype)}"
    return streamed_plan(entry, ("x", "y", "mask"), case, device, block=block, packs=packs, hint=hint)


IMPLEMENTATIONS = (
    Implementation(
        "warp_tiles",
        "packs of 16 bytes; a warp puts the bits of a tile together and writes whole sectors",
        Origin("written here"),
        plan=plan,
    ),
)
