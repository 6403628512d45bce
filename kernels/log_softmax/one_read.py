"""Launch plan of one_read.cu: the block's columns are kept in shared memory between maximum, sum and result."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes
from ..common.launch_helpers import power_of_two_from

MAX_THREADS = 512  # of a block
WHOLE_INNER = 64  # largest inner that one block covers whole: its steps along dim are then contiguous
COLUMNS = (32, 16, 8)  # columns per block otherwise: 8 floats are one sector of 32 bytes


def threads_of(dim: int, columns: int) -> int:
    """Threads of a column: a power of two, no more than dim has use for."""
    return min(power_of_two_from(dim), 1 << (MAX_THREADS // columns).bit_length() - 1)


def shared_bytes(dim: int, columns: int, itemsize: int) -> int:
    return 4 * columns * threads_of(dim, columns) + dim * columns * itemsize


def columns_of(dim: int, inner: int, itemsize: int, device: DeviceProperties) -> int:
    """Columns per block: the most with two resident blocks per multiprocessor, else with one; 0 if none fits."""
    choices = [*([inner] if inner <= WHOLE_INNER else []), *(columns for columns in COLUMNS if columns < inner)]
    for together in (2, 1):
        room = device.shared_per_multiprocessor // together - device.shared_reserved_per_block
        for columns in choices:
            if shared_bytes(dim, columns, itemsize) <= min(room, device.shared_per_block_optin):
                return columns
    return 0


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    outer, dim, inner = case.outer_dim_inner
    itemsize = dtypes.itemsize(case.dtype)
    columns = columns_of(dim, inner, itemsize, device)
    if not columns:
        least = min(inner, COLUMNS[-1])
        raise Unsupported(
            f"dim must be so small that {least} column{'s' if least > 1 else ''} fit {device.shared_per_block_optin} "
            f"bytes of shared memory, got {dim}"
        )
    blocks = -(-inner // columns) * outer
    if blocks > device.max_grid[0]:
        raise Unsupported(f"blocks must be at most {device.max_grid[0]}, got {blocks} of {columns} columns each")
    launch = Launch(
        entry=f"log_softmax_one_read_{dtypes.suffix(case.dtype)}",
        grid=(blocks, 1, 1),
        block=(columns, threads_of(dim, columns), 1),
        arguments=("x", "y", Scalar("int32", dim), Scalar("int64", inner)),
        shared_bytes=shared_bytes(dim, columns, itemsize),
    )
    return LaunchPlan((launch,), reasons=(f"{columns} columns of {inner} per block, {dim} elements each, kept",))


IMPLEMENTATIONS = (
    Implementation("one_read", "columns kept in shared memory, read once", Origin("written here"), plan=plan),
)
