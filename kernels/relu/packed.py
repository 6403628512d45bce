"""Launch plans of packed.cu: OneFlow's block and grid, and others to be set against them.

OneFlow has blocks of 256 and at most 32 waves of them: 32 times as many as are resident. `waves_<n>` has another number
of waves, `block_<n>` another block; with waves counted in blocks of its own, the threads of a wave are the same.
"""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import ELEMENTWISE_BLOCK, ELEMENTWISE_WAVES, packed_plan

WAVES = (1, 2, 4, 8, 16, 64)  # beside OneFlow's 32
BLOCKS = (64, 128, 512, 1024)  # beside OneFlow's 256

ONEFLOW = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow/blob/master/oneflow/core/cuda/elementwise.cuh",
    differs="alignment is looked at by the kernel, not before the launch, so one launch serves all arrays",
)


def plan(
    case: Case, device: DeviceProperties, block: int = ELEMENTWISE_BLOCK, waves: int = ELEMENTWISE_WAVES
) -> LaunchPlan:
    entry = f"relu_packed_{dtypes.suffix(case.dtype)}"
    return packed_plan(entry, ("x", "y"), case, device, block=block, waves=waves)


IMPLEMENTATIONS = (
    Implementation("packed", "packs of 16 bytes, blocks of 256, at most 32 waves", ONEFLOW, plan=plan),
    *(
        Implementation(f"waves_{waves}", f"the same in at most {waves} waves", ONEFLOW, plan=partial(plan, waves=waves))
        for waves in WAVES
    ),
    *(
        Implementation(f"block_{block}", f"the same in blocks of {block}", ONEFLOW, plan=partial(plan, block=block))
        for block in BLOCKS
    ),
)
