"""Specimen: Paddle's log-softmax with the race that it was merged with. A race checker must find it.

The trick: a block reduction returns slot 0 to all threads, and the next one begins by storing each thread's value,
thread 0's into slot 0, with no barrier between. A thread 0 that is early replaces the maximum before another warp has
read it. Results are most often right all the same, so verification alone may let it pass. It takes rows of several
warps; both published shapes have none.
"""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes

WARP, MAX_THREADS = 32, 1024
MAX_DIM = 2**30  # an element and a step beyond it still fit int32


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    rows, dim = case.rows_columns(max_columns=MAX_DIM)
    threads = min(MAX_THREADS, 1 << dim.bit_length() - 1)
    if threads <= WARP:
        raise Unsupported(f"dim must be at least {2 * WARP}, for its threads to be in several warps, got {dim}")
    launch = Launch(
        entry=f"log_softmax_paddle_as_published_{dtypes.suffix(case.dtype)}",
        grid=(min(2 * device.multiprocessors, rows), 1, 1),
        block=(threads, 1, 1),
        arguments=("x", "y", Scalar("int64", rows), Scalar("int32", dim)),
        shared_bytes=4 * threads,
    )
    return LaunchPlan((launch,))


IMPLEMENTATIONS = (
    Implementation(
        "paddle_as_published",
        "not safe: stores into shared memory that other warps may still have to read",
        Origin(
            "PaddlePaddle/Paddle",
            "https://github.com/PaddlePaddle/Paddle/pull/32396",
            "69ffb38",
            "rows of the last axis only; the logarithm is taken once a row; indices of elements are 64-bit",
        ),
        plan=plan,
        role="specimen",
    ),
)
