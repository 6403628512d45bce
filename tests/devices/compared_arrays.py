"""Pairs of arrays that a comparison must see through, for every implementation of `differences`."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kernelbench.core import dtypes
from kernelbench.core.differences import Differences, differences
from kernelbench.core.records import Tolerance

# Changes of values and of what is expected, which are float32 and float64.
PLANTED = {
    "nothing": "pass",
    "the_last_is_wrong": "values[-1] = 2 * expected[-1] + 1",
    "every_third_is_wrong": "values[::3] += 1",
    "nan_for_a_number": "values[values.size // 2] = np.nan",
    "nan_for_nan": "values[::7] = expected[::7] = np.nan",
    "a_number_for_nan": "expected[values.size // 2] = np.nan",
    "infinities": "values[::5] = expected[::5] = np.inf; values[::10] = expected[::10] = -np.inf",
    "the_wrong_infinity": "values[0], expected[0] = np.inf, -np.inf",
    "the_wrong_infinity_last": "values[-1], expected[-1] = np.inf, -np.inf",
    "a_number_for_infinity": "expected[-1] = np.inf",
    "infinities_for_what_no_type_holds": "values[::5], expected[::5] = np.inf, 1e40; "
    "values[::10], expected[::10] = -np.inf, -1e40",
    "an_infinity_for_a_number": "values[0], expected[0] = np.inf, 6e4",
    "zeros_of_both_signs": "values[::2], expected[::2] = 0.0, -0.0",
    "something_for_zero": "values[::2], expected[::2] = 0.25, 0.0",
}


def planted(what: str, dtype: str, size: int) -> tuple[Any, Any]:
    """An array stored as `dtype` and the float64 values expected of it."""
    expected = np.random.default_rng(len(what)).standard_normal(size)
    values = expected.astype(np.float32)
    exec(PLANTED[what])
    return dtypes.narrow(np, values, dtype), expected


def on_the_host(stored: Any, expected: Any, dtype: str) -> Iterator[tuple[Tolerance, Differences]]:
    """What `differences` finds under tight, no and wide tolerance."""
    for tolerance in (Tolerance(2 * dtypes.unit_roundoff(dtype), 1e-6), Tolerance(0.0, 0.0), Tolerance(9.0, 9.0)):
        with np.errstate(invalid="ignore"):
            yield tolerance, differences(np, dtypes.widen(np, stored, dtype), expected, tolerance, dtype)


def assert_alike(found: Differences, right: Differences, where: str) -> None:
    assert (found.mismatches, found.first) == (right.mismatches, right.first), where
    for name in ("max_absolute", "max_relative", "max_ulp", "worst", "got", "expected"):
        got, want = getattr(found, name), getattr(right, name)
        assert (got is None) == (want is None), f"{where}: {name} is {got}, not {want}"
        if want is not None:
            assert got == pytest.approx(want, rel=1e-12, nan_ok=True), f"{where}: {name}"
