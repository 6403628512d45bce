"""Launch plans of gather.cu: element by element, or by packs of 8 or 16 bytes where the last axis stays the last."""

from functools import partial
from math import prod

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes
from ..common.launch_helpers import ELEMENTWISE_BLOCK, index_name, waves_grid
from ._axes import merged_axes, permutation_of

MAX_RANK = 6

GENERIC = Origin(
    "Oneflow-Inc/oneflow",
    "https://github.com/Oneflow-Inc/oneflow/pull/3487",
    differs="axes that stay neighbours are merged; 64-bit indices beyond 2^30 elements",
)
WIDENED = Origin(
    GENERIC.project,
    GENERIC.url,
    differs=f"{GENERIC.differs}; the kernel checks alignment",
)


def plan(case: Case, device: DeviceProperties, move_bytes: int = 0) -> LaunchPlan:
    """`move_bytes` are moved at once; 0 for one element."""
    shape, permutation = merged_axes(case.shape, permutation_of(case))
    size = move_bytes // dtypes.itemsize(case.dtype) if move_bytes else 1
    if len(shape) > MAX_RANK:
        raise Unsupported(f"at most {MAX_RANK} axes may be left once neighbours are merged, got {len(shape)}")
    if size > 1 and permutation[-1] != len(shape) - 1:
        raise Unsupported(f"the last axis must stay the last, got permutation '{''.join(map(str, permutation))}'")
    if shape[-1] % size:
        raise Unsupported(f"what stays together must be a multiple of {size} elements, got {shape[-1]}")
    shape = (*shape[:-1], shape[-1] // size)  # in moves from here on
    extents = [shape[axis] for axis in permutation][1:]
    strides = [prod(shape[axis + 1 :]) for axis in permutation]
    extents += [1] * (MAX_RANK - 1 - len(extents))
    strides += [0] * (MAX_RANK - len(strides))
    moves = case.elements // size
    launch = Launch(
        entry=f"permute_gather_{index_name(case.elements)}_{dtypes.suffix(case.dtype)}",
        grid=waves_grid(moves, device),
        block=(ELEMENTWISE_BLOCK, 1, 1),
        arguments=("x", "y", *(Scalar("int64", number) for number in (moves, *extents, *strides))),
    )
    return LaunchPlan(
        (launch,),
        defines=(("MOVE", move_bytes), ("RANK", len(shape))),
        reasons=(f"{len(shape)} axes once neighbours are merged; {moves} moves",),
    )


IMPLEMENTATIONS = (
    Implementation("generic", "one element per thread, a division for each axis", GENERIC, plan=plan),
    Implementation(
        "widened", "8 bytes per thread where the last axis stays", WIDENED, plan=partial(plan, move_bytes=8)
    ),
    Implementation(
        "widened_16", "16 bytes per thread where the last axis stays", WIDENED, plan=partial(plan, move_bytes=16)
    ),
)  # fmt: skip
