"""The sum of all elements of an array, in float32 whatever the elements are: y[0] = sum of x.

The reference adds up in float64. The axis plays no part.
"""

from math import log2
from typing import Any

from kernelbench.errors import Unsupported
from kernelbench.records import Arrays, ArraySpec, Case, Operation, Tolerance

SIGMAS = 8  # standard deviations of a sum's rounding error that are allowed
CHAIN = 2**12  # elements that a kernel may add up one after the other; of larger arrays, the 2^18th part


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    if case.dtype not in ("float32", "float16", "bfloat16"):
        raise Unsupported(f"dtype must be float32, float16 or bfloat16, got {case.dtype}")
    return (ArraySpec("x", case.shape, case.dtype, "input"), ArraySpec("y", (1,), "float32", "output"))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"y": inputs["x"].sum().reshape(1)}


def bytes_moved(case: Case) -> int:
    return sum(spec.nbytes for spec in arrays(case))


def flops(case: Case) -> int:
    return case.elements


def tolerance(case: Case) -> Tolerance:
    """What rounding does to a float32 sum of n normal numbers, most of it absolute, for the sum may be near 0.

    An addition rounds its result p by up to 2^-24 |p|, by 2^-24 |p| / sqrt(3) in the root mean square; partial sums
    of m elements are sqrt(m) large. A chain of k additions thus errs by 2^-24 k / sqrt(6), the n / k chains
    together by 2^-24 sqrt(n k / 6); each of the log2(n) levels of a tree over n elements by 2^-24 sqrt(n / 3).
    Leaving out one element changes the sum by about 1, which is more than this up to 2^30 elements.
    """
    n = case.elements
    chain = min(n, max(CHAIN, n >> 18))
    deviation = 2.0**-24 * (n * (chain / 6 + log2(n) / 3)) ** 0.5
    return Tolerance(2.0**-23, SIGMAS * deviation)


OPERATION = Operation(
    name="reduce_sum",
    summary="the sum of all elements, in float32",
    arrays=arrays,
    reference=reference,
    bytes_moved=bytes_moved,
    flops=flops,
    tolerance=tolerance,
)
