"""The sum of all elements of an array, in float32 whatever the elements are: y[0] = sum of x.

The reference adds up in float64. The axis plays no part. An infinity makes the sum infinite, two of both
signs make it NaN, and so does a NaN.
"""

from math import ceil, log2, sqrt
from typing import Any

from kernelbench import FLOATS, Arrays, ArraySpec, Case, Operation, SpecialValues, Tolerance

SIGMAS = 8  # standard deviations of a sum's rounding error that are allowed
CHAIN = 2**12  # elements that a kernel may add up one after the other; in larger arrays 2^-18 of all


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    case.require_dtype(*FLOATS)
    return (ArraySpec("x", case.shape, case.dtype, "input"), ArraySpec("y", (1,), "float32", "output"))


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    return {"y": inputs["x"].sum().reshape(1)}


def large(case: Case) -> float:
    """So large that no sum of all elements passes 2^126; in float16, sums of two that are kept in float16 overflow."""
    return 2.0**15 if case.dtype == "float16" else 2.0 ** (126 - ceil(log2(case.elements)))


def moments(case: Case) -> tuple[float, float]:
    """Mean and deviation of an element."""
    known = {"normal": (0.0, 1.0), "uniform": (0.5, 1 / sqrt(12)), "zeros": (0.0, 0.0), "ones": (1.0, 0.0)}
    return known[case.inputs] if case.inputs in known else (0.0, large(case) / sqrt(3))


def tolerance(case: Case) -> Tolerance:
    """The rounding error of a float32 sum of n random numbers; most of it is absolute, because the sum may be near 0.

    An addition rounds its result p by up to 2^-24 |p|, by 2^-24 |p| / sqrt(3) in the root mean square; partial sums
    of m elements of mean u and deviation s are sqrt(m s^2 + m^2 u^2) large. Over a chain of k additions the squares
    of that add up to k^2 s^2 / 2 + k^3 u^2 / 3, and there are n / k chains; over each of the log2(n) levels of a tree
    to n s^2, and over all of them to 2 n^2 u^2 more. Of zeros and up to 2^24 ones every partial sum is exact.
    Leaving out one normal number changes the sum by about 1, which is more than this up to 2^30 elements.
    """
    n = case.elements
    if case.inputs == "zeros" or (case.inputs == "ones" and n <= 2**24):
        return Tolerance(0.0, 0.0)
    mean, deviation = moments(case)
    chain = min(n, max(CHAIN, n >> 18))
    of_deviation = n * (chain / 2 + log2(n)) * deviation**2
    of_mean = n * (chain**2 / 3 + 2 * n) * mean**2
    return Tolerance(2.0**-23, SIGMAS * 2.0**-24 * ((of_deviation + of_mean) / 3) ** 0.5)


OPERATION = Operation(
    name="reduce_sum",
    summary="the sum of all elements, in float32",
    arrays=arrays,
    reference=reference,
    tolerance=tolerance,
    large=large,
    special=SpecialValues("-inf", "inf; NaN if there is a -inf too", "NaN", "torch.sum"),
)
