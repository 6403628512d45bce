"""Launch plan of copy.cu: the yardstick, which moves each byte of x and y once and computes nothing."""

from typing import Any

from kernelbench import dtypes
from kernelbench.errors import Unsupported
from kernelbench.records import Arrays, Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar

BLOCK = 256
PACK_BYTES = 16
PACKS = 4  # 16 KB in flight a block: four resident blocks reach the 64 KB a multiprocessor that an H200 needs


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    packs = case.elements * dtypes.itemsize(case.dtype) // PACK_BYTES
    blocks = max(1, -(-packs // (BLOCK * PACKS)))
    if blocks > device.max_grid[0]:
        largest = device.max_grid[0] * BLOCK * PACKS * PACK_BYTES
        raise Unsupported(f"x must have at most {largest} bytes, got {case.elements * dtypes.itemsize(case.dtype)}")
    launch = Launch(
        entry=f"softmax_copy_{dtypes.suffix(case.dtype)}",
        grid=(blocks, 1, 1),
        block=(BLOCK, 1, 1),
        arguments=("x", "y", Scalar("int64", case.elements)),
    )
    return LaunchPlan((launch,), defines=(("BLOCK", BLOCK), ("PACKS", PACKS)))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """What a copy leaves in y."""
    return {"y": inputs["x"]}


IMPLEMENTATIONS = (
    Implementation(
        "copy",
        "copies x to y: the yardstick, no softmax",
        Origin("written here"),
        plan=plan,
        role="yardstick",
        reference=reference,
    ),
)
