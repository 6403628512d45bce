"""Launch plan of four_kernels.cu: reduce_max, exp, reduce_sum and divide, one block of 256 per row in each."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes

BLOCK = 256
MAX_COLUMNS = 2**30  # a column and a step beyond it still fit int32


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    case.refuse("mask")
    rows, columns = case.rows_columns(device.max_grid[0], MAX_COLUMNS)

    suffix = dtypes.suffix(case.dtype)
    width = Scalar("int32", columns)
    scale = Scalar("float32", case.parameter("scale", 1.0))

    def launch(step: str, *arguments: str | Scalar) -> Launch:
        return Launch(f"softmax_four_kernels_{step}", (rows, 1, 1), (BLOCK, 1, 1), arguments)

    return LaunchPlan(
        launches=(
            launch(f"reduce_max_{suffix}", "x", "row_max", width, scale),
            launch(f"exp_{suffix}", "x", "row_max", "exps", width, scale),
            launch("reduce_sum_f32", "exps", "row_sum", width),
            launch(f"divide_{suffix}", "exps", "row_sum", "y", width),
        ),
        defines=(("BLOCK", BLOCK),),
        scratch=(("row_max", 4 * rows), ("exps", 4 * rows * columns), ("row_sum", 4 * rows)),
    )


IMPLEMENTATIONS = (
    Implementation(
        "four_kernels",
        "reduce_max, exp, reduce_sum, divide as four launches, one block per row",
        Origin(
            "CSDN article, 'softmax operator: implementation and optimisation' (in Chinese)",
            differs="row by row instead of one block in all; subtracts the maximum where the article divides by it; "
            "accurate exp; __syncwarp where the article relies on volatile; leaves x as it was",
        ),
        plan=plan,
    ),
)
