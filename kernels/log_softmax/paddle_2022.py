"""Launch plan of paddle_2022.cu: the kernel that Paddle put in place of that of 2021, for softmax and log-softmax."""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes
from ..common.launch_helpers import power_of_two_from

MAX_THREADS = 1024  # of a block
WARP = 32
MAX_DIM = 2**30  # an element and a step beyond it still fit int32


def block_size(dim: int, inner: int) -> tuple[int, int]:
    """Columns of a block and threads of a column, as block (x, y).

    Up to 32 columns, then as many threads as dim can use; the remaining threads of 1024 go to further columns.
    """
    columns, threads = power_of_two_from(inner), power_of_two_from(dim)
    threads = min(threads, MAX_THREADS // min(columns, WARP))
    return min(columns, MAX_THREADS // threads), threads


def grid_size(outer: int, inner: int, block: tuple[int, int], device: DeviceProperties) -> tuple[int, int]:
    """Blocks along inner and outer, as grid (x, y): in all about as many as the GPU has room for by threads."""
    most = device.max_threads_per_multiprocessor * device.multiprocessors // (block[0] * block[1])
    inner_blocks = min(-(-inner // block[0]), most)
    return inner_blocks, min(-(-most // inner_blocks), outer, device.max_grid[1])


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    outer, dim, inner = case.outer_dim_inner
    if dim > MAX_DIM:
        raise Unsupported(f"dim must be at most {MAX_DIM}, got {dim}")
    block = block_size(dim, inner)
    launch = Launch(
        entry=f"log_softmax_paddle_2022_{dtypes.suffix(case.dtype)}",
        grid=(*grid_size(outer, inner, block, device), 1),
        block=(*block, 1),
        arguments=("x", "y", Scalar("int64", outer), Scalar("int32", dim), Scalar("int64", inner)),
    )
    reason = f"block: {block[0]} columns of {inner}, {block[1]} threads each for {dim} elements"
    return LaunchPlan((launch,), reasons=(reason,))


IMPLEMENTATIONS = (
    Implementation(
        "paddle_2022",
        "Paddle 2022: the lanes of a warp along inner, further threads along dim",
        Origin(
            "PaddlePaddle/Paddle",
            "https://github.com/PaddlePaddle/Paddle/pull/38992",
            "00816fc",
            "threads beyond inner stay for the block's barriers, which the original lets them miss; a barrier before "
            "each reduction writes its shared memory; the logarithm is taken once per column; indices of elements are "
            "64-bit; 16-bit types are computed in float",
        ),
        plan=plan,
    ),
)
