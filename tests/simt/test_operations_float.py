"""add, sub, mul, fma, div, sqrt in every format and direction against exact fractions; min, max, neg, abs."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.simt import exact
from tests.simt.operations import DTYPES, Array, apply, assert_same_numbers, encode, floats, halves, numbers, pairs

LEAST = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}
Oracle = Callable[..., float]


def apply_oracle(kind: str, oracle: Oracle, *sources: Array) -> Array:
    rows = zip(*(numbers(kind, source).tolist() for source in sources), strict=True)
    return encode(kind, np.array([oracle(*row) for row in rows], np.float64))


def check(text: str, kind: str, count: int, oracle: Oracle, elements: int = 331) -> None:
    """The instruction on `count` operands, as it stands and on pairs of 16-bit numbers."""
    sources = [floats(kind, elements, seed) for seed in range(count)]
    found = apply(f"{text}.{kind} %d, {operands(count)};", kind, *((kind, source) for source in sources))
    assert_same_numbers(kind, found, apply_oracle(kind, oracle, *sources))


def check_pairs(text: str, kind: str, count: int, oracle: Oracle) -> None:
    lower = [floats(kind, 331, seed) for seed in range(count)]
    upper = [floats(kind, 331, seed + 10) for seed in range(count)]
    sources = [("pair", pairs(a, b)) for a, b in zip(lower, upper, strict=True)]
    found = halves(apply(f"{text}.{kind}x2 %d, {operands(count)};", "pair", *sources), DTYPES[kind])
    for half, part in zip(found, (lower, upper), strict=True):
        assert_same_numbers(kind, half, apply_oracle(kind, oracle, *part))


def operands(count: int) -> str:
    return ", ".join(f"%{name}" for name in "abc"[:count])


def flushing(kind: str, oracle: Oracle) -> Oracle:
    """With .ftz."""

    def flushed(*values: float) -> float:
        return exact.flush(oracle(*(exact.flush(value, LEAST[kind]) for value in values)), LEAST[kind])

    return flushed


def to_unit(value: float) -> float:
    """.sat"""
    return 0.0 if math.isnan(value) or value <= 0 else min(value, 1.0)


def positive(value: float) -> float:
    """.relu"""
    return value if math.isnan(value) or value > 0 else 0.0


ARITHMETIC: dict[str, tuple[int, Callable[..., float]]] = {
    "add": (2, exact.add),
    "sub": (2, exact.subtract),
    "mul": (2, exact.multiply),
    "fma": (3, exact.fused),
}


@pytest.mark.parametrize("direction", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_directions(name: str, kind: str, direction: str) -> None:
    count, function = ARITHMETIC[name]
    check(f"{name}.{direction}", kind, count, lambda *values: function(kind, direction, *values))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_16_bits(name: str, kind: str) -> None:
    count, function = ARITHMETIC[name]
    check(f"{name}.rn", kind, count, lambda *values: function(kind, "rn", *values), elements=2000)
    check_pairs(f"{name}.rn", kind, count, lambda *values: function(kind, "rn", *values))


def test_fma_is_rounded_once() -> None:
    """The product is halfway between two numbers of the format and the sum a little off: rounding first to f32, or
    to f64, would lose the little."""
    cases = {"bf16": (0x3F81, 0x3FC0, 0x0080), "f16": (0x3C01, 0x3E00, 0x0001)}
    for kind, bits in cases.items():
        values = [np.repeat(np.array([one], np.uint16), 4) for one in bits]
        values[2] |= np.array([0, 0x8000, 0, 0x8000], np.uint16)
        sources = [value.view(DTYPES[kind]) for value in values]
        found = apply(f"fma.rn.{kind} %d, %a, %b, %c;", kind, *((kind, one) for one in sources))
        expected = apply_oracle(kind, lambda *row, kind=kind: exact.fused(kind, "rn", *row), *sources)
        assert_same_numbers(kind, found, expected)
        assert expected[0] != expected[1], "the case does not show what it should"


@pytest.mark.parametrize("name", ["add", "mul", "fma"])
def test_pairs_of_f32(name: str) -> None:
    count, function = ARITHMETIC[name]
    sources = [floats("f32", 662, seed) for seed in range(count)]
    found = apply(f"{name}.rn.f32x2 %d, {operands(count)};", "b64", *(("b64", one.view(np.uint64)) for one in sources))
    expected = apply_oracle("f32", lambda *values: function("f32", "rn", *values), *sources)
    assert_same_numbers("f32", found.view(np.float32), expected)


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("direction", ["rn", "rz"])
def test_subnormals_flushed(name: str, direction: str) -> None:
    count, function = ARITHMETIC[name]
    text = f"{name}.{direction}.ftz"
    check(text, "f32", count, flushing("f32", lambda *values: function("f32", direction, *values)))


@pytest.mark.parametrize("name", ARITHMETIC)
def test_limits(name: str) -> None:
    count, function = ARITHMETIC[name]
    for kind in ("f32", "f16"):
        check(f"{name}.rn.sat", kind, count, lambda *values, kind=kind: to_unit(function(kind, "rn", *values)))
    check_pairs(f"{name}.rn.sat", "f16", count, lambda *values: to_unit(function("f16", "rn", *values)))
    both = flushing("f16", lambda *values: function("f16", "rn", *values))
    check(f"{name}.rn.ftz", "f16", count, both)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_relu(kind: str) -> None:
    check("fma.rn.relu", kind, 3, lambda *values: positive(exact.fused(kind, "rn", *values)))
    check_pairs("fma.rn.relu", kind, 3, lambda *values: positive(exact.fused(kind, "rn", *values)))


@pytest.mark.parametrize("direction", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_division_and_roots(kind: str, direction: str) -> None:
    check(f"div.{direction}", kind, 2, lambda a, b: exact.divide(kind, direction, a, b))
    check(f"rcp.{direction}", kind, 1, lambda a: exact.divide(kind, direction, 1.0, a))
    check(f"sqrt.{direction}", kind, 1, lambda a: exact.square_root(kind, direction, a))


def test_division_and_roots_flushed() -> None:
    check("div.rn.ftz", "f32", 2, flushing("f32", lambda a, b: exact.divide("f32", "rn", a, b)))
    check("rcp.rz.ftz", "f32", 1, flushing("f32", lambda a: exact.divide("f32", "rz", 1.0, a)))
    check("sqrt.rn.ftz", "f32", 1, flushing("f32", lambda a: exact.square_root("f32", "rn", a)))


def extreme(name: str, keep_nan: bool = False) -> Oracle:
    def oracle(*values: float) -> float:
        known = [value for value in values if not math.isnan(value)]
        if not known or (keep_nan and len(known) < len(values)):
            return math.nan
        pick = max if name == "max" else min
        return pick(known, key=lambda value: (value, math.copysign(1, value)))

    return oracle


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
def test_order(name: str, kind: str) -> None:
    """A NaN gives way to a number; -0 is below +0."""
    check(name, kind, 2, extreme(name), elements=900)
    if kind != "f64":
        check(f"{name}.NaN", kind, 2, extreme(name, keep_nan=True))
        check(f"{name}.xorsign.abs", kind, 2, with_signs(name))
        check(f"{name}.NaN.xorsign.abs", kind, 2, with_signs(name, keep_nan=True))
    if kind in ("f16", "bf16"):
        check_pairs(name, kind, 2, extreme(name))
        check_pairs(f"{name}.NaN", kind, 2, extreme(name, keep_nan=True))


def with_signs(name: str, keep_nan: bool = False) -> Oracle:
    """Of magnitudes, with the product of the signs."""

    def oracle(a: float, b: float) -> float:
        return math.copysign(extreme(name, keep_nan)(abs(a), abs(b)), math.copysign(1, a) * math.copysign(1, b))

    return oracle


@pytest.mark.parametrize("name", ["min", "max"])
def test_order_of_three(name: str) -> None:
    check(name, "f32", 3, extreme(name))
    check(f"{name}.NaN", "f32", 3, extreme(name, keep_nan=True))
    check(f"{name}.abs", "f32", 3, lambda *values: extreme(name)(*map(abs, values)))
    check(f"{name}.ftz", "f32", 2, flushing("f32", extreme(name)))
    check(f"{name}.ftz", "f16", 2, flushing("f16", extreme(name)))


def test_nan_of_order_is_canonical() -> None:
    nan = np.array([0xFFC12345, 0x7F800001], np.uint32)
    assert apply("min.f32 %d, %a, %b;", "b32", ("b32", nan), ("b32", nan)).tolist() == [0x7FFFFFFF] * 2
    found = apply("max.f16 %d, %a, %b;", "b16", ("b16", np.array([0xFE01], np.uint16)),
                  ("b16", np.array([0x7C01], np.uint16)))  # fmt: skip
    assert found.tolist() == [0x7FFF]


@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
def test_sign(kind: str) -> None:
    check("neg", kind, 1, lambda a: -a)
    check("abs", kind, 1, abs)
    if kind in ("f16", "bf16"):
        check_pairs("neg", kind, 1, lambda a: -a)
        check_pairs("abs", kind, 1, abs)
    if kind == "f32":
        check("neg.ftz", kind, 1, flushing(kind, lambda a: -a))
        check("abs.ftz", kind, 1, flushing(kind, abs))
    if kind in ("f32", "f64"):
        check("copysign", kind, 2, lambda a, b: math.copysign(b, a))


def test_part_of_a_warp() -> None:
    """Lanes whose guard is false keep what they had."""
    a, b = floats("f32", 96, 1), floats("f32", 96, 2)
    lanes = np.arange(96, dtype=np.uint32)
    text = ".reg .b32 %odd; mov.b32 %d, %a; and.b32 %odd, %c, 1; setp.eq.u32 %q, %odd, 1; @%q add.rn.f32 %d, %a, %b;"
    found = apply(text, "f32", ("f32", a), ("f32", b), ("u32", lanes))
    with np.errstate(invalid="ignore", over="ignore"):
        assert_same_numbers("f32", found, np.where(lanes & 1, a + b, a))
    halved = apply(text.replace("add.rn.f32", "add.rn.f16x2"), "b32", ("f32", a), ("f32", b), ("u32", lanes))
    assert (halved[::2] == a.view(np.uint32)[::2]).all()
