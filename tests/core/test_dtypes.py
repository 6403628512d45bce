"""Element types: every 16-bit pattern widened and narrowed, and every rounding between two neighbours."""

import numpy as np
import pytest

from kernelbench.core import dtypes

# Widening a signalling NaN makes a quiet one of it, which processors note.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast")

PATTERNS = np.arange(2**16, dtype=np.uint16)
NAN_BFLOAT16 = 0x7FC0


def bfloat16_values(patterns: np.ndarray) -> np.ndarray:
    """Sign, 8 bits of exponent, 7 of fraction, put together by arithmetic."""
    bits = patterns.astype(np.int64)
    sign = np.where(bits >> 15, -1.0, 1.0)
    exponent, fraction = (bits >> 7) & 0xFF, bits & 0x7F
    normal = (1 + fraction / 128) * np.exp2(exponent - 127.0)
    subnormal = fraction / 128 * np.exp2(-126.0)
    special = np.where(fraction == 0, np.inf, np.nan)
    return sign * np.where(exponent == 0xFF, special, np.where(exponent == 0, subnormal, normal))


def test_every_bfloat16_widens_to_its_value() -> None:
    wide = dtypes.widen(np, PATTERNS, "bfloat16")
    assert wide.dtype == np.float64
    np.testing.assert_array_equal(wide, bfloat16_values(PATTERNS))
    assert np.signbit(wide[0x8000])


def test_every_bfloat16_comes_back_and_every_nan_as_one() -> None:
    wide = dtypes.widen(np, PATTERNS, "bfloat16")
    back = dtypes.narrow(np, wide.astype(np.float32), "bfloat16")
    assert back.dtype == np.uint16
    np.testing.assert_array_equal(back, np.where(np.isnan(wide), NAN_BFLOAT16, PATTERNS))


@pytest.mark.parametrize("sign", [0, 0x8000])
def test_between_two_neighbours_bfloat16_rounds_to_the_nearer_and_midway_to_even(sign: int) -> None:
    below = np.arange(0x7F80, dtype=np.uint32) | sign  # zero, subnormals, normals; the last neighbour is infinity
    middle = below << 16 | 0x8000

    def narrowed(bits: np.ndarray) -> np.ndarray:
        return dtypes.narrow(np, bits.astype(np.uint32).view(np.float32), "bfloat16").astype(np.uint32)

    np.testing.assert_array_equal(narrowed(middle - 1), below)
    np.testing.assert_array_equal(narrowed(middle + 1), below + 1)
    np.testing.assert_array_equal(narrowed(middle), below + (below & 1))


def test_a_nan_whose_upper_half_looks_like_infinity_stays_nan() -> None:
    nans = np.array([0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert dtypes.narrow(np, nans, "bfloat16").tolist() == 4 * [NAN_BFLOAT16]


def test_every_float16_widens_to_its_value_and_comes_back() -> None:
    values = PATTERNS.view(np.float16)
    wide = dtypes.widen(np, values, "float16")
    assert wide.dtype == np.float64
    bits = PATTERNS.astype(np.int64)
    exponent, fraction = (bits >> 10) & 0x1F, bits & 0x3FF
    size = np.where(exponent == 0, fraction * 2.0**-24, (1 + fraction / 1024) * np.exp2(exponent - 15.0))
    finite = exponent < 0x1F
    np.testing.assert_array_equal(np.abs(wide[finite]), size[finite])
    with np.errstate(invalid="ignore"):
        back = dtypes.narrow(np, wide.astype(np.float32), "float16")
    assert back.dtype == np.float16
    same = (back.view(np.uint16) == PATTERNS) | (np.isnan(back) & np.isnan(values))
    assert same.all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32", "uint32"])
def test_other_types_widen_exactly(dtype: str) -> None:
    kind = dtypes.storage(dtype)
    ends = np.iinfo(kind) if np.issubdtype(kind, np.integer) else np.finfo(kind)
    array = np.array([ends.min, 0, 1, ends.max], kind)
    assert dtypes.widen(np, array, dtype).tolist() == [float(value) for value in array]


@pytest.mark.parametrize("dtype", dtypes.NAMES)
def test_sizes_are_those_of_the_storage(dtype: str) -> None:
    assert dtypes.itemsize(dtype) == np.dtype(dtypes.storage(dtype)).itemsize
    assert dtypes.suffix(dtype).endswith(str(8 * dtypes.itemsize(dtype)))


def test_suffixes_tell_types_apart() -> None:
    assert len({dtypes.suffix(dtype) for dtype in dtypes.NAMES}) == len(dtypes.NAMES)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_roundoff_and_smallest_step_are_what_narrowing_does(dtype: str) -> None:
    unit = dtypes.unit_roundoff(dtype)
    if dtype != "float32":  # what narrow takes is float32 already
        values = np.linspace(1, 2, 2**16 + 1, dtype=np.float32)
        back = dtypes.widen(np, dtypes.narrow(np, values, dtype), dtype)
        errors = np.abs(back - values) / values
        assert unit / (1 + unit) == pytest.approx(errors.max(), rel=1e-3)
    step = dtypes.smallest_step(dtype)
    tiny = np.array([step, step / 4], np.float64).astype(np.float32)
    assert dtypes.widen(np, dtypes.narrow(np, tiny, dtype), dtype).tolist() == [step, 0.0]


@pytest.mark.parametrize(
    ("dtype", "size", "expected"),
    [
        ("float32", 1.0, 2.0**-23), ("float32", 1.99, 2.0**-23), ("float32", 2.0, 2.0**-22),
        ("float32", 2.0**-140, 2.0**-149), ("float32", 0.0, 2.0**-149), ("float16", 1.0, 2.0**-10),
        ("float16", 2.0**-20, 2.0**-24),
        ("bfloat16", 3.0, 2.0**-6), ("bfloat16", 0.0, 2.0**-133), ("int8", 5.0, 1.0), ("uint32", 0.0, 1.0),
    ],
)  # fmt: skip
def test_spacing_is_the_distance_between_neighbours(dtype: str, size: float, expected: float) -> None:
    assert dtypes.spacing(np, np.array([size]), dtype)[0] == expected
