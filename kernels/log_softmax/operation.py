"""Log-softmax along one axis: y = x - max x - log sum exp(x - max x).

The reference computes in float64. A column whose elements are all -inf gives NaN, as in PyTorch.
"""

from math import log
from typing import Any

from kernelbench import dtypes
from kernelbench.errors import Unsupported
from kernelbench.records import Arrays, ArraySpec, Case, Operation, Tolerance


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    if case.dtype not in ("float32", "float16", "bfloat16"):
        raise Unsupported(f"dtype must be float32, float16 or bfloat16, got {case.dtype}")
    return (ArraySpec("x", case.shape, case.dtype, "input"), ArraySpec("y", case.shape, case.dtype, "output"))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """Log-softmax in float64. Slices are along the outer dimension: `x` arrives as [slice, dim * inner]."""
    _, dim, inner = case.outer_dim_inner
    x = inputs["x"].reshape(-1, dim, inner)
    shifted = x - x.max(axis=1, keepdims=True)
    return {"y": shifted - xp.log(xp.exp(shifted).sum(axis=1, keepdims=True))}


def bytes_moved(case: Case) -> int:
    return sum(spec.nbytes for spec in arrays(case))


def flops(case: Case) -> int:
    """Compare, subtract, exp, add, and two subtractions: 6 an element, exp counted as one."""
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
    if case.dtype != "float32":
        relative += dtypes.unit_roundoff(case.dtype)
    return Tolerance(relative, max(absolute, dtypes.smallest_step(case.dtype)))


def split(case: Case) -> int:
    """What lies before the axis is independent."""
    return case.outer_dim_inner[0]


OPERATION = Operation(
    name="log_softmax",
    summary="log-softmax along one axis",
    arrays=arrays,
    reference=reference,
    bytes_moved=bytes_moved,
    flops=flops,
    tolerance=tolerance,
    split=split,
)
