"""Launch plan of naive.cu: a block per row."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes
from .operation import EPS

BLOCK = 256


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    rows, columns = case.rows_columns(max_rows=device.max_grid[0], max_columns=2**31 - 1 - BLOCK)
    launch = Launch(
        entry=f"layer_norm_naive_{dtypes.suffix(case.dtype)}",
        grid=(rows, 1, 1),
        block=(BLOCK, 1, 1),
        arguments=("x", "gamma", "beta", "y", Scalar("int32", columns), Scalar("float32", EPS)),
    )
    return LaunchPlan((launch,), defines=(("BLOCK", BLOCK),))


IMPLEMENTATIONS = (Implementation("naive", "a block per row, reads x three times", Origin("written here"), plan=plan),)
