"""Launch plans of ft.cu: FasterTransformer 1.0's attention softmax, one thread per element of the row.

Its arithmetic deviates from a softmax by design, and `EXTRA` says by how much: the denominator is the
sum plus 1e-6, at most 1e-6 of a sum that is at least 1, and the exponential is CUDA's `__expf`, whose
error is documented as 2 + 1.173 |argument| units in the last place; beyond |argument| = 87 the result
is below the smallest normal float, where the absolute tolerance holds.
"""

from collections.abc import Callable

from kernelbench import (
    Case,
    Deviation,
    DeviceProperties,
    Implementation,
    Launch,
    LaunchPlan,
    Origin,
    Scalar,
    Tolerance,
    Unsupported,
    dtypes,
)

V1_ABOVE = 120  # batch * heads above which the original gives a whole head to a block
MASKED = Deviation(
    "masked",
    "a row of -inf gives 0 and not NaN: lanes without a value bring -1e20 to the block's maximum, and 1e-6 is added to "
    "the sum, as in the original; only at 1024 columns every lane has a value",
)
EXTRA = Tolerance(relative=1e-6 + (2 + 1.173 * 87) * 2.0**-23, absolute=0.0)


def block_size(columns: int) -> int:
    """The next of 32, 64, .., 1024 that holds a row."""
    return next(size for size in (32, 64, 128, 256, 512, 1024) if size >= columns)


def attention_shape(case: Case) -> tuple[int, int, int]:
    """(batch, heads, seq) of a case that the original takes; Unsupported for any other."""
    if len(case.shape) != 4 or case.shape[2] != case.shape[3]:
        raise Unsupported(f"shape must be (batch, heads, seq, seq), got {case.shape}")
    if case.axis not in (-1, 3):
        raise Unsupported(f"axis must be the last, got axis {case.axis} of 4")
    batch, heads, _, columns = case.shape
    if columns > 1024:
        raise Unsupported(f"columns must be at most 1024, one thread per element of the row, got {columns}")
    return batch, heads, columns


def _plan(case: Case, device: DeviceProperties, version: str, blocks: int, reason: str) -> LaunchPlan:
    _, heads, columns = attention_shape(case)
    if blocks > device.max_grid[0]:
        raise Unsupported(f"a grid has at most {device.max_grid[0]} blocks, {version} needs {blocks}")
    block = block_size(columns)
    masked = case.parameter("mask", False)
    arrays = ("x", "mask", "y", Scalar("int32", heads)) if masked else ("x", "y")
    launch = Launch(
        entry=f"softmax_ft_{version}{'_masked' if masked else ''}_{dtypes.suffix(case.dtype)}",
        grid=(blocks, 1, 1),
        block=(block, 1, 1),
        arguments=(*arrays, Scalar("int32", columns), Scalar("float32", case.parameter("scale", 1.0))),
    )
    return LaunchPlan(
        (launch,), reasons=(reason, f"block {block}: the next of 32, 64, .., 1024 from {columns} columns")
    )


def plan_v1(case: Case, device: DeviceProperties) -> LaunchPlan:
    batch, heads, _ = attention_shape(case)
    return _plan(case, device, "v1", batch * heads, "one block per (batch, head), its rows one after the other")


def plan_v2(case: Case, device: DeviceProperties) -> LaunchPlan:
    batch, heads, rows = attention_shape(case)
    return _plan(case, device, "v2", batch * heads * rows, "one block per row")


def plan(case: Case, device: DeviceProperties) -> LaunchPlan:
    batch, heads, rows = attention_shape(case)
    if batch * heads > V1_ABOVE:
        reason = f"v1, batch * heads = {batch * heads} > {V1_ABOVE}: one block per (batch, head), its rows in turn"
        return _plan(case, device, "v1", batch * heads, reason)
    reason = f"v2, batch * heads = {batch * heads} <= {V1_ABOVE}: one block per row"
    return _plan(case, device, "v2", batch * heads * rows, reason)


ORIGIN = Origin(
    project="NVIDIA/FasterTransformer",
    url="https://github.com/NVIDIA/FasterTransformer/blob/release/v1.0_tag/fastertransformer/cuda/open_attention.cu#L189-L268",
    commit="release/v1.0_tag",
    differs=(
        "writes y beside x where the original overwrites its input; the mask can be left out; the scale is a float "
        "for all types; offsets are 64-bit. Kept: the denominator is the sum plus 1e-6 and the exponential is "
        "__expf, so results may differ from a softmax by 1.4e-5 relative; idle threads bring -1e20 to the maximum, so "
        "a row of -inf gives 0 below 1024 columns"
    ),
)


def _implementation(name: str, summary: str, planner: Callable[[Case, DeviceProperties], LaunchPlan]) -> Implementation:
    return Implementation(
        name, summary, ORIGIN, plan=planner, arithmetic="fast", extra_tolerance=EXTRA, deviations=(MASKED,)
    )


IMPLEMENTATIONS = (
    _implementation("ft_v1", "FasterTransformer 1.0, one block per (batch, head)", plan_v1),
    _implementation("ft_v2", "FasterTransformer 1.0, one block per row", plan_v2),
    _implementation("ft", "FasterTransformer 1.0: v1 above batch * heads = 120, else v2", plan),
)
