"""Bits of integers: shifts over the width, fields beyond the end, permutations in every mode."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.simt.operations import DTYPES, apply, integers
from tests.simt.test_operations_integer import bits_of, check, wrapped

COUNTS = (0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x80000000, 0xFFFFFFFF)


def check_counts(text: str, result: str, kinds: tuple[str, ...], oracle: Callable[..., int]) -> None:
    """Operands after the first are counts and places: small ones, and those around the widths."""
    sources = [(kinds[0], integers(kinds[0], 512))]
    for number, kind in enumerate(kinds[1:]):
        generator = np.random.default_rng([7, number])
        counts = generator.integers(0, 70, 512).astype(np.uint32)
        counts[:256] = generator.choice(np.array(COUNTS, np.uint32), 256)
        sources.append((kind, generator.permutation(counts).view(DTYPES[kind])))
    found = apply(text, result, *sources)
    rows = zip(*(array.tolist() for _, array in sources), strict=True)
    np.testing.assert_array_equal(found, wrapped(result, [oracle(*row) for row in rows]))


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_bitwise(bits: int) -> None:
    kind = f"u{bits}"
    check(f"and.b{bits} %d, %a, %b;", kind, (kind, kind), lambda a, b: a & b)
    check(f"or.b{bits} %d, %a, %b;", kind, (kind, kind), lambda a, b: a | b)
    check(f"xor.b{bits} %d, %a, %b;", kind, (kind, kind), lambda a, b: a ^ b)
    check(f"not.b{bits} %d, %a;", kind, (kind,), lambda a: ~a)
    check(f"cnot.b{bits} %d, %a;", kind, (kind,), lambda a: a == 0)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts(bits: int) -> None:
    check_counts(f"shl.b{bits} %d, %a, %b;", f"u{bits}", (f"u{bits}", "u32"), lambda a, n: a << n if n < bits else 0)
    check_counts(f"shr.u{bits} %d, %a, %b;", f"u{bits}", (f"u{bits}", "u32"), lambda a, n: a >> n)
    check_counts(f"shr.s{bits} %d, %a, %b;", f"s{bits}", (f"s{bits}", "u32"), lambda a, n: a >> n)
    check_counts(f"shr.b{bits} %d, %a, %b;", f"u{bits}", (f"u{bits}", "u32"), lambda a, n: a >> n)


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_funnel_shifts(mode: str) -> None:
    def count(n: int) -> int:
        return n & 31 if mode == "wrap" else min(n, 32)

    def left(a: int, n: int, b: int) -> int:
        return ((b << 32 | a) << count(n)) >> 32

    def right(a: int, n: int, b: int) -> int:
        return (b << 32 | a) >> count(n)

    kinds = ("u32", "u32", "u32")
    check_counts(f"shf.l.{mode}.b32 %d, %a, %c, %b;", "u32", kinds, left)
    check_counts(f"shf.r.{mode}.b32 %d, %a, %c, %b;", "u32", kinds, right)


@pytest.mark.parametrize("table", [0, 1, 0x80, 0x96, 0xCA, 0xD8, 0xE8, 0xFE, 0x3C, 0xFF])
def test_three_inputs(table: int) -> None:
    def oracle(a: int, b: int, c: int) -> int:
        cases = ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1) for i in range(32))
        return sum((table >> case & 1) << i for i, case in enumerate(cases))

    check(f"lop3.b32 %d, %a, %b, %c, {table};", "u32", ("u32",) * 3, oracle)


@pytest.mark.parametrize("bits", [32, 64])
def test_counting(bits: int) -> None:
    unsigned, signed = f"u{bits}", f"s{bits}"
    check(f"popc.b{bits} %d, %a;", "u32", (unsigned,), int.bit_count)
    check(f"clz.b{bits} %d, %a;", "u32", (unsigned,), lambda a: bits - a.bit_length())
    check(f"brev.b{bits} %d, %a;", unsigned, (unsigned,), lambda a: int(f"{a:0{bits}b}"[::-1], 2))

    def highest(a: int) -> int:
        return (~a if a < 0 else a).bit_length() - 1

    def from_top(a: int) -> int:
        return bits - 1 - highest(a) if highest(a) >= 0 else -1

    for kind in (unsigned, signed):
        check(f"bfind.{kind} %d, %a;", "u32", (kind,), highest)
        check(f"bfind.shiftamt.{kind} %d, %a;", "u32", (kind,), from_top)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_extract(kind: str) -> None:
    """As the manual's loop does: bits beyond the top repeat the sign of the field, or are zeros."""
    bits = bits_of(kind)

    def oracle(a: int, place: int, count: int) -> int:
        place, count = place & 255, count & 255
        top = min(place + count - 1, bits - 1)
        fill = (a >> top & 1) if kind[0] == "s" and count else 0
        result = 0
        for i in range(bits):
            result |= (a >> (place + i) & 1 if i < count and place + i < bits else fill) << i
        return result

    check_counts(f"bfe.{kind} %d, %a, %b, %c;", kind, (kind, "u32", "u32"), oracle)


@pytest.mark.parametrize("bits", [32, 64])
def test_insert(bits: int) -> None:
    kind = f"u{bits}"

    def oracle(a: int, place: int, count: int) -> int:
        base, result = ~a % (1 << bits), ~a % (1 << bits)
        for i in range(min(count & 255, bits)):
            position = (place & 255) + i
            if position < bits:
                result = result & ~(1 << position) | (a >> i & 1) << position
        assert place & 255 < bits or result == base
        return result

    text = f".reg .b{bits} %inverse; not.b{bits} %inverse, %a; bfi.b{bits} %d, %a, %inverse, %b, %c;"
    check_counts(text, kind, (kind, "u32", "u32"), oracle)


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_masks(mode: str) -> None:
    def part(n: int) -> int:
        return n & 31 if mode == "wrap" else min(n, 32)

    check_counts(f"bmsk.{mode}.b32 %d, %b, %c;", "u32", ("u32",) * 3, lambda _, a, b: ((1 << part(b)) - 1) << part(a))

    def extended(signed: bool) -> Callable[[int, int], int]:
        def oracle(a: int, count: int) -> int:
            count = part(count)
            value = a & ((1 << count) - 1)
            return value - (1 << count) if signed and count and value >> (count - 1) else value

        return oracle

    check_counts(f"szext.{mode}.u32 %d, %a, %b;", "u32", ("u32", "u32"), extended(signed=False))
    check_counts(f"szext.{mode}.s32 %d, %a, %b;", "s32", ("s32", "u32"), extended(signed=True))


def test_find_nth() -> None:
    def oracle(mask: int, base: int, n: int) -> int:
        if n == 0:
            return base if base < 32 and mask >> base & 1 else -1
        places = range(base, 32) if n > 0 else range(min(base, 31), -1, -1) if base < 32 else range(0)
        found = [place for place in places if mask >> place & 1]
        return found[abs(n) - 1] if abs(n) <= len(found) else -1

    masks = integers("u32", 512)
    generator = np.random.default_rng(5)
    bases = generator.integers(0, 34, 512).astype(np.uint32)
    n = generator.integers(-9, 10, 512).astype(np.int32)
    found = apply("fns.b32 %d, %a, %b, %c;", "u32", ("u32", masks), ("u32", bases), ("s32", n))
    expected = wrapped("u32", [oracle(*row) for row in zip(masks.tolist(), bases.tolist(), n.tolist(), strict=True)])
    np.testing.assert_array_equal(found, expected)


def permuted(a: int, b: int, choices: list[int]) -> int:
    pool = (b << 32 | a).to_bytes(8, "little")
    found = [(0xFF if pool[choice & 7] & 0x80 else 0) if choice & 8 else pool[choice & 7] for choice in choices]
    return int.from_bytes(bytes(found), "little")


def test_permutation() -> None:
    check(
        "prmt.b32 %d, %a, %b, %c;",
        "u32",
        ("u32",) * 3,
        lambda a, b, c: permuted(a, b, [c >> (4 * i) & 15 for i in range(4)]),
    )


MODES: dict[str, Callable[[int], list[int]]] = {
    "f4e": lambda c: [c, c + 1, c + 2, c + 3],
    "b4e": lambda c: [c, (c - 1) & 7, (c - 2) & 7, (c - 3) & 7],
    "rc8": lambda c: [c] * 4,
    "ecl": lambda c: [max(i, c) for i in range(4)],
    "ecr": lambda c: [min(i, c) for i in range(4)],
    "rc16": lambda c: [2 * (c & 1), 2 * (c & 1) + 1] * 2,
}


@pytest.mark.parametrize("mode", MODES)
def test_permutation_modes(mode: str) -> None:
    check(f"prmt.b32.{mode} %d, %a, %b, %c;", "u32", ("u32",) * 3, lambda a, b, c: permuted(a, b, MODES[mode](c & 3)))
