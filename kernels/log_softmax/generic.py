"""Launch plan of generic.cu: log-softmax as Eigen ran it in Paddle, until a kernel of its own replaced it."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes
from ..common.launch_helpers import Extent, elementwise_geometry

BLOCK = 256
MOST = 2**30  # an element, or a column, and a step beyond it still fit int32


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    outer, dim, inner = case.outer_dim_inner
    for name, extent in (("dim", dim), ("inner", inner)):
        if extent > MOST:
            raise Unsupported(f"{name} must be at most {MOST}, got {extent}")
    columns, rows = outer * inner, outer * dim
    reduction: tuple[Extent, Extent] = ((-(-columns // BLOCK), 1, 1), (BLOCK, 1, 1))
    elementwise = elementwise_geometry(rows, inner, BLOCK, device.max_grid[1])
    blocks = max(reduction[0][0], elementwise[0][0])
    if blocks > device.max_grid[0]:
        raise Unsupported(f"blocks must be at most {device.max_grid[0]}, got {blocks} for outer {outer}, dim {dim}")

    suffix = dtypes.suffix(case.dtype)
    of_columns = (Scalar("int64", columns), Scalar("int32", dim), Scalar("int32", inner))
    of_rows = (Scalar("int64", rows), Scalar("int32", dim), Scalar("int32", inner))

    def launch(step: str, geometry: tuple[Extent, Extent], *arguments: str | Scalar) -> Launch:
        grid, block = geometry
        return Launch(f"log_softmax_generic_{step}", grid, block, arguments)

    return LaunchPlan(
        launches=(
            launch(f"reduce_max_{suffix}", reduction, "x", "column_max", *of_columns),
            launch(f"shift_{suffix}", elementwise, "x", "column_max", "shifted", *of_rows),
            launch("exp_f32", elementwise, "shifted", "exps", of_rows[0], of_rows[2]),
            launch("log_sum_f32", reduction, "exps", "log_sum", *of_columns),
            launch(f"subtract_{suffix}", elementwise, "shifted", "log_sum", "y", *of_rows),
        ),
        defines=(("BLOCK", BLOCK),),
        scratch=(
            ("column_max", 4 * columns),
            ("shifted", 4 * case.elements),
            ("exps", 4 * case.elements),
            ("log_sum", 4 * columns),
        ),
        reasons=("reductions: one thread per column",),
    )


IMPLEMENTATIONS = (
    Implementation(
        "generic",
        "maximum, subtraction, exp, sum and logarithm, subtraction as five launches",
        Origin(
            "PaddlePaddle/Paddle",
            "https://github.com/PaddlePaddle/Paddle/blob/release/2.0/paddle/fluid/operators/log_softmax_op.h",
            "2b98393",
            "launches of its own in place of those that Eigen makes of the expression; x - max is not clipped "
            "at -64; tensors between the launches are float",
        ),
        plan=plan,
    ),
)
