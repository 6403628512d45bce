"""Softmax along one axis: y = exp(s - max s) / sum exp(s - max s), with s = scale * x + mask term.

The reference computes in float64. A row whose elements are all -inf gives NaN, and so does one with an inf or a
NaN, as in PyTorch; a -inf beside numbers gives 0.
"""

from math import frexp
from typing import Any

from kernelbench import Arrays, ArraySpec, Case, Operation, SpecialValues, Tolerance, Unsupported, dtypes, x_to_y

MASKED = -10000.0  # added to a masked element, as in attention kernels
LARGE = 1e4  # exp of it passes every type; float16 has numbers 8 apart there


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    """x and y of the case's shape; with `mask`, one 0/1 mask [batch, columns, columns] shared by all heads.

    What lies before the axis is independent; with a mask, whole batch entries are.
    """
    masked = case.parameter("mask", False)
    specs = x_to_y(case, split=case.shape[0] if masked else case.outer_dim_inner[0])
    if masked:
        if len(case.shape) != 4 or case.shape[2] != case.shape[3] or case.axis not in (-1, 3):
            raise Unsupported(
                f"mask needs shape (batch, heads, seq, seq) and axis -1, got {case.shape}, axis {case.axis}"
            )
        batch, _, rows, columns = case.shape
        specs += (ArraySpec("mask", (batch, rows, columns), case.dtype, "input", fill="mask", split=batch),)
    return specs


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """Softmax in float64. Slices are along the outer dimension: `x` arrives as [slice, dim * inner]."""
    _, dim, inner = case.outer_dim_inner
    scores = inputs["x"].reshape(-1, dim, inner) * float(case.parameter("scale", 1.0))
    if "mask" in inputs:
        _, heads, rows, columns = case.shape
        hidden = (1.0 - inputs["mask"]) * MASKED
        scores = (scores.reshape(-1, heads, rows, columns) + hidden.reshape(-1, 1, rows, columns)).reshape(scores.shape)
    exps = xp.exp(scores - scores.max(axis=1, keepdims=True))
    return {"y": exps / exps.sum(axis=1, keepdims=True)}


def flops(case: Case) -> int:
    """Compare, subtract, exp, add and divide: 5 per element, exp counted as one."""
    return 5 * case.elements


def tolerance(case: Case) -> Tolerance:
    """Rounding of the output, plus float32 arithmetic: a few ulp of a fast exp, and a sum that is
    added up one by one, whose error grows with the square root of the row's length."""
    dim = case.outer_dim_inner[1]
    relative = 1e-5 + 2.0**-23 * dim**0.5
    if case.dtype != "float32":
        relative += dtypes.unit_roundoff(case.dtype)
    masked, scale = case.parameter("mask", False), abs(float(case.parameter("scale", 1.0)))
    if masked and (dim < 64 or case.inputs == "masked"):
        # A short row may be masked throughout; around -10000, scores are rounded to multiples of 2^-10.
        relative += 2.0**-10
    if case.inputs == "large" and (masked or frexp(scale)[0] != 0.5):
        # Scores and their maximum are rounded by up to 2^-24 of their size, unless a power of two scales them; an
        # exponential and the sum make as large an error of it each.
        relative += 2.0**-22 * (scale * LARGE - masked * MASKED)
    return Tolerance(relative, max(dtypes.smallest_step(case.dtype), 2.0**-126))


OPERATION = Operation(
    name="softmax",
    summary="softmax along one axis, with optional scale and additive attention mask",
    arrays=arrays,
    reference=reference,
    flops=flops,
    tolerance=tolerance,
    parameters={"scale": 1.0, "mask": False},
    large=lambda case: LARGE,
    refused={},
    special=SpecialValues(
        "NaN throughout the row", "NaN throughout its row", "NaN throughout its row", "torch.softmax"
    ),
)
