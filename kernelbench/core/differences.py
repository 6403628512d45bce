"""The differences of two arrays: number of mismatches and largest errors over a slice, on any array module.

A device may find the same in fewer passes; see `Device.compare`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbench.core import dtypes
from kernelbench.core.records import Array, Tolerance


@dataclass(frozen=True)
class Differences:
    """The differences of one slice. An error is None if it is NaN: the output has NaN in place of a number or, for
    relative errors, any other value in place of infinity."""

    mismatches: int
    max_absolute: float | None
    max_relative: float | None
    first: int | None = None  # flat place of the first mismatch
    got: float | None = None  # at that place
    expected: float | None = None
    max_ulp: float | None = 0.0  # error / spacing of the stored type at what is expected
    worst: float | None = 0.0  # error / what the tolerance allows


def differences(xp: Any, got: Array, expected: Array, tolerance: Tolerance, dtype: str = "float64") -> Differences:
    """Compare two flat float64 arrays. Equal infinities, and NaN where NaN is expected, are right.

    `dtype`: the type that `got` was stored in. Infinity is also right where, within the tolerance, a result may be too
    large for it.
    """
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):  # infinities, and 0 allowed; CuPy does not warn
        return _differences(xp, got, expected, tolerance, dtype)


def _differences(xp: Any, got: Array, expected: Array, tolerance: Tolerance, dtype: str) -> Differences:
    size, error = xp.abs(expected), xp.abs(got - expected)
    allowed = tolerance.absolute + tolerance.relative * size
    largest = float(error.max())
    if largest == 0:
        return Differences(0, 0.0, 0.0)
    finite = largest < np.inf
    if finite:  # almost always, and in half the passes
        wrong = error > allowed
    else:
        same = (got == expected) | (xp.isnan(got) & xp.isnan(expected))
        beyond = tolerance.absolute + (1 + tolerance.relative) * size >= dtypes.overflow(dtype)
        same |= xp.isinf(got) & beyond & ((got > 0) == (expected > 0))
        error = xp.where(same, 0.0, error)
        wrong = ~(same | ((error <= allowed) & (error < xp.inf)))  # inf expected allows none
    mismatches = int(wrong.sum())
    place = int(xp.argmax(wrong)) if mismatches else None
    shares = error / allowed
    if not finite or tolerance.absolute <= 0:  # where nothing is allowed
        shares = xp.where(error == 0, 0.0, shares)
    return Differences(
        mismatches=mismatches,
        max_absolute=largest if finite else _number(error.max()),
        max_relative=_number((error / xp.where(size > 0, size, 1.0)).max()),
        first=place,
        got=None if place is None else float(got[place]),
        expected=None if place is None else float(expected[place]),
        max_ulp=_number((error / dtypes.spacing(xp, size, dtype)).max()),
        worst=_number(shares.max()),
    )


def _number(value: Any) -> float | None:
    number = float(value)
    return None if number != number else number  # noqa: PLR0124 - NaN
