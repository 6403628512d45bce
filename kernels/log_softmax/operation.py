"""Log-softmax along one axis: y = x - max x - log sum exp(x - max x).

The reference computes in float64. Along the axis, -inf everywhere gives NaN, and so does an inf or a NaN
anywhere, as in PyTorch; a -inf beside numbers gives -inf.
"""

from math import log
from typing import Any

from kernelbench import Arrays, ArraySpec, Case, Operation, SpecialValues, Tolerance, dtypes, x_to_y

LARGE = 1e4  # differences up to 2e4 are still float16 numbers


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    """x and y; what lies before the axis is independent."""
    return x_to_y(case, split=case.outer_dim_inner[0])


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    _, dim, inner = case.outer_dim_inner
    x = inputs["x"].reshape(-1, dim, inner)
    shifted = x - x.max(axis=1, keepdims=True)
    return {"y": shifted - xp.log(xp.exp(shifted).sum(axis=1, keepdims=True))}


def flops(case: Case) -> int:
    """Compare, subtract, exp, add, and two subtractions: 6 per element, exp counted as one."""
    return 6 * case.elements


def tolerance(case: Case) -> Tolerance:
    """Rounding of the output, and float32 arithmetic.

    Both terms that are subtracted are at most as large as the result, so their roundings are relative to it. What
    is not: an error of the sum, which the logarithm makes absolute. The exponentials bring a few ulp, and adding
    them up one by one an error that grows with the square root of their number. Near zero, where one element
    outweighs all others, that and the logarithm's own rounding are all there is.
    """
    dim = case.outer_dim_inner[1]
    relative = 2.0**-22
    absolute = 2.0**-23 * (4 + dim**0.5 + log(dim))
    if case.inputs == "large":
        # Libraries add the logarithm to the maximum before they subtract: rounded as numbers of that size are.
        absolute += 2.0**-23 * LARGE
    if case.dtype != "float32":
        relative += dtypes.unit_roundoff(case.dtype)
    return Tolerance(relative, max(absolute, dtypes.smallest_step(case.dtype)))


OPERATION = Operation(
    name="log_softmax",
    summary="log-softmax along one axis",
    arrays=arrays,
    reference=reference,
    flops=flops,
    tolerance=tolerance,
    large=lambda case: LARGE,
    refused={},
    special=SpecialValues(
        "NaN throughout the row", "NaN throughout its row", "NaN throughout its row", "torch.log_softmax"
    ),
)
