"""Integer arithmetic against exact integers of Python."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.simt.operations import DTYPES, Array, apply, as_type, halves, integers, pairs

TYPES = ("u16", "s16", "u32", "s32", "u64", "s64")
WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def wrapped(kind: str, values: list[int]) -> Array:
    """Modulo the width of the type."""
    bits = 8 * DTYPES[kind].itemsize
    return np.array([value % (1 << bits) for value in values], f"uint{bits}").view(DTYPES[kind])


def bits_of(kind: str) -> int:
    return 8 * DTYPES[kind].itemsize


def check(text: str, result: str, kinds: tuple[str, ...], oracle: Callable[..., int]) -> None:
    sources = [(kind, integers(kind, seed=number)) for number, kind in enumerate(kinds)]
    found = apply(text, result, *sources)
    rows = zip(*(array.tolist() for _, array in sources), strict=True)
    np.testing.assert_array_equal(found, wrapped(result, [oracle(*row) for row in rows]))


@pytest.mark.parametrize("kind", WIDER)
def test_wide_product(kind: str) -> None:
    wide = WIDER[kind]
    check(f"mul.wide.{kind} %d, %a, %b;", wide, (kind, kind), lambda a, b: a * b)
    check(f"mad.wide.{kind} %d, %a, %b, %c;", wide, (kind, kind, wide), lambda a, b, c: a * b + c)


def quotient(a: int, b: int) -> int:
    """Toward zero; all ones where hardware divides by zero."""
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    """With the sign of the dividend; all ones where hardware divides by zero."""
    return a - quotient(a, b) * b if b else -1


@pytest.mark.parametrize("kind", TYPES)
def test_arithmetic(kind: str) -> None:
    """Division by zero and of the least number by -1, too."""
    bits = bits_of(kind)
    oracles: dict[str, Callable[..., int]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul.lo": lambda a, b: a * b,
        "mul.hi": lambda a, b: a * b >> bits,
        "div": quotient,
        "rem": remainder,
        "min": min,
        "max": max,
    }
    for name, oracle in oracles.items():
        check(f"{name}.{kind} %d, %a, %b;", kind, (kind, kind), oracle)
    of_three: dict[str, Callable[..., int]] = {
        "mad.lo": lambda a, b, c: a * b + c,
        "mad.hi": lambda a, b, c: (a * b >> bits) + c,
        "sad": lambda a, b, c: abs(a - b) + c,
    }
    for name, oracle in of_three.items():
        check(f"{name}.{kind} %d, %a, %b, %c;", kind, (kind,) * 3, oracle)


@pytest.mark.parametrize("kind", ["s16", "s32", "s64"])
def test_sign(kind: str) -> None:
    """The least number stays as it is."""
    check(f"abs.{kind} %d, %a;", kind, (kind,), abs)
    check(f"neg.{kind} %d, %a;", kind, (kind,), lambda a: -a)


def limited(value: int) -> int:
    return min(max(value, -(1 << 31)), (1 << 31) - 1)


def test_saturation() -> None:
    check("add.sat.s32 %d, %a, %b;", "s32", ("s32", "s32"), lambda a, b: limited(a + b))
    check("sub.sat.s32 %d, %a, %b;", "s32", ("s32", "s32"), lambda a, b: limited(a - b))
    check("mad.hi.sat.s32 %d, %a, %b, %c;", "s32", ("s32",) * 3, lambda a, b, c: limited((a * b >> 32) + c))
    check("max.relu.s32 %d, %a, %b;", "s32", ("s32", "s32"), lambda a, b: max(a, b, 0))
    check("min.relu.s32 %d, %a, %b;", "s32", ("s32", "s32"), lambda a, b: max(min(a, b), 0))


@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_24_bits(kind: str) -> None:
    def product(a: int, b: int) -> int:
        return as_type(a, kind, 24) * as_type(b, kind, 24)

    check(f"mul24.lo.{kind} %d, %a, %b;", kind, (kind, kind), product)
    check(f"mul24.hi.{kind} %d, %a, %b;", kind, (kind, kind), lambda a, b: product(a, b) >> 16)
    check(f"mad24.lo.{kind} %d, %a, %b, %c;", kind, (kind,) * 3, lambda a, b, c: product(a, b) + c)
    check(f"mad24.hi.{kind} %d, %a, %b, %c;", kind, (kind,) * 3, lambda a, b, c: (product(a, b) >> 16) + c)


@pytest.mark.parametrize("first", ["u32", "s32"])
@pytest.mark.parametrize("second", ["u32", "s32"])
def test_dot_products(first: str, second: str) -> None:
    result = "s32" if "s32" in (first, second) else "u32"
    kinds = (first, second, result)

    def four(a: int, b: int, c: int) -> int:
        return c + sum(as_type(a >> at, first, 8) * as_type(b >> at, second, 8) for at in range(0, 32, 8))

    def two(high: int) -> Callable[[int, int, int], int]:
        return lambda a, b, c: (
            c + sum(as_type(a >> 16 * i, first, 16) * as_type(b >> 8 * (i + 2 * high), second, 8) for i in range(2))
        )

    check(f"dp4a.{first}.{second} %d, %a, %b, %c;", result, kinds, four)
    check(f"dp2a.lo.{first}.{second} %d, %a, %b, %c;", result, kinds, two(0))
    check(f"dp2a.hi.{first}.{second} %d, %a, %b, %c;", result, kinds, two(1))


@pytest.mark.parametrize("kind", ["u16", "s16"])
@pytest.mark.parametrize("name", ["min", "max", "add"])
def test_pairs(kind: str, name: str) -> None:
    a, b, c, e = (integers(kind, seed=seed) for seed in range(4))
    function = {"min": np.minimum, "max": np.maximum, "add": np.add}[name]
    found = apply(f"{name}.{kind}x2 %d, %a, %b;", "pair", ("pair", pairs(a, b)), ("pair", pairs(c, e)))
    lower, upper = halves(found, DTYPES[kind])
    np.testing.assert_array_equal(lower, function(a, c))
    np.testing.assert_array_equal(upper, function(b, e))


def test_pairs_not_below_zero() -> None:
    a, b, c, e = (integers("s16", seed=seed) for seed in range(4))
    found = apply("max.relu.s16x2 %d, %a, %b;", "pair", ("pair", pairs(a, b)), ("pair", pairs(c, e)))
    lower, upper = halves(found, np.dtype(np.int16))
    np.testing.assert_array_equal(lower, np.maximum(np.maximum(a, c), 0))
    np.testing.assert_array_equal(upper, np.maximum(np.maximum(b, e), 0))


@pytest.mark.parametrize("bits", [32, 64])
def test_sum_of_two_words(bits: int) -> None:
    """The upper word of a sum of two double words, whose lower ones are %a and %b and upper ones %b and %c."""
    kind = f"u{bits}"
    text = f".reg .b{bits} %low; add.cc.{kind} %low, %a, %b; addc.{kind} %d, %b, %c;"
    check(text, kind, (kind,) * 3, lambda a, b, c: ((a + b) >> bits) + b + c)
    text = f".reg .b{bits} %low; sub.cc.{kind} %low, %a, %b; subc.{kind} %d, %b, %c;"
    check(text, kind, (kind,) * 3, lambda a, b, c: b - c - (a < b))


def test_the_carry_goes_on() -> None:
    """Three words: the carry of the second depends on that of the first."""
    text = ".reg .b32 %x, %y; add.cc.u32 %x, %a, %b; addc.cc.u32 %y, %c, %e; addc.u32 %d, 0, 0;"
    check(text, "u32", ("u32",) * 4, lambda a, b, c, e: (c + e + (a + b >> 32)) >> 32)
    text = ".reg .b32 %x, %y; sub.cc.u32 %x, %a, %b; subc.cc.u32 %y, %c, %e; subc.u32 %d, 0, 0;"
    check(text, "u32", ("u32",) * 4, lambda a, b, c, e: -(c - e - (a < b) < 0))


@pytest.mark.parametrize("bits", [32, 64])
def test_product_of_two_words(bits: int) -> None:
    kind = f"u{bits}"
    text = f".reg .b{bits} %x; mad.lo.cc.{kind} %x, %a, %b, %c; madc.hi.{kind} %d, %a, %b, %e;"
    check(text, kind, (kind,) * 4, lambda a, b, c, e: (a * b + c + (e << bits)) >> bits)
    text = f".reg .b{bits} %x; mad.hi.cc.{kind} %x, %a, %b, %c; madc.lo.{kind} %d, %a, %b, %e;"
    check(text, kind, (kind,) * 4, lambda a, b, c, e: a * b + e + ((a * b >> bits) + c >> bits))


def test_signed_high_product_with_carry() -> None:
    text = ".reg .b32 %x; add.cc.u32 %x, %a, %c; madc.hi.s32 %d, %a, %b, %c;"
    mask = (1 << 32) - 1
    check(text, "s32", ("s32",) * 3, lambda a, b, c: (a * b >> 32) + c + ((a & mask) + (c & mask) >> 32))


def test_a_guard_keeps_the_carry_of_others() -> None:
    """Only lanes with an odd %a do the second addition; the rest keep their carry."""
    text = (
        ".reg .b32 %x, %odd; add.cc.u32 %x, %a, %b; and.b32 %odd, %a, 1; setp.ne.u32 %q, %odd, 0;"
        "@%q add.cc.u32 %x, %c, %c; addc.u32 %d, 0, 0;"
    )
    check(text, "u32", ("u32",) * 3, lambda a, b, c: (c + c if a & 1 else a + b) >> 32)
