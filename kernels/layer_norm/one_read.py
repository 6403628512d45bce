"""Launch plan of one_read.cu: a warp or a block per row, as many threads as hold it in registers."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, dtypes
from .operation import EPS

PACK_BYTES = 16
WARP, WARP_ROWS = 32, 4  # threads of a row, and rows of a block, where a warp holds the row
MOST_HELD = 32  # elements per thread: as float32, half of its registers in a block of 1024
MOST_THREADS = 1024


def pack_width(columns: int, dtype: str) -> int:
    """Elements of the widest pack that rows are made of, so that each begins at a multiple of one."""
    width = PACK_BYTES // dtypes.itemsize(dtype)
    while columns % width:
        width //= 2
    return width


def threads_of_row(columns: int) -> int:
    """The fewest that hold it: a warp, or 128 and more in powers of two."""
    if columns <= WARP * MOST_HELD:
        return WARP
    threads = 4 * WARP
    while threads * MOST_HELD < columns:
        threads *= 2
    return threads


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    rows, columns = case.rows_columns(max_columns=MOST_THREADS * MOST_HELD, max_rows=device.max_grid[0])
    threads, width = threads_of_row(columns), pack_width(columns, case.dtype)
    rows_of_block = WARP_ROWS if threads == WARP else 1
    packs, pack_bytes = -(-columns // (threads * width)), width * dtypes.itemsize(case.dtype)
    launch = Launch(
        entry=f"layer_norm_one_read_{dtypes.suffix(case.dtype)}",
        grid=(-(-rows // rows_of_block), 1, 1),
        block=(threads, rows_of_block, 1),
        arguments=(
            "x", "gamma", "beta", "y", Scalar("int64", rows), Scalar("int32", columns), Scalar("float32", EPS)
        ),
    )  # fmt: skip
    group = "a warp" if threads == WARP else f"a block of {threads}"
    return LaunchPlan(
        (launch,),
        defines=(("THREADS", threads), ("ROWS", rows_of_block), ("BYTES", pack_bytes), ("PACKS", packs)),
        reasons=(f"{group} per row, {packs} packs of {width} elements per thread",),
    )


IMPLEMENTATIONS = (
    Implementation("one_read", "a row in the registers of a warp or a block", Origin("written here"), plan=plan),
)
