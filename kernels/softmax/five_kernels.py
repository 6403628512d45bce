"""Launch plan of five_kernels.cu: the softmax of a framework that fuses nothing."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes
from ..common.launch_helpers import elementwise_geometry, power_of_two_from

BLOCK = 256
WARP = 32
WARP_COLUMNS = 1024  # up to here a warp goes through a row in at most 32 steps; longer rows get a block
MAX_COLUMNS = 2**30  # a column and a step beyond it still fit int32


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    case.refuse("mask")
    rows, columns = case.rows_columns(device.max_grid[0], MAX_COLUMNS)

    suffix = dtypes.suffix(case.dtype)
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
            launch("exp_f32", elementwise, "shifted", "powers", *size),
            launch("reduce_sum_f32", reduction, "powers", "row_sum", *size),
            launch(f"broadcast_div_{suffix}", elementwise, "powers", "row_sum", "y", *size),
        ),
        defines=(("BLOCK", BLOCK),),
        scratch=(
            ("row_max", 4 * rows),
            ("shifted", 4 * rows * columns),
            ("powers", 4 * rows * columns),
            ("row_sum", 4 * rows),
        ),
        reasons=(f"reductions: {reduction[1][0]} threads per row of {columns} columns",),
    )


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
)
