"""Launch plans of five_kernels.cu: the softmax of a framework that fuses nothing, in float or in half between launches.

float16 between the launches costs accuracy, and `EXTRA` says how much, with u = 2^-11. The exponent -t of a result y is
rounded by t * u at most. t <= ln(1 / y), and y * ln(1 / y) <= 4 * y + exp(-5). The exponents change the sum of a row of
1024 by 4.5 u at most: its largest element is exp(0), and the others do most where they are equal. The exponential, the
terms of the sum, and the sum are each rounded once, by u.
"""

from math import exp, frexp

from kernelbench import (
    Case,
    DeviceProperties,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
    Scalar,
    Tolerance,
    Unsupported,
    dtypes,
)
from ..common.launch_helpers import elementwise_geometry, power_of_two_from

BLOCK = 256
WARP = 32
WARP_COLUMNS = 1024  # up to here a warp goes through a row in at most 32 steps; longer rows get a block
MAX_COLUMNS = 2**30  # a column and a step beyond it still fit int32
MAX_HALF_COLUMNS = 1024
EXTRA = Tolerance(relative=12 * 2.0**-11, absolute=exp(-5) * 2.0**-11)


def plan(case: Case, device: DeviceProperties, half: bool = False) -> LaunchPlan:
    """`half`: what lies between the launches is float16."""
    case.refuse("mask")
    rows, columns = case.rows_columns(device.max_grid[0], MAX_COLUMNS)

    suffix, kept, itemsize = ("half_f16", "half_f16", 2) if half else (dtypes.suffix(case.dtype), "f32", 4)
    scale = Scalar("float32", case.parameter("scale", 1.0))
    size = (Scalar("int64", rows), Scalar("int32", columns))
    reduction = _reduction_geometry(rows, columns)
    elementwise = elementwise_geometry(rows, columns, BLOCK, device.max_grid[1])

    def launch(
        step: str, geometry: tuple[tuple[int, int, int], tuple[int, int, int]], *arguments: str | Scalar
    ) -> Launch:
        grid, block = geometry
        return Launch(f"softmax_five_kernels_{step}", grid, block, arguments)

    return LaunchPlan(
        launches=(
            launch(f"reduce_max_{suffix}", reduction, "x", "row_max", *size, scale),
            launch(f"broadcast_sub_{suffix}", elementwise, "x", "row_max", "shifted", *size, scale),
            launch(f"exp_{kept}", elementwise, "shifted", "exps", *size),
            launch(f"reduce_sum_{kept}", reduction, "exps", "row_sum", *size),
            launch(f"broadcast_div_{suffix}", elementwise, "exps", "row_sum", "y", *size),
        ),
        defines=(("BLOCK", BLOCK),),
        scratch=(
            ("row_max", itemsize * rows),
            ("shifted", itemsize * rows * columns),
            ("exps", itemsize * rows * columns),
            ("row_sum", itemsize * rows),
        ),
        reasons=(f"reductions: {reduction[1][0]} threads per row of {columns} columns",),
    )


def plan_half(case: Case, device: DeviceProperties) -> LaunchPlan:
    if case.dtype != "float16":
        raise Unsupported(f"dtype must be float16, got {case.dtype}")
    if frexp(scale := case.parameter("scale", 1.0))[0] != 0.5:
        raise Unsupported(f"scale must be a power of two, for a row's maximum to be a float16 number, got {scale}")
    case.rows_columns(max_columns=MAX_HALF_COLUMNS)  # what EXTRA was derived for
    return plan(case, device, half=True)


def _reduction_geometry(rows: int, columns: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Grid and block: no more lanes per row than it has columns, up to a warp; a block for long rows."""
    lanes = min(WARP, power_of_two_from(columns)) if columns <= WARP_COLUMNS else BLOCK
    block_rows = BLOCK // lanes
    return (-(-rows // block_rows), 1, 1), (lanes, block_rows, 1)


IMPLEMENTATIONS = (
    Implementation(
        "five_kernels",
        "ReduceMax, BroadcastSub, Exp, ReduceSum, BroadcastDiv as five launches",
        Origin(
            "OneFlow, GPU performance optimisation article",
            differs="the article names the five launches but shows no code; intermediate tensors are float32",
        ),
        plan=plan,
    ),
    Implementation(
        "five_kernels_half",
        "the same five launches with float16 between them",
        Origin(
            "OneFlow, GPU performance optimisation article",
            differs="the article names the five launches but shows no code; intermediate tensors are float16, as a "
            "framework in half precision keeps them, so results may differ from a softmax by 5.9e-3 relative "
            "and 3.3e-6 absolute; rows of at most 1024, scaled by a power of two",
        ),
        plan=plan_half,
        extra_tolerance=EXTRA,
    ),
)
