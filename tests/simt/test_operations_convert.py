"""cvt between all types, in every direction of rounding, with saturation; 8-bit formats; packing."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tests.simt import exact
from tests.simt.matrices import decoded
from tests.simt.operations import (
    DTYPES,
    Array,
    apply,
    assert_same_numbers,
    encode,
    floats,
    halves,
    integers,
    numbers,
    pairs,
)
from tests.simt.test_operations_integer import wrapped

pytestmark = pytest.mark.filterwarnings("ignore:invalid value")  # of NumPy, given signalling NaNs

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")
WHOLE = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def range_of(kind: str) -> tuple[int, int]:
    info = np.iinfo(DTYPES[kind])
    return int(info.min), int(info.max)


def into(kind: str) -> str:
    """The type of the result array: 8-bit results are in registers of 16."""
    return {"u8": "u16", "s8": "s16"}.get(kind, kind)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("result", INTEGERS)
def test_between_integers(source: str, result: str) -> None:
    values = integers(source)
    bits = 8 * DTYPES[result].itemsize
    found = apply(f"cvt.{result}.{source} %d, %a;", into(result), (source, values))
    np.testing.assert_array_equal(found, wrapped(result, values.tolist()).astype(DTYPES[into(result)]))
    low, high = range_of(result)
    found = apply(f"cvt.sat.{result}.{source} %d, %a;", into(result), (source, values))
    expected = [min(max(value, low), high) for value in values.tolist()]
    np.testing.assert_array_equal(found, np.array(expected, object).astype(DTYPES[into(result)]), str(bits))


@pytest.mark.parametrize(("result", "source"), [("u16", "u64"), ("s16", "s32"), ("u32", "u16"), ("s32", "s8")])
def test_registers_wider_than_types(result: str, source: str) -> None:
    """The upper bits of the source do not count; the result is extended by its sign."""
    values = integers("u64")
    register = f".reg .b64 %x; cvt.{result}.{source} %x, %a; mov.b64 %d, %x;"
    found = apply(register, "s64", ("u64", values))
    narrow = wrapped(source, values.tolist()).tolist()
    np.testing.assert_array_equal(found, wrapped(result, narrow).astype(np.int64))


def reference_integer(value: float, direction: str, result: str, source: str) -> int:
    low, high = range_of(result)
    if math.isnan(value):
        if source == "f64" or result in ("u64", "s64"):
            return (1 << (8 * DTYPES[result].itemsize - 1)) if low == 0 else low
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(WHOLE[direction](value), low), high)


@pytest.mark.parametrize("direction", WHOLE)
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("result", INTEGERS)
def test_float_to_integer(source: str, result: str, direction: str) -> None:
    values = with_whole_numbers(source, result)
    found = apply(f"cvt.{direction}.{result}.{source} %d, %a;", into(result), (source, values))
    expected = [reference_integer(value, direction, result, source) for value in numbers(source, values).tolist()]
    np.testing.assert_array_equal(found, np.array(expected, object).astype(DTYPES[into(result)]))


def with_whole_numbers(source: str, result: str) -> Array:
    """Numbers of all sizes, halves between whole numbers, and those around the ends of the range."""
    generator = np.random.default_rng(8)
    low, high = range_of(result)
    ends = [low - 1, low - 0.5, low, high - 0.5, high, high + 0.5, high + 1, 2.0 * high]
    chosen = [*ends, *(generator.integers(-9, 9, 60) / 2), *generator.uniform(low, high, 60)]
    with np.errstate(over="ignore"):
        values = encode(source, np.array(chosen, np.float64))
    return np.concatenate([values, floats(source, 200)])


def test_subnormal_to_integer() -> None:
    tiny = np.array([1e-40, -1e-40], np.float32)
    assert apply("cvt.rpi.s32.f32 %d, %a;", "s32", ("f32", tiny)).tolist() == [1, 0]
    assert apply("cvt.rpi.ftz.s32.f32 %d, %a;", "s32", ("f32", tiny)).tolist() == [0, 0]
    assert apply("cvt.rmi.s32.f32 %d, %a;", "s32", ("f32", tiny)).tolist() == [0, -1]


@pytest.mark.parametrize("direction", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("result", FLOATS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_float(source: str, result: str, direction: str) -> None:
    near_halves = [(1 << 53) + 1, (1 << 62) + (1 << 38) + 1, (1 << 62) + (1 << 54) + 1, (1 << 24) + 1, 65519, 65520]
    values = integers(source, also=near_halves)
    found = apply(f"cvt.{direction}.{result}.{source} %d, %a;", result, (source, values))
    expected = [exact.rounded(Fraction(value), result, direction) for value in values.tolist()]
    assert_same_numbers(result, found, encode(result, np.array(expected)))


def reference_float(value: float, result: str, direction: str) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    return exact.rounded(Fraction(value), result, direction)


@pytest.mark.parametrize("direction", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(
    ("result", "source"),
    [
        ("f32", "f64"),
        ("f16", "f32"),
        ("f16", "f64"),
        ("bf16", "f32"),
        ("bf16", "f64"),
        ("bf16", "f16"),
        ("f16", "bf16"),
    ],
)
def test_to_fewer_digits(result: str, source: str, direction: str) -> None:
    values = np.concatenate([floats(source, 900), halfway(source, result)])
    found = apply(f"cvt.{direction}.{result}.{source} %d, %a;", result, (source, values))
    expected = [reference_float(value, result, direction) for value in numbers(source, values).tolist()]
    assert_same_numbers(result, found, encode(result, np.array(expected)))


def halfway(source: str, result: str) -> Array:
    """Numbers halfway between two of the result's format, and the next ones beside them."""
    form = exact.FORMATS[result]
    generator = np.random.default_rng(9)
    low = max(form.least - form.digits, exact.FORMATS[source].least)
    exponents = generator.integers(low, min(form.most, exact.FORMATS[source].most) + 1, 200)
    digits = np.array([min(form.digits, max(0, form.digits - (form.least - e))) for e in exponents])
    values = np.array([2.0**e * (1 + (2 * k + 1) * 2.0 ** -max(d, 1)) if d else 2.0**e for e, k, d in zip(
        exponents.tolist(), generator.integers(0, 3, 200).tolist(), digits.tolist(), strict=True)])  # fmt: skip
    middle = encode(source, values)
    beside = [np.nextafter(middle, middle.dtype.type(sign * np.inf)) for sign in (1, -1)] if source != "bf16" else []
    return np.concatenate([middle, *beside])


@pytest.mark.parametrize(
    ("result", "source"), [("f64", "f32"), ("f64", "f16"), ("f64", "bf16"), ("f32", "f16"), ("f32", "bf16")]
)
def test_to_more_digits(result: str, source: str) -> None:
    values = floats(source, 900)
    found = apply(f"cvt.{result}.{source} %d, %a;", result, (source, values))
    assert_same_numbers(result, found, encode(result, numbers(source, values)))


@pytest.mark.parametrize("direction", WHOLE)
@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_to_whole_numbers(kind: str, direction: str) -> None:
    values = with_whole_numbers(kind, "s16")
    found = apply(f"cvt.{direction}.{kind}.{kind} %d, %a;", kind, (kind, values))
    function = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[direction]
    assert_same_numbers(kind, found, function(values))


def test_limits_of_floats() -> None:
    values = floats("f32", 900)
    with np.errstate(invalid="ignore", over="ignore"):
        unit = np.where(values > 0, np.minimum(values, 1), np.float32(0)).astype(np.float32)
        positive = np.where(values <= 0, np.float32(0), values)
        assert_same_numbers("f32", apply("cvt.sat.f32.f32 %d, %a;", "f32", ("f32", values)), unit)
        found = apply("cvt.rn.sat.f16.f32 %d, %a;", "f16", ("f32", values))
        assert_same_numbers("f16", found, unit.astype(np.float16))
        found = apply("cvt.rn.relu.f16.f32 %d, %a;", "f16", ("f32", values))
        assert_same_numbers("f16", found, positive.astype(np.float16))
        found = apply("cvt.rn.satfinite.f16.f32 %d, %a;", "f16", ("f32", values))
        assert_same_numbers("f16", found, np.clip(values, -65504, 65504).astype(np.float16))


def test_subnormals_flushed() -> None:
    values = floats("f32", 900)
    with np.errstate(invalid="ignore"):
        flushed = np.where(np.abs(values) < 2.0**-126, np.copysign(0, values), values).astype(np.float32)
    assert_same_numbers("f64", apply("cvt.ftz.f64.f32 %d, %a;", "f64", ("f32", values)), flushed.astype(np.float64))
    doubles = np.array([1e-40, -1e-40, 2.0**-126, 1.5], np.float64)
    found = apply("cvt.rn.ftz.f32.f64 %d, %a;", "f32", ("f64", doubles))
    np.testing.assert_array_equal(found, np.array([0, -0.0, 2.0**-126, 1.5], np.float32))


@pytest.mark.parametrize("words", ["rna", "rn", "rz", "rn.relu", "rn.satfinite", "rna.satfinite"])
def test_tf32(words: str) -> None:
    """A NaN becomes that of PTX; with rna it only loses its low bits, as the machine code of GPUs does it."""
    edges = (0x3F801000, 0x3F803000, 0xBF801000, 0x7F800001, 0xFF86CCCF, 0x7FFFFFFF, 0xFFFFFFFF)
    values = np.concatenate([floats("f32", 900), np.array(edges, "u4").view("f4")])
    found = apply(f"cvt.{words}.tf32.f32 %d, %a;", "tf32", ("f32", values))
    bits = values.view(np.uint32).astype(np.int64)
    added = {"rna": 0x1000 * np.isfinite(values), "rn": 0xFFF + (bits >> 13 & 1), "rz": 0}[words.partition(".")[0]]
    expected = bits + added & 0xFFFFE000
    if "satfinite" in words:
        expected -= 0x2000 * ((expected & 0x7FFFFFFF) >= 0x7F800000)
    if "relu" in words:
        expected *= bits < 1 << 31
    if "rna" not in words:
        expected[np.isnan(values)] = 0x7FFFFFFF
    np.testing.assert_array_equal(found, expected.astype(np.uint32))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("words", ["rn", "rz", "rn.relu"])
def test_two_into_a_pair(kind: str, words: str) -> None:
    """The first operand is the upper half."""
    a, b = floats("f32", 900, 1), floats("f32", 900, 2)
    found = apply(f"cvt.{words}.{kind}x2.f32 %d, %a, %b;", "pair", ("f32", a), ("f32", b))
    lower, upper = halves(found, DTYPES[kind])
    for half, values in ((upper, a), (lower, b)):
        expected = [reference_float(value, kind, words[:2]) for value in numbers("f32", values).tolist()]
        if "relu" in words:
            expected = [0.0 if value <= 0 else value for value in expected]
        assert_same_numbers(kind, half, encode(kind, np.array(expected)))


def eight_bits(kind: str) -> list[float]:
    """The value of every code; NaN for those that are no numbers."""
    return [decoded(kind, code) for code in range(256)]


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_from_eight_bits(kind: str) -> None:
    codes = np.arange(256, dtype=np.uint16)
    found = apply(f"cvt.rn.f16x2.{kind}x2 %d, %a;", "pair", ("u16", codes | codes[::-1] << 8))
    lower, upper = halves(found, np.dtype(np.float16))
    values = np.array(eight_bits(kind)).astype(np.float16)
    assert_same_numbers("f16", lower, values)
    assert_same_numbers("f16", upper, values[::-1].copy())


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_to_eight_bits(kind: str) -> None:
    """To the nearest code, of two as near the even one; too large ones to the largest."""
    values = np.array(eight_bits(kind))
    known = sorted((value, code) for code, value in enumerate(values.tolist()) if math.isfinite(value) and code < 128)
    middles = [(one + other) / 2 for (one, _), (other, _) in pairwise(known)]
    sizes = np.array([*(value for value, _ in known), *middles, 1e5, 1e30, math.inf], np.float32)
    sizes = np.concatenate([sizes, np.nextafter(sizes, np.float32(0)), np.nextafter(sizes, np.float32(np.inf))])
    sources = np.concatenate([sizes, -sizes, floats("f32", 600)])

    def reference(value: float) -> int:
        if math.isnan(value):
            return 0x7F
        distance = [(abs(abs(value) - size), code & 1, code) for size, code in known]
        code = known[-1][1] if abs(value) > known[-1][0] else min(distance)[2]
        return code | (0x80 if math.copysign(1, value) < 0 else 0)

    expected = np.array([reference(value) for value in sources.astype(np.float64).tolist()], np.uint16)
    found = apply(f"cvt.rn.satfinite.{kind}x2.f32 %d, %a, %b;", "u16", ("f32", sources), ("f32", sources[::-1].copy()))
    np.testing.assert_array_equal(found >> 8, expected)
    np.testing.assert_array_equal(found & 255, expected[::-1])
    narrow = floats("f16", 600)
    found = apply(f"cvt.rn.satfinite.{kind}x2.f16x2 %d, %a;", "u16", ("pair", pairs(narrow, narrow[::-1].copy())))
    np.testing.assert_array_equal(found & 255, [reference(value) for value in numbers("f16", narrow).tolist()])


@pytest.mark.parametrize("kind", ["u16", "s16", "u8", "s8"])
def test_pack(kind: str) -> None:
    low, high = range_of(kind)
    bits = 8 * DTYPES[kind].itemsize
    a, b, c = integers("s32", seed=1), integers("s32", seed=2), integers("u32", seed=3)
    upper, lower = (np.clip(one.astype(np.int64), low, high) & ((1 << bits) - 1) for one in (a, b))
    both = upper << bits | lower
    if bits == 8:
        found = apply(f"cvt.pack.sat.{kind}.s32.b32 %d, %a, %b, %c;", "u32", ("s32", a), ("s32", b), ("u32", c))
        both |= (c.astype(np.int64) & 0xFFFF) << 16
    else:
        found = apply(f"cvt.pack.sat.{kind}.s32 %d, %a, %b;", "u32", ("s32", a), ("s32", b))
    np.testing.assert_array_equal(found, both)
