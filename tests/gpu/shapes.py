"""Cases of every operation on which kernels go wrong: odd, prime, single, unaligned and large ones.

Operations that the tables do not name have theirs made out of their suites: of the same rank, axis and parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case
from tests.catalog import catalog, suites

DTYPES = ("float32", "float16", "bfloat16")
OVER_ELEMENTS = 2**31  # and so many bytes
# One, odd, on both sides of a warp and of 1024, and what no power of two divides.
COLUMNS = (1, 2, 3, 31, 33, 100, 1000, 1023, 1025)
# The same round packs of 16 bytes, a warp, a block, and a block's packs; primes.
SIZES = (1, 3, 7, 33, 257, 2049, 65_537, 1_000_003)
BY_ELEMENTS = ("copy", "relu", "multiply", "dropout_add", "relu_grad", "relu_bitset", "reduce_sum")
MASKED = (("scale", 0.125), ("mask", True))

Shape = tuple[int, ...]
Row = tuple[Shape, int, tuple[tuple[str, Any], ...]]  # shape, axis, parameters


def _row(shape: Shape, axis: int = -1, **parameters: Any) -> Row:
    return shape, axis, tuple(parameters.items())


def _permuted(rows: Iterable[tuple[Shape, str]]) -> list[Row]:
    return [_row(shape, permutation=permutation) for shape, permutation in rows]


SMALL: dict[str, Sequence[Row]] = {
    **{name: [_row((n,)) for n in SIZES] + [_row((127, 1009, 31))] for name in BY_ELEMENTS},
    "random_mask": [_row((n,), rate=rate, seed=seed) for n in SIZES for rate, seed in ((0.1, 2020), (0.5, 2**40 + 7))],
    "latency_hiding": [
        _row((n,), warps=warps, chain=chain)
        for n in (1, 9, 257, 4099, 1_000_003)
        for warps, chain in ((1, 33), (10, 0), (64, 0))
    ],
    "memory_access": [
        _row((n,), side=side, offset=offset, stride=stride)
        for n in (1, 33, 4099)
        for side in ("load", "store")
        for offset, stride in ((1, 1), (0, 2), (3, 7))
    ],
    "indexing": [
        _row(shape)
        for shape in ((1, 1), (1, 2), (3, 1), (1, 257), (257, 1), (31, 33), (127, 1009), (2, 3001), (3, 5, 7))
    ],
    "bias_add": [
        *(_row(shape) for shape in ((1, 1), (127, 1009), (1_000_003,))),
        *(_row(shape, 0) for shape in ((1, 1), (127, 1009), (1009, 127))),
        _row((7, 31, 13), 1),
        _row((1, 37, 101), 1),
    ],
    "permute": _permuted(
        (
            ((1,), ""), ((1, 1), "10"), ((1, 257), "10"), ((257, 1), "10"), ((31, 33), "10"), ((1009, 1013), "10"),
            ((3, 1, 5, 7), ""), ((7, 5, 3, 11, 13), "42031"), ((3, 5, 7, 64), "0213"), ((13, 5, 3, 24), "1203"),
            ((3, 7, 11, 13), "0231"), ((2, 3, 5, 7), "0123"),
        )
    ),
    "log_softmax": [
        _row((1,)), _row((2, 3, 4), 1), _row((13, 1, 17), 1), _row((3, 7, 5), 1), _row((127, 1009, 31), 1),
        _row((2, 63, 48), 1), _row((2, 64, 48), 1), _row((1009, 37), 0), _row((3, 1025)), _row((5, 20_011)),
        _row((2, 100_003)),
    ],
}  # fmt: skip

# Two elements and a pack of 16 bytes divide the first of each pair, nothing the second.
PAIR = [_row((4160,)), _row((2049,))]
UNALIGNED: dict[str, Sequence[Row]] = {
    **dict.fromkeys(BY_ELEMENTS, PAIR),
    "random_mask": PAIR,
    "latency_hiding": [_row(shape, warps=32, chain=1) for shape, _, _ in PAIR],
    "memory_access": [
        _row(shape, side=side, offset=offset) for shape, _, _ in PAIR for side, offset in (("load", 0), ("store", 3))
    ],
    "indexing": [_row((64, 96)), _row((31, 67))],
    "bias_add": [_row((64, 96)), _row((31, 67)), _row((64, 96), 0), _row((7, 31, 13), 1)],
    "permute": _permuted((((64, 96), "10"), ((31, 67), "10"), ((4, 6, 5, 32), "0213"), ((7, 5, 3, 13), "1203"))),
    "log_softmax": [_row((40, 96)), _row((3, 1026)), _row((3, 70, 5), 1), _row((64, 48), 0)],
    "softmax": [
        _row((40, 96)), _row((2, 3, 34, 34)), _row((2, 3, 33, 33)), _row((3, 1026)), _row((2, 16_384)),
        _row((3, 64, 6), 1), ((2, 3, 34, 34), -1, MASKED),
    ],
}  # fmt: skip

# More than 2^31 bytes of float32, with a tail, and ..
FLOATS = 2**29 + 2049
LARGE_BYTES: dict[str, Sequence[Row]] = {
    **{name: [_row((FLOATS,))] for name in BY_ELEMENTS},
    "latency_hiding": [_row((FLOATS,), warps=32)],
    "memory_access": [_row((FLOATS,), offset=1), _row((FLOATS // 2,), side="store", stride=2, offset=1)],
    "indexing": [_row((16_411, 32_771))],
    "bias_add": [_row((524_309, 1031)), _row((1031, 524_309), 0)],
    "permute": _permuted((((23_173, 23_197), "10"), ((67, 127, 257, 256), "0213"))),
    "log_softmax": [_row((521, 1021, 1013), 1), _row((33_013, 16_411))],
    "softmax": [
        _row((33, 64, 512, 512)),
        _row((52_433, 10_271)),
        ((17, 32, 1009, 1009), -1, MASKED),
        _row((521, 1021, 1013), 1),
    ],
}
# .. more than 2^31 elements of two bytes or one. Where only arrays whose elements fill bytes, words or tiles of a mask
# can be checked in slices, such are taken.
HALVES = 2**31 + 1_000_003
LARGE_ELEMENTS: dict[str, Sequence[Row]] = {
    **{name: [_row((HALVES,))] for name in BY_ELEMENTS},
    "relu_grad": [_row((2**31 + 8 * 1_003,))],
    "relu_bitset": [_row((2**31 + 2048 * 1_003,))],
    "random_mask": [_row((HALVES,))],
    "latency_hiding": [_row((HALVES,), warps=32)],
    "memory_access": [_row((HALVES,), offset=1), _row((HALVES // 2,), side="store", stride=2, offset=1)],
    "indexing": [_row((65_537, 32_771))],
    "bias_add": [_row((2_083_001, 1031)), _row((1031, 2_083_001), 0)],
    "permute": _permuted((((46_351, 46_349), "10"), ((131, 257, 1999, 32), "0213"))),
    "log_softmax": [_row((2099, 1021, 1009), 1), _row((131_101, 16_411))],
    "softmax": [_row((33, 64, 1022, 1022)), _row((209_119, 10_271)), _row((2099, 1021, 1009), 1)],
}


def _cases(table: dict[str, Sequence[Row]], dtypes: Sequence[str]) -> Iterator[Case]:
    for operation, rows in table.items():
        for shape, axis, parameters in rows:
            for dtype in ("int8",) if operation == "random_mask" else dtypes:
                yield Case(operation, shape, axis, dtype, parameters=parameters)


@cache
def small_cases() -> list[Case]:
    debug = [Case("multiply", (2049,), -1, dtype, parameters=(("debug", True),)) for dtype in DTYPES]
    return [*_softmax_cases(), *_cases(SMALL, DTYPES), *debug, *_of_suites(_small)]


@cache
def unaligned_cases() -> list[Case]:
    return [*_cases(UNALIGNED, DTYPES), *_of_suites(_unaligned)]


def for_libraries(cases: Iterable[Case]) -> list[Case]:
    """The first of each operation, type, axis and set of parameters: libraries compile for a shape, seconds each."""
    first: dict[tuple[Any, ...], Case] = {}
    for case in cases:
        first.setdefault((case.operation, case.dtype, case.axis, case.parameters, case.inputs), case)
    return list(first.values())


def large_cases() -> list[Case]:
    tables = [*_cases(LARGE_BYTES, ("float32",)), *_cases(LARGE_ELEMENTS, ("float16",))]
    return [*tables, *_of_suites(_over(2**29), ("float32",), 2), *_of_suites(_over(OVER_ELEMENTS), ("float16",), 2)]


# ---- Operations that are in no table -------------------------------------------------------------


@cache
def others() -> dict[str, list[Case]]:
    """Operations that are in no table, each with the cases of its suites."""
    found: dict[str, list[Case]] = {name: [] for name in catalog().operations if name not in UNALIGNED}
    for suite in suites() if found else ():
        for case in suite.cases:
            found.get(case.operation, []).append(case)
    return found


def _of_suites(
    shapes_of: Callable[[Shape], Iterable[Shape]], dtypes: Sequence[str] = DTYPES, most: int = 0
) -> Iterator[Case]:
    """Those that the operation has a meaning for; with `most`, of so many of its suites' cases, from short to long."""
    for name, cases in others().items():
        ordered = sorted(cases, key=lambda case: prod(case.shape[1:]))
        own = ordered[:: max(1, (len(ordered) - 1) // (most - 1))] if most else ordered
        made = {
            Case(name, shape, case.axis, dtype, parameters=case.parameters)
            for case in own
            for shape in shapes_of(case.shape)
            for dtype in dtypes
        }
        for case in sorted(made, key=lambda one: one.key):
            try:
                catalog().operations[name].filled(case)
            except Unsupported:
                continue
            yield case


def _small(shape: Shape) -> Iterator[Shape]:
    if len(shape) == 1:
        yield from ((n,) for n in SIZES)
        return
    yield from (((2,) * (len(shape) - 2)) + (7, columns) for columns in COLUMNS)
    if prod(shape[1:]) <= 2**16:
        yield (3, *shape[1:])


def _unaligned(shape: Shape) -> Iterator[Shape]:
    yield from (
        ((4160,), (2049,)) if len(shape) == 1 else (((2,) * (len(shape) - 2)) + end for end in ((40, 96), (3, 1026)))
    )


def _over(elements: int) -> Callable[[Shape], Iterator[Shape]]:
    """The suite's own shape, grown along its first axis until it has more elements."""

    def shapes_of(shape: Shape) -> Iterator[Shape]:
        yield (elements // prod(shape[1:]) + 3, *shape[1:])

    return shapes_of


def _softmax_cases() -> list[Case]:
    rows = [Case("softmax", (37, columns), -1, dtype) for columns in COLUMNS for dtype in DTYPES]
    # Attention scores, on both sides of 120 heads in all, with and without scale and mask.
    heads = [(2, 3, seq, seq) for seq in COLUMNS if seq <= 1024] + [(11, 11, 33, 33), (1, 1, 1025, 1025)]
    attention = [Case("softmax", shape, -1, dtype) for shape in heads for dtype in DTYPES]
    masked = [Case("softmax", shape, -1, dtype, parameters=MASKED) for shape in heads for dtype in DTYPES]
    scaled = [Case("softmax", (37, columns), -1, "float32", parameters=(("scale", -3.5),)) for columns in (33, 1025)]
    others = [
        *(Case("softmax", shape, 1, dtype) for shape in ((5, 33, 7), (2, 1009, 48)) for dtype in DTYPES),
        Case("softmax", (3, 20_001), -1, "float16"),  # beyond what a block's shared memory holds as float
        Case("softmax", (2, 16_384), -1, "float32"),
        Case("softmax", (9, 12_160), -1, "bfloat16"),  # the longest row in shared memory
        Case("softmax", (1,), -1, "float32"),
    ]
    return rows + attention + masked + scaled + others
