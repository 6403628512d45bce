"""Layer norm along the last axis: y = (x - mean) / sqrt(variance + eps) * gamma + beta, mean and variance of the row.

The variance is the row's own: squared deviations are divided by their number. gamma and beta have an element for each
column. A row of x with an infinity or a NaN gives NaN throughout; one in gamma or beta stays in its column.
"""

from math import sqrt
from typing import Any

from kernelbench import (
    BROADCAST,
    FLOATS,
    Arrays,
    ArraySpec,
    Case,
    Operation,
    SpecialValues,
    Tolerance,
    dtypes,
)

EPS = 1e-5
NOT_FINITE = "NaN throughout its row of x; in gamma and beta as in any product and sum"
LARGE = 1e4  # squares and their sum stay far from the end of float32
SIGMAS = 8  # standard deviations of a sum's rounding error that are allowed
FARTHEST = 8.0  # no normal number among 2^40 is farther from 0, and no product of two among 2^28 beyond 4 times as much
SHORT = 32  # elements, below which the deviation of a row may be far smaller than that of its distribution
MOMENTS = {"normal": (0.0, 1.0), "uniform": (0.5, 1 / sqrt(12)), "zeros": (0.0, 0.0), "ones": (1.0, 0.0)}
INF, NAN = float("inf"), float("nan")


def arrays(case: Case) -> tuple[ArraySpec, ...]:
    """Rows are independent, and each reads all of gamma and beta. These are weights: no distribution changes them."""
    case.require_dtype(*FLOATS)
    rows, columns = case.rows_columns()
    return (
        ArraySpec("x", case.shape, case.dtype, "input", split=rows),
        ArraySpec("gamma", (columns,), case.dtype, "input", fill="normal", split=BROADCAST),
        ArraySpec("beta", (columns,), case.dtype, "input", fill="normal", split=BROADCAST),
        ArraySpec("y", case.shape, case.dtype, "output", split=rows),
    )


def reference(xp: Any, case: Case, inputs: Arrays) -> Arrays:
    """The outputs of any number of rows: x arrives as [rows of the slices, columns], gamma and beta as they are."""
    x = inputs["x"].reshape(-1, inputs["gamma"].size)
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return {"y": centred / xp.sqrt(variance + EPS) * inputs["gamma"].reshape(1, -1) + inputs["beta"].reshape(1, -1)}


def flops(case: Case) -> int:
    """An addition for the mean; subtraction, product and addition for the variance; two products, an addition."""
    return 7 * case.elements


def tolerance(case: Case) -> Tolerance:
    """Two sums in float32, one after the other, then a few roundings; most of it absolute, for y may be near 0.

    A sum of n elements of mean u and deviation s is off by 2^-24 sqrt((n^2 s^2 / 2 + n^3 u^2 / 3) / 3) in the root mean
    square, as reduce_sum derives; of zeros and ones it is exact. The sum of squares is off by 2^-24 sqrt(n) / 3 of
    itself, its root by half of that. The mean's error comes times 1 / sqrt(variance + eps), whatever the element.
    """
    unit, columns = dtypes.unit_roundoff("float32"), case.outer_dim_inner[1]
    mean, deviation = MOMENTS.get(case.inputs, (0.0, LARGE / sqrt(3)))
    spread = columns**2 * deviation**2 / 2 + (columns**3 * mean**2 / 3 if deviation else 0.0)
    of_mean = unit * (SIGMAS * sqrt(spread / 3) / columns + 2 * (mean + SIGMAS * deviation / sqrt(columns)))
    least_variance = deviation**2 / 4 if columns >= SHORT else 0.0
    of_root = unit * (SIGMAS * sqrt(columns) / 6 + 8)
    absolute = FARTHEST * (of_mean / sqrt(least_variance + EPS) + 4 * of_root)
    return Tolerance(2 * unit + dtypes.unit_roundoff(case.dtype), absolute + dtypes.smallest_step(case.dtype))


OPERATION = Operation(
    name="layer_norm",
    summary="layer norm along the last axis, with a weight and a bias",
    arrays=arrays,
    reference=reference,
    flops=flops,
    tolerance=tolerance,
    large=lambda case: LARGE,
    special=SpecialValues(
        NOT_FINITE,
        NOT_FINITE,
        NOT_FINITE,
        "torch.nn.functional.layer_norm",
        examples=(
            ({"x": [[3.0, 3.0]], "gamma": [2.0, 2.0], "beta": [0.5, -1.0]}, {"y": [[0.5, -1.0]]}),
            ({"x": [[1.0, INF], [1.0, 1.0]], "gamma": [1.0, 1.0], "beta": [1.0, 2.0]}, {"y": [[NAN, NAN], [1.0, 2.0]]}),
            ({"x": [[1.0, NAN]], "gamma": [1.0, 1.0], "beta": [0.0, 0.0]}, {"y": [[NAN, NAN]]}),
            ({"x": [[-INF, 1.0]], "gamma": [1.0, 1.0], "beta": [0.0, 0.0]}, {"y": [[NAN, NAN]]}),
            ({"x": [[2.0, 2.0]], "gamma": [1.0, 1.0], "beta": [INF, NAN]}, {"y": [[INF, NAN]]}),
        ),
        by_pytorch=lambda torch, case, given: {
            "y": torch.nn.functional.layer_norm(given["x"], case.shape[-1:], given["gamma"], given["beta"], EPS)
        },
    ),
)
