"""Launch plan of streamed.cu: a bias along any axis, one tile per block."""

from kernelbench import (
    FLOATS,
    Case,
    DeviceProperties,
    Implementation,
    LaunchPlan,
    Origin,
    Scalar,
    Tunable,
    Unsupported,
    dtypes,
)
from ..common.launch_helpers import (
    ELEMENTWISE_PACK_BYTES,
    STREAMED_BLOCK,
    STREAMED_HINT,
    STREAMED_VALUES,
    streamed_plan,
)

PACKS = 2  # of x per thread; results/h200/trials.yaml has the trials
MOST = 2**31 - 1  # elements of [dim, inner]: a place in it has 32 bits


def which_of(case: Case) -> str:
    """The struct of streamed.cu that finds the bias of a pack.

    One load of a whole pack, or of one element for a pack, costs nothing beside the pack of x. One load per element
    adds as many accesses as the pack has elements.
    """
    _, dim, inner = case.outer_dim_inner
    size = ELEMENTWISE_PACK_BYTES // dtypes.itemsize(case.dtype)
    if inner == 1 and dim % size == 0:
        return "Neighbours"
    return "Same" if inner % size == 0 else "Any"


def plan(
    case: Case,
    device: DeviceProperties,
    block: int = STREAMED_BLOCK,
    packs: int = PACKS,
    hint: int = STREAMED_HINT,
) -> LaunchPlan:
    _, dim, inner = case.outer_dim_inner
    if dim * inner > MOST:
        raise Unsupported(f"elements from the axis on must be at most {MOST}, got {dim * inner}")
    return streamed_plan(
        f"bias_add_streamed_{dtypes.suffix(case.dtype)}",
        ("x", "bias", "y", Scalar("int32", dim * inner), Scalar("int32", inner)),
        case,
        device,
        block=block,
        packs=packs,
        hint=hint,
        defines=(("WHICH", which_of(case)),),
    )


SHAPES = (((16384, 4096), -1), ((66989, 1001), -1), ((4096, 16384), 0), ((32, 256, 56, 56), 1))
TUNABLE = Tunable(
    STREAMED_VALUES,
    layout=which_of,
    cases=tuple(Case("bias_add", shape, axis, dtype) for dtype in FLOATS for shape, axis in SHAPES),
)

IMPLEMENTATIONS = (
    Implementation(
        "streamed",
        "whatever the axis, one block per tile of packs of 16 bytes",
        Origin("written here"),
        plan=plan,
        tunable=TUNABLE,
    ),
)
