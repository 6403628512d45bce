"""Approximate functions against float64: nearer than 2 ulp, and what they give at the edges."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.simt.operations import DTYPES, Array, apply, floats, halves, numbers, pairs

Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]
FRACTION = {"f32": (23, -126), "f16": (10, -14), "bf16": (7, -126)}


def units_off(kind: str, found: Array, expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance in units of the last place of what is expected; 0 where both are NaN or the same infinity."""
    digits, least = FRACTION[kind]
    values = numbers(kind, found)
    largest = 2.0 ** (16 if kind == "f16" else 128)
    target = np.where(np.abs(expected) >= largest, np.copysign(np.inf, expected), expected)
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = np.maximum(np.floor(np.log2(np.abs(expected))), least)
        distance = np.abs(values - expected) / 2.0 ** (exponent - digits)
    same = (np.isnan(values) & np.isnan(target)) | (values == target)
    return np.where(same, 0, np.where(np.isfinite(distance), distance, np.inf))


def inputs(kind: str, low: float, high: float) -> Array:
    """Random numbers of a range, and all edges."""
    generator = np.random.default_rng(3)
    values = generator.uniform(low, high, 3000)
    edges = numbers(kind, floats(kind, 600))
    with np.errstate(invalid="ignore"):
        both = np.concatenate([values, edges]).astype(np.float32)
    return (both.view(np.uint32) >> 16).astype(np.uint16) if kind == "bf16" else both.astype(DTYPES[kind])


def check(text: str, kind: str, function: Function, low: float, high: float, bound: float) -> None:
    values = inputs(kind, low, high)
    found = apply(f"{text}.{kind} %d, %a;", kind, (kind, values))
    with np.errstate(all="ignore"):
        expected = function(numbers(kind, values))
    off = units_off(kind, found, expected)
    worst = int(off.argmax())
    assert off[worst] <= bound, (numbers(kind, values)[worst], found[worst], expected[worst], off[worst])


def reciprocal_root(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / np.sqrt(values)


@pytest.mark.parametrize(
    ("text", "function", "low", "high", "bound"),
    [
        ("ex2.approx", np.exp2, -150, 130, 1),
        ("ex2.approx", np.exp2, -1, 1, 1),
        ("lg2.approx", np.log2, 0, 3, 0.51),
        ("lg2.approx", np.log2, 0.99, 1.01, 0.51),
        ("rcp.approx", np.reciprocal, -10, 10, 0.5),
        ("rsqrt.approx", reciprocal_root, 0, 1e6, 1.5),
        ("sqrt.approx", np.sqrt, 0, 1e6, 0.5),
        ("tanh.approx", np.tanh, -12, 12, 1),
        ("tanh.approx", np.tanh, -0.02, 0.02, 1),
    ],
)
def test_single(text: str, function: Function, low: float, high: float, bound: float) -> None:
    check(text, "f32", function, low, high, bound)


@pytest.mark.parametrize("name", ["ex2", "lg2", "rcp", "rsqrt"])
def test_subnormals_flushed(name: str) -> None:
    """As without .ftz on an input whose subnormals are zeros, and the same of the result."""
    values = inputs("f32", -140, 10)
    with np.errstate(invalid="ignore"):
        flushed = np.where(np.abs(values) < 2.0**-126, np.copysign(np.float32(0), values), values)
    plain = apply(f"{name}.approx.f32 %d, %a;", "f32", ("f32", flushed))
    found = apply(f"{name}.approx.ftz.f32 %d, %a;", "f32", ("f32", values))
    with np.errstate(invalid="ignore"):
        expected = np.where(np.abs(plain) < 2.0**-126, np.copysign(np.float32(0), plain), plain)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected) | np.isnan(expected) & np.signbit(found))


def test_edges() -> None:
    edges = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0], np.float32)
    expected = {
        "ex2.approx": [1, 1, math.inf, 0, math.nan, 2, 0.5],
        "lg2.approx": [-math.inf, -math.inf, math.inf, math.nan, math.nan, 0, math.nan],
        "rcp.approx": [math.inf, -math.inf, 0.0, -0.0, math.nan, 1, -1],
        "rsqrt.approx": [math.inf, -math.inf, 0, math.nan, math.nan, 1, math.nan],
        "sqrt.approx": [0.0, -0.0, math.inf, math.nan, math.nan, 1, math.nan],
        "tanh.approx": [0.0, -0.0, 1, -1, math.nan, math.tanh(1), -math.tanh(1)],
        "sin.approx": [0.0, -0.0, math.nan, math.nan, math.nan, math.sin(1), -math.sin(1)],
        "cos.approx": [1, 1, math.nan, math.nan, math.nan, math.cos(1), math.cos(1)],
    }
    for text, values in expected.items():
        found = apply(f"{text}.f32 %d, %a;", "f32", ("f32", edges))
        np.testing.assert_allclose(found, np.array(values, np.float32), rtol=2e-7, err_msg=text)
        numeric = ~np.isnan(found)
        np.testing.assert_array_equal(np.signbit(found[numeric]), np.signbit(np.array(values))[numeric], err_msg=text)


@pytest.mark.parametrize(("name", "function"), [("sin", np.sin), ("cos", np.cos)])
def test_angles(name: str, function: Function) -> None:
    """Within 2^-20.5 near 0, as the manual says; here for every angle."""
    generator = np.random.default_rng(4)
    angles = np.concatenate(
        [generator.uniform(-7, 7, 2000), generator.uniform(-1e6, 1e6, 500), generator.uniform(-1e38, 1e38, 200)]
    ).astype(np.float32)
    found = apply(f"{name}.approx.f32 %d, %a;", "f32", ("f32", angles))
    assert np.abs(found - function(angles.astype(np.float64))).max() < 2.0**-22


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_16_bits(kind: str) -> None:
    """Rounded to the format; pairs as their numbers one by one."""
    ftz = ".ftz" if kind == "bf16" else ""
    check(f"ex2.approx{ftz}", kind, np.exp2, -20, 20, 0.51)
    check("tanh.approx", kind, np.tanh, -6, 6, 0.51)
    lower, upper = inputs(kind, -6, 6), inputs(kind, -6, 6)[::-1]
    for text in (f"ex2.approx{ftz}", "tanh.approx"):
        found = halves(apply(f"{text}.{kind}x2 %d, %a;", "pair", ("pair", pairs(lower, upper.copy()))), DTYPES[kind])
        for half, values in zip(found, (lower, upper), strict=True):
            single = apply(f"{text}.{kind} %d, %a;", kind, (kind, values))
            np.testing.assert_array_equal(half.view(np.uint16), single.view(np.uint16))


@pytest.mark.parametrize("text", ["div.approx.f32", "div.full.f32", "div.approx.ftz.f32", "div.full.ftz.f32"])
def test_quick_division(text: str) -> None:
    a, b = inputs("f32", -100, 100), inputs("f32", -100, 100)[::-1].copy()
    ordinary = (np.abs(b) > 2.0**-126) & (np.abs(b) < 2.0**126) & (np.abs(a) >= 2.0**-126)
    a, b = a[ordinary], b[ordinary]
    with np.errstate(all="ignore"):
        expected = a.astype(np.float64) / b.astype(np.float64)
    if "ftz" in text:
        expected[np.abs(expected) < 2.0**-126] = 0
    found = apply(f"{text} %d, %a, %b;", "f32", ("f32", a), ("f32", b))
    assert units_off("f32", found, expected).max() <= 1


def test_quick_division_by_large_numbers() -> None:
    """The manual: 0 for a finite dividend, NaN for an infinite one."""
    a = np.array([1.0, -3e38, math.inf, 1.0], np.float32)
    b = np.array([2.0**127, 2.0**127, 2.0**127, math.inf], np.float32)
    found = apply("div.approx.f32 %d, %a, %b;", "f32", ("f32", a), ("f32", b))
    np.testing.assert_array_equal(found, [0, 0, math.nan, 0])


def test_double() -> None:
    values = np.concatenate([np.random.default_rng(5).uniform(0.1, 1e9, 400), [0.0, math.inf, math.nan, -1.0]])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            apply("rsqrt.approx.f64 %d, %a;", "f64", ("f64", values)), 1 / np.sqrt(values), rtol=2e-16
        )
    for text, exponent in (("rcp.approx.ftz.f64", -1.0), ("rsqrt.approx.ftz.f64", -0.5)):
        found = apply(f"{text} %d, %a;", "f64", ("f64", values[:400]))
        np.testing.assert_allclose(found, values[:400] ** exponent, rtol=2.0**-19)
        assert not (found.view(np.uint64) & 0xFFFFFFFF).any(), "only the upper half of the number is made"
