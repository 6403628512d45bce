"""Every element of every element-wise kernel, of sums and of permutations, on the simulator: sizes with and without a
tail, all arrays at an aligned address, all beyond one, and each alone. Kernels of rows and tiles have files of their
own."""

from collections.abc import Iterator
from typing import Any

import pytest

from kernelbench.core.records import Case
from tests.catalog import catalog

pytestmark = pytest.mark.nvcc

FLOATS = ("float32", "float16", "bfloat16")
IMPLEMENTATIONS = catalog().implementations
STREAMED = ((1,), (7,), (4096,), (4097,), (9003,))
BITS = (1, 31, 33, 257, 2047, 2048, 2049, 4099)
GATHERED = (((1,), ""), ((3, 5), "10"), ((2, 3, 5, 7), "0231"), ((2, 3, 5, 7), "3102"), ((2, 3, 2, 3, 2, 3), ""),
            ((2,) * 6, ""))  # fmt: skip
WIDENED = (((3, 5, 8), "102"), ((2, 3, 5, 7, 16), "02134"), ((4, 24), "01"))
TILED = (((31, 2), "10"), ((33, 1, 31), "210"), ((2, 33, 65), "021"), ((3, 5, 4, 9), "0231"), ((32, 64), "10"))
# By packs: whole tiles, cut ones, behind other axes. By elements: odd extents.
SWIZZLED = (((256, 128), "10"), ((3, 72, 136), "021"), ((2, 16, 3, 24), "3021"), ((2, 8, 3, 16, 2), "41230"),
            ((67, 131), "10"), ((2, 3, 5, 7, 3), "42031"), ((3, 40, 2, 33), "0321"))  # fmt: skip
# Rows, columns, both, and rows with an axis of 1 behind; then an axis in between.
ENDS = (((7, 13), 1), ((1, 1), 1), ((257, 1), 1), ((13, 77), 0), ((1031,), 0), ((3, 5, 1), 1))
BETWEEN = (((3, 5, 7), 1), ((2, 31, 8, 3), 1))
# A shape for each way in which the streamed kernel finds the bias, at any of which a tile ends within a row.
BIASES = (((3, 5, 1008), 2), ((3, 7, 64, 8), 1), ((5, 7, 101), 1))


def along(*rows: tuple[tuple[int, ...], int]) -> list[Case]:
    return [Case("bias_add", shape, axis, "float32") for shape, axis in rows]


def permuted(*rows: tuple[tuple[int, ...], str]) -> list[Case]:
    return [Case("permute", shape, -1, "float32", parameters=(("permutation", order),)) for shape, order in rows]


def of(operation: str, *shapes: tuple[int, ...] | int, axis: int = -1, **parameters: Any) -> list[Case]:
    """An integer is a shape of one extent."""
    extents = [(shape,) if isinstance(shape, int) else shape for shape in shapes]
    return [Case(operation, shape, axis, "float32", parameters=tuple(parameters.items())) for shape in extents]


def compiled(operation: str) -> tuple[str, ...]:
    """All but library calls."""
    return tuple(name for name, one in IMPLEMENTATIONS[operation].items() if one.plan)


# Kernels, cases in any type, and where arrays begin: all so many elements beyond an aligned address, or those named.
Row = tuple[tuple[str, ...], list[Case], tuple[Any, ...]]
ROWS: tuple[Row, ...] = (
    (("bytes_4", "bytes_8", "bytes_16", "copy", "copy_1", "copy_streamed"), of("copy", 1, 7, 261),
     (0, 1, {"x": 1}, {"y": 1})),
    (("naive", "packed", "waves_1", "block_64", "block_1024", "copy"), of("relu", 1, 7, 261),
     (0, 1, {"x": 1}, {"y": 1})),
    (("naive", "oneflow", "whole_packs", "through_memory", "cast_in_loop", "element_index", "int4", "copy"),
     of("multiply", 1, 7, 261), (0, 1, {"x": 1}, {"y": 1}, {"z": 1})),
    (("two_kernels", "fused", "copy"), of("dropout_add", 1, 7, 8, 1003), (0, 1)),
    (("by_shape",), along(*ENDS), (1,)),
    (("generic",), along(*ENDS, *BETWEEN), (1,)),
    (("copy",), along(BETWEEN[0]), (1,)),
    (("streamed",), along(*BIASES), (0, 1, {"bias": 1})),
    (compiled("indexing"), of("indexing", (1, 1), (3, 1), (1, 2), (13, 37), (2, 3, 301)), (0, 1)),
    (("last_block", "two_launches"), of("reduce_sum", 1, 2, 9, 4099, 70_001), (0, 1, {"x": 3})),
    (("tree_modulo", "tree_unrolled_all", "shuffle", "shuffle_packed"), of("reduce_sum", 1003), (1,)),
    (("shuffle_packed",), of("reduce_sum", 1, 2, 9), (1,)),
    (("generic", "paddle", "paddle_2022", "one_read", "copy"), of("log_softmax", (3, 70, 5), axis=1), (1,)),
    (("consecutive", "strided", "ballot", "ballot_words", "copy"), of("relu_bitset", *BITS, 3001), (0, 1)),
    (("warp_tiles",), of("relu_bitset", 1, 33, 4096, 9003), (0, 1, {"mask": 1})),
    (("from_y", "from_bits", "copy"), of("relu_grad", 1, 7, 1003), (0, 1)),
    (("generic",), permuted(*GATHERED), (0, 1)),
    (("widened", "widened_16"), permuted(*WIDENED), (0, 1)),
    (("tiled", "tiled_unpadded"), permuted(*TILED), (1,)),
    (("swizzled",), permuted(*SWIZZLED), (0, 1, {"y": 1})),
    *((("streamed",), of(operation, *STREAMED), (0, 1, {output: 1})) for operation, output in (
        ("copy", "y"), ("relu", "y"), ("multiply", "z"), ("dropout_add", "y"), ("relu_grad", "dx"))),
)  # fmt: skip
MASKS: tuple[Row, ...] = (
    (("single", "packed_4", "packed_16", "copy"), of("random_mask", 1, 3, 16, 17, 1003, seed=2**35 + 7), (0, 1)),
    *((("short_rounds",), of("random_mask", 1, 4097, 9003, rate=rate, seed=seed), (0, 1))
      for rate in (0.0, 0.1, 0.75) for seed in (0, 2020, 2**63 - 1)),
)  # fmt: skip


def each() -> Iterator[Any]:
    """One test per kernel, type and row: what is compiled for it serves all its cases."""
    for rows, dtypes in ((ROWS, FLOATS), (MASKS, ("int8",))):
        for names, cases, shifts in rows:
            for name in names:
                for dtype in dtypes:
                    first = cases[0]
                    label = f"{first.operation}-{name}-{'x'.join(map(str, first.shape))}-{dtype}"
                    yield pytest.param(name, dtype, cases, shifts, id=label)


@pytest.mark.parametrize(("name", "dtype", "cases", "shifts"), list(each()))
def test_right_wherever_arrays_begin(checked, name, dtype, cases, shifts):
    for case in cases:
        for shift in shifts:
            checked(name, Case(case.operation, case.shape, case.axis, dtype, parameters=case.parameters), shift)
