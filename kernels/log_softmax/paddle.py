"""Launch plans of paddle.cu: Paddle's launch rule of 2021, with other bounds for the grid, and with its axes swapped.

The rule has three steps: threads of a block, blocks that may be resident, blocks of the grid. The published
description, its example and its figures fit a rule that gives a column several threads only where inner is at most
64 and dim at least 64; the code as merged does without this condition, and is `paddle_merged` here.
"""

from collections.abc import Callable
from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes

MAX_THREADS = 1024  # of a block
SHARED_INNER, SHARED_DIM = 64, 64  # threads share a column with at most these columns per block and at least this dim
BLOCKS_A_MULTIPROCESSOR = 2  # what the published code settled on, as good as asking the occupancy API
REGISTERS = 32  # per thread at most, rounded up to the unit in which a warp gets them
MAX_DIM = 2**30  # an element and a step beyond it still fit int32

Bound = Callable[[DeviceProperties, int, int], int]  # device, threads and shared bytes of a block: blocks of the grid


def block_size(dim: int, inner: int, merged: bool = False) -> tuple[int, int]:
    """Threads of a column and columns of a block, as block (x, y).

    As many columns as there are, then the largest power of two of threads per column that is at most dim and makes at
    most 1024 threads. `merged`: even where columns are not few and long.
    """
    columns = min(inner, MAX_THREADS)
    threads = 1
    if merged or (columns <= SHARED_INNER and dim >= SHARED_DIM):
        while 2 * threads * columns <= MAX_THREADS and 2 * threads <= dim:
            threads *= 2
    return threads, columns


def shared_bytes(block: tuple[int, int]) -> int:
    """One float per thread, where a column has several threads."""
    return 4 * block[0] * block[1] if block[0] > 1 else 0


def grid_size(outer: int, inner: int, columns: int, bound: int) -> tuple[int, int]:
    """Blocks along outer and inner, as grid (x, y): first along inner, then along outer, `bound` or so in all."""
    inner_blocks = min(-(-inner // columns), bound)
    outer_blocks = min(-(-bound // inner_blocks), outer)
    return outer_blocks, inner_blocks


def by_multiprocessors(times: int) -> Bound:
    return lambda device, threads, shared: times * device.multiprocessors


def by_occupancy(device: DeviceProperties, threads: int, shared: int) -> int:
    return device.resident_blocks(threads, REGISTERS, shared) * device.multiprocessors


def plan(
    case: Case, device: DeviceProperties, bound: Bound, merged: bool = False, swapped: bool = False, reads: int = 3
) -> LaunchPlan:
    """`swapped`: the grid's extents change places, while the kernel takes them as before."""
    outer, dim, inner = case.outer_dim_inner
    if dim > MAX_DIM:
        raise Unsupported(f"dim must be at most {MAX_DIM}, got {dim}")
    block = block_size(dim, inner, merged)
    shared = shared_bytes(block)
    most = bound(device, block[0] * block[1], shared)
    grid = grid_size(outer, inner, block[1], most)
    launch = Launch(
        entry=f"log_softmax_paddle_{dtypes.suffix(case.dtype)}",
        grid=(*(grid[::-1] if swapped else grid), 1),
        block=(*block, 1),
        arguments=("x", "y", Scalar("int64", outer), Scalar("int32", dim), Scalar("int64", inner)),
        shared_bytes=shared,
    )
    reasons = (
        f"block: {block[1]} columns of {inner}, {block[0]} threads each for {dim} elements",
        f"grid: {grid[1]} blocks along inner, {grid[0]} along outer {outer}, for at most about {most} blocks",
    )
    return LaunchPlan((launch,), defines=(("READS", reads),), reasons=reasons)


URL = "https://github.com/PaddlePaddle/Paddle/pull/32396"
COMMIT = "69ffb38"
DIFFERS = (
    "a barrier before each reduction writes its shared memory, without which a thread can overwrite the maximum "
    "before others of its column have read it; the logarithm is taken once per column; indices of elements are 64-bit; "
    "16-bit types are computed in float"
)
DESCRIBED = (
    f"{DIFFERS}; a column of few elements, or of many columns, gets one thread, as in the description's example, where "
    "the code as merged gives it more"
)
ORIGIN = Origin("PaddlePaddle/Paddle", URL, COMMIT, DESCRIBED)
MERGED = Origin("PaddlePaddle/Paddle", URL, COMMIT, DIFFERS)
BOUND = Origin("PaddlePaddle/Paddle", URL, COMMIT, f"{DESCRIBED}; the grid's bound is another")
TWICE = by_multiprocessors(BLOCKS_A_MULTIPROCESSOR)

IMPLEMENTATIONS = (
    Implementation(
        "paddle",
        "Paddle 2021: threads along inner, some along dim; about twice as many blocks as multiprocessors",
        ORIGIN,
        plan=partial(plan, bound=TWICE),
    ),
    Implementation(
        "paddle_merged",
        "Paddle 2021 as merged: threads along dim wherever inner leaves some",
        MERGED,
        plan=partial(plan, bound=TWICE, merged=True),
    ),
    Implementation(
        "paddle_two_reads",
        "Paddle 2021 as merged, with maximum and sum in one pass",
        Origin(
            "PaddlePaddle/Paddle",
            URL,
            COMMIT,
            f"{DIFFERS}; a thread takes maximum and sum in one pass, so the input is read twice and not three times",
        ),
        plan=partial(plan, bound=TWICE, merged=True, reads=2),
    ),
    Implementation(
        "paddle_occupancy",
        "Paddle 2021, as many blocks as an occupancy calculation says are resident",
        BOUND,
        plan=partial(plan, bound=by_occupancy),
    ),
    *(
        Implementation(
            f"paddle_bound_{times}",
            f"Paddle 2021, about {times} times as many blocks as multiprocessors",
            BOUND,
            plan=partial(plan, bound=by_multiprocessors(times)),
        )
        for times in (1, 4, 8)  # `paddle` itself is 2
    ),
    Implementation(
        "paddle_swapped",
        "Paddle 2021 with the grid's two extents swapped, so that most blocks find nothing to do",
        Origin(
            "PaddlePaddle/Paddle",
            URL,
            COMMIT,
            f"{DESCRIBED}; grid (x, y) is launched as (y, x), the slower of the two that are described",
        ),
        plan=partial(plan, bound=TWICE, swapped=True),
    ),
)
