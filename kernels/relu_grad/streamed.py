"""Launch plan of streamed.cu: the gradient of relu from a mask of one bit per element, one tile per block."""

from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
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
    entry = f"relu_grad_streamed_{dtypes.suffix(case.dtype)}"
    return streamed_plan(entry, ("dy", "mask", "dx"), case, device, block=block, packs=packs, hint=hint)


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The gradient, where relu was above 0 read from the mask."""
    dy = inputs["dy"]
    bits = inputs["mask"].reshape(-1, 1).astype(xp.uint8) >> xp.arange(8, dtype=xp.uint8) & 1
    return {"dx": xp.where(bits.reshape(-1)[: dy.size].reshape(dy.shape) != 0, dy, 0.0)}


IMPLEMENTATIONS = (
    Implementation(
        "streamed",
        "reads a mask of one bit per element, one block per tile of packs of 16 bytes",
        Origin("written here"),
        plan=plan,
        tunable=streamed_tunable("relu_grad"),
        reference=reference,
    ),
)
