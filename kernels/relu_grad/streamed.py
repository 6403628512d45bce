"""Launch plan of streamed.cu: the gradient of relu from a mask of one bit per element, one tile per block."""

from typing import Any

from kernelbench import Arrays, Case, Implementation, Origin
from ..common.launch_helpers import streamed, streamed_tunable


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
        plan=streamed("relu_grad_streamed", ("dy", "mask", "dx")),
        tunable=streamed_tunable("relu_grad"),
        reference=reference,
    ),
)
