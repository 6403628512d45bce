"""The launch of kernels whose indices have 32 bits."""

from kernelbench import Case, DeviceProperties, Launch, LaunchPlan, Scalar, Unsupported, dtypes
from ..common.launch_helpers import ELEMENTWISE_BLOCK, thread_each


def narrow_plan(entry: str, case: Case, device: DeviceProperties, items: int, *further: Scalar) -> LaunchPlan:
    """The launch of a kernel whose indices have 32 bits, over all arrays of kernels/indexing.

    `items` are dealt out a thread each; `entry` lacks the data type. Elements, columns and `further` follow the arrays.
    """
    _, columns = case.rows_columns()
    # Indices of the last block go beyond the last element, by at most the work of one block.
    most = 2**31 - 1 - ELEMENTWISE_BLOCK * -(-case.elements // items)
    if case.elements > most:
        raise Unsupported(f"elements must be at most {most} for 32-bit indices, got {case.elements}")
    launch = Launch(
        entry=f"{entry}_{dtypes.suffix(case.dtype)}",
        grid=thread_each(items, device),
        block=(ELEMENTWISE_BLOCK, 1, 1),
        arguments=("x", "by_row", "by_column", "y", Scalar("int32", case.elements), Scalar("int32", columns), *further),
    )
    return LaunchPlan((launch,), defines=(("BLOCK", ELEMENTWISE_BLOCK),))
