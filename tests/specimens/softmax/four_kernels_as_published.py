"""Specimen: the four-kernel softmax as published. The check must reject it.

The trick: `exp` takes x / max instead of x - max, where both keep the exponentials from overflowing. Every row
still sums to one, and rows whose elements are all alike come out right, so an eye on the printed output,
or an input of all ones, sees nothing wrong. Random input shows it at once.
"""

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
        return Launch(f"softmax_four_kernels_as_published_{step}", (rows, 1, 1), (BLOCK, 1, 1), arguments)

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
        "four_kernels_as_published",
        "not a softmax: divides by the maximum instead of subtracting it",
        Origin(
            "CSDN article, 'softmax operator: implementation and optimisation' (in Chinese)",
            differs="row by row instead of one block in all; __syncwarp where the article relies on volatile; "
            "leaves x as it was; prints nothing",
        ),
        plan=plan,
        arithmetic="fast",
        role="specimen",
    ),
)
