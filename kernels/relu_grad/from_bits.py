"""Launch plan of from_bits.cu: the gradient of relu from a mask of one bit per element."""

from typing import Any

from kernelbench import Arrays, Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import packed_plan

ONEFLOW = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow/pull/3645",
    differs="relu alone, without the batch norm that it is fused with there; packs of 16 bytes; dy is selected where "
    "the original multiplies it by 0 or 1, so that an infinite dy gives 0 and not NaN",
)


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    return packed_plan(f"relu_grad_from_bits_{dtypes.suffix(case.dtype)}", ("dy", "mask", "dx"), case, device)


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The same gradient, where relu was above 0 read from the mask."""
    dy = inputs["dy"]
    bits = inputs["mask"].reshape(-1, 1).astype(xp.uint8) >> xp.arange(8, dtype=xp.uint8) & 1
    return {"dx": xp.where(bits.reshape(-1)[: dy.size].reshape(dy.shape) != 0, dy, 0.0)}


IMPLEMENTATIONS = (
    Implementation("from_bits", "reads a mask of one bit per element", ONEFLOW, plan=plan, reference=reference),
)
