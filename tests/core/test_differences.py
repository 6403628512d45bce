"""How far one array is from another, where numbers, NaN and infinities meet."""

import numpy as np
import pytest

from kernelbench.core import dtypes
from kernelbench.core.differences import Differences, differences
from kernelbench.core.records import Tolerance

INF, NAN = float("inf"), float("nan")
WIDE = Tolerance(relative=0.5, absolute=0.25)


def compared(got: list[float], expected: list[float], tolerance: Tolerance = WIDE) -> Differences:
    with np.errstate(invalid="ignore"):
        return differences(np, np.array(got), np.array(expected), tolerance)


def test_equal_arrays_differ_by_nothing() -> None:
    assert compared([1.0, -2.0, 0.0], [1.0, -2.0, -0.0]) == Differences(0, 0.0, 0.0)


def test_the_first_mismatch_is_named_and_all_are_counted() -> None:
    found = compared([1.0, 9.0, 2.0, -9.0], [1.0, 2.0, 2.0, 2.0])
    assert (found.mismatches, found.first, found.got, found.expected) == (2, 1, 9.0, 2.0)
    assert (found.max_absolute, found.max_relative) == (11.0, 5.5)


@pytest.mark.parametrize(("got", "wrong"), [(4.25, 0), (4.2501, 1), (1.25, 1), (1.7501, 0), (1.7499, 1)])
def test_the_bound_is_absolute_plus_relative_of_what_is_expected(got: float, wrong: int) -> None:
    assert compared([got], [3.0], Tolerance(relative=1 / 3, absolute=0.25)).mismatches == wrong


@pytest.mark.parametrize(
    ("got", "expected", "wrong"),
    [(NAN, NAN, 0), (NAN, 1.0, 1), (1.0, NAN, 1), (INF, INF, 0), (-INF, -INF, 0), (INF, -INF, 1), (INF, 1.0, 1),
     (1.0, INF, 1), (0.0, -INF, 1), (NAN, INF, 1), (INF, NAN, 1)],
)  # fmt: skip
def test_no_tolerance_makes_up_for_nan_or_infinity(got: float, expected: float, wrong: int) -> None:
    assert compared([got, 1.0], [expected, 1.0]).mismatches == wrong


def test_errors_that_are_no_numbers_are_none() -> None:
    assert compared([NAN], [1.0]).max_absolute is None
    assert compared([1.0, 2.0], [1.0, NAN]).max_relative is None
    assert compared([NAN, 1.0], [NAN, 1.0]) == Differences(0, 0.0, 0.0)


def test_beside_zero_the_relative_error_is_the_absolute_one() -> None:
    found = compared([0.125], [0.0])
    assert (found.mismatches, found.max_absolute, found.max_relative) == (0, 0.125, 0.125)


@pytest.mark.parametrize(
    ("got", "expected", "wrong"),
    [
        (INF, 65520.0, 0), (INF, 1e30, 0), (-INF, -65520.0, 0), (INF, -65520.0, 1), (-INF, 70000.0, 1),
        (INF, 65000.0, 1),
        (INF, 65519.0, 0),  # by the tolerance it may be 65520
        (65504.0, 65530.0, 0), (65504.0, 1e6, 1), (NAN, 1e6, 1), (INF, NAN, 1), (INF, INF, 0), (65504.0, INF, 1),
    ],
)  # fmt: skip
def test_infinity_is_right_where_the_type_overflows(got: float, expected: float, wrong: int) -> None:
    with np.errstate(all="raise"):
        found = differences(np, np.array([got]), np.array([expected]), Tolerance(2.0**-11, 0.0), "float16")
    assert found.mismatches == wrong
    if not wrong:
        assert found.max_absolute is not None
        assert found.max_absolute < 64


def test_integers_do_not_overflow_to_infinity() -> None:
    assert dtypes.overflow("int8") == dtypes.overflow("float64") == INF


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_overflow_is_where_rounding_gives_infinity(dtype: str) -> None:
    at = dtypes.overflow(dtype)
    below = at - dtypes.unit_roundoff(dtype) * at / 4 if dtype != "float32" else np.nextafter(at, 0)
    if dtype == "bfloat16":
        stored = dtypes.widen(np, dtypes.narrow(np, np.array([at, below], np.float32), dtype), dtype)
    else:
        with np.errstate(over="ignore"):
            stored = np.array([at, below]).astype(dtypes.storage(dtype))
    assert np.isinf(stored).tolist() == [True, False]


@pytest.mark.parametrize(
    ("dtype", "got", "expected", "ulp"),
    [
        ("float32", 1.0 + 2.0**-22, 1.0, 2.0),
        ("bfloat16", 3.0 + 2.0**-7, 3.0, 0.5),
        ("float16", 2.0**-24, 0.0, 1.0),
        ("int8", 4.0, 1.0, 3.0),
    ],
)
def test_errors_in_ulp_are_in_steps_of_the_stored_type(dtype: str, got: float, expected: float, ulp: float) -> None:
    found = differences(np, np.array([got, 1.0]), np.array([expected, 1.0]), WIDE, dtype)
    assert found.max_ulp == ulp


def test_the_worst_error_is_told_in_terms_of_what_is_allowed() -> None:
    found = compared([1.0, 2.5, 4.0], [1.0, 2.0, 3.0], Tolerance(relative=0.1, absolute=0.2))
    assert found.worst == pytest.approx(2.0), "1 where 0.5 is allowed, not 0.5 where 0.4 is"
    assert compared([1.0], [1.0], Tolerance(0.0, 0.0)).worst == 0
    assert compared([0.5], [0.0], Tolerance(0.5, 0.0)).worst == INF, "nothing is allowed"
    assert compared([INF], [1.0]).worst == INF
    assert compared([NAN], [1.0]).worst is None
    assert compared([1.0], [INF]).worst is None


@pytest.mark.parametrize("absolute", [0.0, 2.0**-126, 1e-3])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "int32"])
def test_an_infinity_among_numbers_changes_nothing_else(dtype: str, absolute: float) -> None:
    """Arrays without infinities and NaN are compared in fewer passes."""
    random = np.random.default_rng(1)
    expected = random.standard_normal(1000) * 10.0 ** random.integers(-40, 30, 1000)
    expected[:100] = 0.0
    got = expected * (1 + 1e-6 * random.standard_normal(1000) * (random.random(1000) < 0.5))
    got[50] = 2.0**-130
    for count in (1, 50, 1000):
        alone = differences(np, got[:count], expected[:count], Tolerance(1e-6, absolute), dtype)
        longer = (np.append(one[:count], [np.inf, np.nan]) for one in (got, expected))
        assert differences(np, *longer, Tolerance(1e-6, absolute), dtype) == alone
