"""setp, set, selp, slct, testp and predicates among themselves."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.simt.operations import DTYPES, Array, apply, floats, halves, integers, numbers, pairs

ORDERED: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
UNORDERED = {f"{name}u": function for name, function in ORDERED.items()}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
COMPARISONS = [*ORDERED, *UNORDERED, "num", "nan"]


def similar(kind: str, seed: int = 1) -> tuple[Array, Array]:
    """Two arrays that are equal in many places."""
    make = floats if kind in ("f16", "bf16", "f32", "f64") else integers
    a, b = make(kind, 500, seed), make(kind, 500, seed + 1)
    generator = np.random.default_rng(11)
    return a, np.where(generator.random(500) < 0.3, a, b)


def reference(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """Of float64 or integers, as booleans."""
    unordered = np.isnan(a) | np.isnan(b)
    if name in ("num", "nan"):
        return unordered if name == "nan" else ~unordered
    if name in ORDERED:
        return np.asarray(ORDERED[name](a, b) & ~unordered)
    return np.asarray(UNORDERED[name](a, b) | unordered)


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_integers(kind: str) -> None:
    a, b = similar(kind)
    for name, function in ORDERED.items():
        found = apply(f"setp.{name}.{kind} %p, %a, %b;", "pred", (kind, a), (kind, b))
        np.testing.assert_array_equal(found, function(a, b), name)
    if kind.startswith("u"):
        for name, same in UNSIGNED.items():
            found = apply(f"setp.{name}.{kind} %p, %a, %b;", "pred", (kind, a), (kind, b))
            np.testing.assert_array_equal(found, ORDERED[same](a, b), name)
    bits = kind[1:]
    found = apply(f"setp.ne.b{bits} %p, %a, %b;", "pred", (kind, a), (kind, b))
    np.testing.assert_array_equal(found, a != b)


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
def test_floats(kind: str, name: str) -> None:
    a, b = similar(kind)
    expected = reference(name, numbers(kind, a), numbers(kind, b))
    np.testing.assert_array_equal(apply(f"setp.{name}.{kind} %p, %a, %b;", "pred", (kind, a), (kind, b)), expected)


def test_subnormals_are_zeros() -> None:
    a, b = similar("f32")
    with np.errstate(invalid="ignore"):
        flushed = [np.where(np.abs(one) < 2.0**-126, 0, one) for one in (a, b)]
    for name in ("eq", "lt", "geu"):
        found = apply(f"setp.{name}.ftz.f32 %p, %a, %b;", "pred", ("f32", a), ("f32", b))
        np.testing.assert_array_equal(found, reference(name, *flushed))


@pytest.mark.parametrize("boolean", ["and", "or", "xor"])
@pytest.mark.parametrize("negated", ["", "!"])
def test_combined(boolean: str, negated: str) -> None:
    """p is the comparison, q its opposite, both combined with the third operand."""
    a, b = similar("s32")
    c = np.arange(500, dtype=np.uint32) % 3 == 0
    combine = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}[boolean]
    other = ~c if negated else c
    for result, expected in (("%p", combine(a < b, other)), ("%q", combine(a >= b, other))):
        text = f"setp.ne.u32 %r, %c, 0; setp.lt.{boolean}.s32 %p|%q, %a, %b, {negated}%r; mov.pred %p, {result};"
        found = apply(text, "pred", ("s32", a), ("s32", b), ("u32", c))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["lt", "neu", "geu", "nan"])
def test_pairs(kind: str, name: str) -> None:
    (a, b), (c, e) = similar(kind, 1), similar(kind, 5)
    sources = (("pair", pairs(a, c)), ("pair", pairs(b, e)))
    for result, expected in (("%p", (a, b)), ("%q", (c, e))):
        found = apply(f"setp.{name}.{kind}x2 %p|%q, %a, %b; mov.pred %p, {result};", "pred", *sources)
        np.testing.assert_array_equal(found, reference(name, *(numbers(kind, one) for one in expected)))
    one = 0x3C00 if kind == "f16" else 0x3F80
    for result, true in ((f"{kind}x2", one), ("u32", 0xFFFF)):
        found = apply(f"set.{name}.{result}.{kind}x2 %d, %a, %b;", "pair", *sources)
        for half, operands in zip(halves(found, np.dtype(np.uint16)), ((a, b), (c, e)), strict=True):
            truth = reference(name, *(numbers(kind, operand) for operand in operands))
            np.testing.assert_array_equal(half, np.where(truth, true, 0))


@pytest.mark.parametrize(
    ("compared", "name"), [("f32", "gtu"), ("s32", "le"), ("u64", "ne"), ("f64", "num"), ("f16", "eq")]
)
def test_set(compared: str, name: str) -> None:
    a, b = similar(compared)
    truth = reference(name, *(numbers(compared, one) if compared[0] == "f" else one for one in (a, b)))
    true = {"u32": 0xFFFFFFFF, "s32": -1, "f32": 1.0}
    for result, value in true.items():
        found = apply(f"set.{name}.{result}.{compared} %d, %a, %b;", result, (compared, a), (compared, b))
        np.testing.assert_array_equal(found, np.where(truth, value, 0).astype(DTYPES[result]))
    if compared == "f16":
        found = apply(f"set.{name}.f16.f16 %d, %a, %b;", "f16", (compared, a), (compared, b))
        np.testing.assert_array_equal(found, truth)


def test_set_combined() -> None:
    a, b = similar("s32")
    c = np.arange(500, dtype=np.uint32) % 3
    text = "setp.ne.u32 %r, %c, 0; set.lt.and.u32.s32 %d, %a, %b, !%r;"
    found = apply(text, "u32", ("s32", a), ("s32", b), ("u32", c))
    np.testing.assert_array_equal(found, np.where((a < b) & (c == 0), 0xFFFFFFFF, 0))


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_select(bits: int) -> None:
    kind = f"u{bits}"
    a, b = integers(kind, 500, 1), integers(kind, 500, 2)
    c = np.arange(500, dtype=np.uint32) % 3
    sources = ((kind, a), (kind, b), ("u32", c))
    found = apply(f"setp.eq.u32 %q, %c, 0; selp.b{bits} %d, %a, %b, %q;", kind, *sources)
    np.testing.assert_array_equal(found, np.where(c == 0, a, b))
    signs = integers("s32", 500, 3)
    found = apply(f"slct.b{bits}.s32 %d, %a, %b, %c;", kind, (kind, a), (kind, b), ("s32", signs))
    np.testing.assert_array_equal(found, np.where(signs >= 0, a, b))
    numbers_ = floats("f32", 500)
    with np.errstate(invalid="ignore"):
        first, flushed = numbers_ >= 0, (numbers_ >= 0) | (np.abs(numbers_) < 2.0**-126)
    found = apply(f"slct.b{bits}.f32 %d, %a, %b, %c;", kind, (kind, a), (kind, b), ("f32", numbers_))
    np.testing.assert_array_equal(found, np.where(first, a, b))
    found = apply(f"slct.ftz.b{bits}.f32 %d, %a, %b, %c;", kind, (kind, a), (kind, b), ("f32", numbers_))
    np.testing.assert_array_equal(found, np.where(flushed, a, b))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_kinds_of_numbers(kind: str) -> None:
    values = floats(kind, 500)
    least = float(np.finfo(DTYPES[kind]).smallest_normal)
    with np.errstate(invalid="ignore"):
        size = np.abs(values)
        subnormal = (size > 0) & (size < least)
    kinds = {
        "finite": size < math.inf,
        "infinite": size == math.inf,
        "number": ~np.isnan(values),
        "notanumber": np.isnan(values),
        "normal": (size >= least) & (size < math.inf) | (size == 0),  # zeros are normal
        "subnormal": subnormal,
    }
    for name, expected in kinds.items():
        np.testing.assert_array_equal(apply(f"testp.{name}.{kind} %p, %a;", "pred", (kind, values)), expected, name)


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("and.pred %p, %q, %r;", np.logical_and),
        ("or.pred %p, %q, %r;", np.logical_or),
        ("xor.pred %p, %q, %r;", np.logical_xor),
        ("not.pred %p, %q;", lambda a, b: ~a),
        ("mov.pred %p, %q;", lambda a, b: a),
        ("mov.pred %p, 1;", lambda a, b: a | ~a),
        ("mov.pred %p, 0;", lambda a, b: a & ~a),
    ],
)
def test_predicates(text: str, function: Callable[[Array, Array], Array]) -> None:
    a, b = (np.random.default_rng(seed).random(300) < 0.5 for seed in (1, 2))
    prepare = "setp.ne.u32 %q, %a, 0; setp.ne.u32 %r, %b, 0;"
    found = apply(f"{prepare} {text}", "pred", ("u32", a), ("u32", b))
    np.testing.assert_array_equal(found, function(a, b))


def test_a_guard_keeps_the_predicates_of_others() -> None:
    a, b = integers("s32", 300, 1), integers("s32", 300, 2)
    odd = np.arange(300, dtype=np.uint32) & 1
    text = "setp.ne.u32 %q, %c, 0; setp.lt.s32 %p, %a, %b; @%q setp.gt.s32 %p, %a, 0;"
    found = apply(text, "pred", ("s32", a), ("s32", b), ("u32", odd))
    np.testing.assert_array_equal(found, np.where(odd, a > 0, a < b))
