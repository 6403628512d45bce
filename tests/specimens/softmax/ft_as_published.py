"""Specimen: the published port of FasterTransformer's softmax. The check must reject it.

The trick: the line that made a score of the element is commented out together with the mask, and the
constant -1e20 stands in its place. The kernel stores 1 / columns everywhere and never reads its input. The
port's own program feeds it ones, for which that is the right answer, so its printed output looks right;
random input shows it at once. If the published times are of this code, they are times of stores only, of
half the bytes that a softmax moves.
"""

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes

V1_ABOVE = 120  # batch * heads above which a block takes a whole head
BLOCKS = (32, 64, 128, 256, 512, 1024)


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    if len(case.shape) != 4 or case.shape[2] != case.shape[3]:
        raise Unsupported(f"shape must be (batch, heads, seq, seq), got {case.shape}")
    if case.axis not in (-1, 3):
        raise Unsupported(f"axis must be the last, got axis {case.axis} of 4")
    if case.parameter("mask", False):
        raise Unsupported("mask is not supported: the port drops it")
    batch, heads, rows, columns = case.shape
    if columns > BLOCKS[-1]:
        raise Unsupported(f"columns must be at most {BLOCKS[-1]}, a thread an element of the row, got {columns}")
    version, blocks = ("v1", batch * heads) if batch * heads > V1_ABOVE else ("v2", batch * heads * rows)
    if blocks > device.max_grid[0]:
        raise Unsupported(f"a grid has at most {device.max_grid[0]} blocks, {version} needs {blocks}")
    launch = Launch(
        entry=f"softmax_ft_as_published_{version}_{dtypes.suffix(case.dtype)}",
        grid=(blocks, 1, 1),
        block=(next(size for size in BLOCKS if size >= columns), 1, 1),
        arguments=("x", "y", Scalar("int32", columns)),
    )
    return LaunchPlan((launch,), reasons=(f"{version}: batch * heads = {batch * heads}, threshold {V1_ABOVE}",))


IMPLEMENTATIONS = (
    Implementation(
        "ft_as_published",
        "not a softmax: never reads its input, writes 1 / columns everywhere",
        Origin(
            "BBuf/how-to-optim-algorithm-in-cuda",
            "https://github.com/BBuf/how-to-optim-algorithm-in-cuda/blob/master/cuda-kernels/softmax/faster_transformer_softmax.cu",
            differs="writes y beside x where the port overwrites its input; float16 and bfloat16 beside float32; "
            "offsets are 64-bit",
        ),
        plan=plan,
        arithmetic="fast",
        role="specimen",
    ),
)
