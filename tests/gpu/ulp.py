"""The distance of results from those of float64, in steps of their type.

Errors are in ulp: the distance of a result from that of float64, in steps of the result's type at the magnitude of the
latter; one that is rounded once is off by 0.5 at most. Four kinds of results have a larger step, because it is not
their own size that sets their error: log-softmax at least float32's at 1, for the sum that a logarithm is taken of is
near 1 where the result is near 0; a sum float32's at the root of the sum of squares; dropout-add that of the addend;
layer norm at least float32's at |gamma| / sqrt(variance + eps) times the row's root mean square, and |beta|: the mean
and the last sum are rounded at that size.
Results below 2^-126, where float32 has no normal numbers, are not among them: `below` is the largest error there in
2^-126, at most 1 where they became 0. NaN and infinities have to be where float64 rounded to the type has them, and 0
and 1 of softmax exact where all of a row is -inf but one number: `special` counts elements where this does not hold.
"""

from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from kernelbench.core import dtypes
from kernelbench.core.records import Arrays, Case
from kernels.layer_norm.operation import EPS

NORMAL_NUMBERS = 2.0**-126  # from here on float32 has them


@dataclass(frozen=True)
class Errors:
    """Of one output on one input; see the head of this file. `wrong`: elements beyond the operation's tolerance."""

    max_ulp: float
    below: float
    special: int
    wrong: int


def errors(xp: Any, got: Any, expected: Any, dtype: str, least: Any, exact: bool) -> Errors:
    """Of flat float64 arrays, what was stored and what float64 gives. `least`: a step is taken at this magnitude where
    the result is smaller. `exact`: 0 and 1 have to be."""
    with np.errstate(all="ignore"):  # of infinities and NaN; CuPy does not warn
        expected = expected.astype(np.float64)  # bytes of masks, too
        size = xp.abs(expected)
        expected = xp.where(size >= dtypes.overflow(dtype), xp.copysign(np.inf, expected), expected)
        number = xp.isfinite(expected)
        same = (got == expected) | (xp.isnan(got) & xp.isnan(expected))
        unlike = xp.where(number, ~xp.isfinite(got), ~same)
        if exact:
            unlike |= ((expected == 0) | (expected == 1)) & ~same
        error = xp.where(same | ~number | ~xp.isfinite(got), 0.0, xp.abs(got - expected))
        weighed = xp.maximum(xp.where(number, size, 1.0), least)
        tiny = weighed < NORMAL_NUMBERS
        ulp = error / dtypes.spacing(xp, weighed, dtype)
    return Errors(
        max_ulp=float(xp.where(tiny, 0.0, ulp).max()),
        below=float(xp.where(tiny, error, 0.0).max()) / NORMAL_NUMBERS,
        special=int(unlike.sum()),
        wrong=0,
    )


def least_size(xp: Any, case: Case, wide: Arrays, dtype: str) -> Any:
    """What sets the error of a result that may be smaller, by operation; 0 where nothing does."""
    if case.operation in ("log_softmax", "layer_norm"):
        step = 2.0 ** (-log2(dtypes.unit_roundoff(dtype)) - 24)  # float32's at 1, in the result's own type
        return step * (_layer_norm_terms(xp, wide) if case.operation == "layer_norm" else 1)
    if case.operation == "reduce_sum":
        finite = xp.where(xp.isfinite(wide["x"]), wide["x"], 0.0)
        return float(xp.sqrt((finite**2).sum()))
    if case.operation == "dropout_add":
        return xp.abs(xp.where(xp.isfinite(wide["addend"]), wide["addend"], 0.0))
    return 0.0


def _layer_norm_terms(xp: Any, wide: Arrays) -> Any:
    """What is subtracted and added for each result, in size; what is no number counts as 0."""
    x, gamma, beta = (xp.where(xp.isfinite(wide[name]), wide[name], 0.0) for name in ("x", "gamma", "beta"))
    rows = x.reshape(-1, gamma.size)
    scale = 1 / xp.sqrt(rows.var(axis=1) + EPS)
    size = xp.sqrt((rows * rows).mean(axis=1)) * scale
    return (xp.abs(gamma) * size[:, None] + xp.abs(beta)).reshape(-1)
