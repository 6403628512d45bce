"""Launch plan of naive.cu: one thread per row."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes

BLOCK = 256


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    case.refuse("mask")
    rows, columns = case.rows_columns()
    launch = Launch(
        entry=f"softmax_naive_{dtypes.suffix(case.dtype)}",
        grid=(-(-rows // BLOCK), 1, 1),
        block=(BLOCK, 1, 1),
        arguments=(
            "x",
            "y",
            Scalar("int64", rows),
            Scalar("int32", columns),
            Scalar("float32", case.parameter("scale", 1.0)),
        ),
    )
    return LaunchPlan((launch,))


IMPLEMENTATIONS = (
    Implementation("naive", "one thread per row, input read three times", Origin("written here"), plan=plan),
)
