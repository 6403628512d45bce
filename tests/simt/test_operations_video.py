"""Video instructions against exact integers of Python, by the semantics of the PTX ISA, and on whole words by what
ptxas 13.0 makes of them where that is another: each such place names itself."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from kernelbench.core.errors import PtxError
from tests.simt.operations import apply, as_type, integers, video_inputs

TYPES = ("u32", "s32")
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "avrg": lambda a, b: (a + b + 1) >> 1 if a + b >= 0 else (a + b) >> 1,
    "absdiff": lambda a, b: abs(a - b),
    "min": min,
    "max": max,
}
COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
SECONDS: dict[str, Callable[[int, int], int]] = {"add": lambda t, c: t + c, "min": min, "max": max}
WORDS = ("", ".sat")
A, B, C = (integers("u32", seed=number) for number in range(3))


def clamped(value: int, kind: str, bits: int = 32) -> int:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind == "s32" else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def check(text: str, oracle: Callable[[int, int, int], int]) -> None:
    found = apply(text, "u32", *(("u32", values) for values in (A, B, C)))
    rows = zip(A.tolist(), B.tolist(), C.tolist(), strict=True)
    np.testing.assert_array_equal(found, np.array([oracle(*row) % (1 << 32) for row in rows], np.uint32))


def second(name: str, first: int, c: int, d: str) -> int:
    """With c, in 64 bits of the type of d."""
    if name == "add":
        return first + c
    return SECONDS[name](as_type(first, d, 64), as_type(c, d))


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "avrg"])
def test_scalar(name: str) -> None:
    for (d, a, b), sat in product(product(TYPES, repeat=3), WORDS):

        def first(x: int, y: int, d: str = d, a: str = a, b: str = b, sat: str = sat) -> int:
            found = OPERATIONS[name](as_type(x, a), as_type(y, b))
            if sat:
                found = clamped(found, d) if d == "s32" else max(found, 0)  # ptxas: u32 has no upper bound
            return as_type(found, "s32") if name in ("add", "sub") else found  # ptxas: u32 too

        check(f"v{name}.{d}.{a}.{b}{sat} %d, %a, %b;", lambda x, y, z: first(x, y))
        for more in SECONDS:
            check(
                f"v{name}.{d}.{a}.{b}{sat}.{more} %d, %a, %b, %c;",
                lambda x, y, z: second(more, first(x, y), z, d),  # noqa: B023
            )


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("name", OPERATIONS)
def test_parts(name: str, count: int) -> None:
    bits = 32 // count

    def parts(x: int, y: int, a: str, b: str) -> list[int]:
        shifts = range(0, 32, bits)
        return [OPERATIONS[name](as_type(x >> at, a, bits), as_type(y >> at, b, bits)) for at in shifts]

    def joined(values: list[int]) -> int:
        return sum(value % (1 << bits) << (bits * k) for k, value in enumerate(values))

    for d, a, b in product(TYPES, repeat=3):
        head = f"v{name}{count}.{d}.{a}.{b}"
        check(f"{head} %d, %a, %b, %c;", lambda x, y, z: joined(parts(x, y, a, b)))  # noqa: B023
        check(
            f"{head}.sat %d, %a, %b, %c;",
            lambda x, y, z: joined([clamped(t, d, bits) for t in parts(x, y, a, b)]),  # noqa: B023
        )
        check(f"{head}.add %d, %a, %b, %c;", lambda x, y, z: z + sum(parts(x, y, a, b)))  # noqa: B023


@pytest.mark.parametrize("word", COMPARED)
def test_comparisons(word: str) -> None:
    for a, b in product(TYPES, repeat=2):

        def one(x: int, y: int, a: str = a, b: str = b) -> int:
            return int(COMPARED[word](as_type(x, a), as_type(y, b)))

        check(f"vset.{a}.{b}.{word} %d, %a, %b;", lambda x, y, z: one(x, y))
        check(f"vset.{a}.{b}.{word}.add %d, %a, %b, %c;", lambda x, y, z: one(x, y) + z)

        def each(x: int, y: int, a: str = a, b: str = b) -> list[bool]:
            return [COMPARED[word](as_type(x >> at, a, 8), as_type(y >> at, b, 8)) for at in range(0, 32, 8)]

        check(
            f"vset4.{a}.{b}.{word} %d, %a, %b, %c;",
            lambda x, y, z: sum(held << (8 * k) for k, held in enumerate(each(x, y))),
        )


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_shifts(mode: str) -> None:
    for (d, a), sat in product(product(TYPES, repeat=2), WORDS):

        def first(name: str, x: int, y: int, d: str = d, a: str = a, sat: str = sat) -> int:
            amount = min(y, 32) if mode == "clamp" else y & 31
            if name == "shr":
                found = as_type(x, a) >> amount
            else:
                found = as_type(as_type(x, a) << amount, "s32", 34 if sat else 64)  # ptxas: 34 bits
            return as_type(clamped(found, d), "s32") if sat else found

        for name in ("shl", "shr"):
            head = f"v{name}.{d}.{a}.u32{sat}.{mode}"
            check(f"{head} %d, %a, %b;", lambda x, y, z: first(name, x, y))  # noqa: B023
            for more in SECONDS:
                check(f"{head}.{more} %d, %a, %b, %c;", lambda x, y, z: second(more, first(name, x, y), z, d))  # noqa: B023


def test_products() -> None:
    for (d, a, b), po, sat, shift in product(product(TYPES, repeat=3), ("", ".po"), WORDS, (0, 7, 15)):
        final = "s32" if "s32" in (a, b) else "u32"

        def oracle(x: int, y: int, z: int, po: str = po, sat: str = sat, shift: int = shift, final: str = final) -> int:
            x, y, z = (as_type(one, "s32") for one in (x, y, z))  # ptxas: u32 too
            found = as_type(x * y + z + bool(po), final if shift else "s32", 64) >> shift
            return clamped(found, final) if sat else found

        check(f"vmad.{d}.{a}.{b}{po}{sat}{f'.shr{shift}' if shift else ''} %d, %a, %b, %c;", oracle)


def test_a_sum_that_an_h200_made() -> None:
    """By the ISA 111 of these 1024 are others: what is beyond the largest u32 is not clamped to it."""
    a, b, c = video_inputs()
    given = [("u32", one) for one in (a, b, c)]
    found = apply("vadd.u32.s32.u32.sat.add %d, %a, %b, %c;", "u32", *given)
    assert found[:3].tolist() == [0, 1, 2147483647]
    assert found[264:269].tolist() == [0, 1, 2147483647, 2147483648, 4294967295]
    assert found[-3:].tolist() == [189423768, 3563244290, 419638420]
    rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    by_isa = [(clamped(as_type(x, "s32") + y, "u32") + z) % 2**32 for x, y, z in rows]
    assert np.count_nonzero(found != np.array(by_isa, np.uint32)) == 111


@pytest.mark.parametrize(
    "text",
    [
        "vadd.u32.u32 %d, %a, %b;",
        "vadd4.u32.u32.u32.min %d, %a, %b, %c;",
        "vadd2.u32.u32.u32.sat.add %d, %a, %b, %c;",
        "vshl.u32.u32.u32 %d, %a, %b;",
        "vset.u32.u32.ltu %d, %a, %b;",
        "vadd.u32.u32.u32.shr7 %d, %a, %b;",
    ],
)
def test_other_forms_are_refused_by_name(text: str) -> None:
    with pytest.raises(PtxError, match=text.split(maxsplit=1)[0]):
        apply(text, "u32", *(("u32", values) for values in (A, B, C)))
