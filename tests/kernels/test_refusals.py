"""What kernels and operations refuse, with which words, and what they take on the other side of a threshold."""

from typing import Any

import pytest

from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case

ONEFLOW_SHARED = ("oneflow_shared", *(f"oneflow_shared_{block}" for block in (128, 256, 512, 1024)),
                  "oneflow_shared_conflicted")  # fmt: skip
ONEFLOW = ("oneflow_warp", *ONEFLOW_SHARED, "oneflow_uncached", "oneflow")
TREES = ("tree_modulo", "tree_strided", "tree_sequential", "tree_two_loads", "tree_unrolled", "tree_shuffle")
UNFUSED = ("five_kernels", "four_kernels", "four_kernels_as_published")
FT = ("ft_v1", "ft_v2", "ft", "ft_as_published")
OF_ITSELF = ("",)  # the operation, whoever runs it
MOST_SHARED = 12280  # columns: (48 KB - 32 bytes of reduction at 128 threads) / 4
MOST_BLOCKS = (2**31 - 1) * 256  # elements of a grid of blocks of 256 threads


def case(operation: str, *shape: int, axis: int = -1, dtype: str = "float32", **parameters: Any) -> Case:
    return Case(operation, shape, axis, dtype, parameters=tuple(parameters.items()))


def permute(*shape: int, order: str, dtype: str = "float32") -> Case:
    return case("permute", *shape, dtype=dtype, permutation=order)


NO_INTEGERS = "dtype must be float32, float16 or bfloat16, got int"
NO_PERMUTATION = r"each of the axes 0, 1, 2 once, as one text, got '"
NO_EXCHANGE = "the last two axes must change places .* got permutation "
NOT_LAST = "axis must be the last, got axis 1 of 3"
WARPS = "what a multiprocessor holds of them, got"
NO_ATTENTION = r"shape must be \(batch, heads, seq, seq\)"

REFUSED = [
    (OF_ITSELF, case("dropout_add", 4, dtype="int8"), NO_INTEGERS),
    (OF_ITSELF, case("log_softmax", 4, 4, dtype="int32"), NO_INTEGERS),
    (OF_ITSELF, case("memory_access", 3, dtype="int32"), NO_INTEGERS),
    (OF_ITSELF, case("multiply", 4, dtype="int32"), NO_INTEGERS),
    (OF_ITSELF, case("reduce_sum", 4, dtype="int32"), NO_INTEGERS),
    (OF_ITSELF, case("random_mask", 4, dtype="float32"), "dtype must be int8, got float32"),
    (OF_ITSELF, case("random_mask", 4, dtype="int8", rate=1.0), "rate must be at least 0 and below 1, got 1.0"),
    (OF_ITSELF, case("random_mask", 4, dtype="int8", seed=-1), r"seed must be at least 0 and below 2\^63, got -1"),
    (OF_ITSELF, case("memory_access", 3, side="both"), "side must be load or store, got both"),
    (OF_ITSELF, case("memory_access", 3, offset=-1), "offset must be at least 0 and stride at least 1, got -1 and 1"),
    (OF_ITSELF, case("memory_access", 3, stride=0), "offset must be at least 0 and stride at least 1, got 0 and 0"),
    (OF_ITSELF, case("indexing", 2, 3, axis=0), "axis must be the last, got axis 0 of 2"),
    *((OF_ITSELF, permute(2, 3, 4, order=wrong), NO_PERMUTATION) for wrong in ("0", "011", "013", "0 1 2", "012 ")),
    (("widened",), permute(4, 6, 8, order="021", dtype="float16"), "the last axis must stay the last, got .* '021'"),
    (("widened",), permute(4, 6, 6, order="102", dtype="float16"), "must be a multiple of 4 elements, got 6"),
    (("widened_16",), permute(4, 6, 6, order="102"), "must be a multiple of 4 elements, got 6"),
    (("tiled",), permute(4, 6, 8, order="102"), f"{NO_EXCHANGE}'102'"),
    (("tiled",), permute(33, 1, 31, order="021"), f"{NO_EXCHANGE}'0'"),
    (("tiled",), permute(4, 6, 8, order="012"), f"{NO_EXCHANGE}'0'"),
    (("generic",), permute(*(2,) * 7, order=""), "at most 6 axes may be left once neighbours are merged, got 7"),
    (("swizzled",), permute(3, 4, 5, order="102"), "the last axis must not stay the last, got '102'"),
    (("by_shape",), case("bias_add", 2, 3, 4, axis=1), "the axis must be the first or the last, got axis 1 of 3"),
    (("bytes_4",), case("latency_hiding", 9, warps=0), f"warps must be from 1 to 64, {WARPS} 0"),
    (("bytes_4",), case("latency_hiding", 9, warps=65), f"warps must be from 1 to 64, {WARPS} 65"),
    (("bytes_4",), case("latency_hiding", 9, warps=33), "warps above 32 must be even, for two blocks, got 33"),
    (("bytes_4",), case("latency_hiding", 9, warps=8, chain=-1), r"chain must be from 0 to 2\^31 - 1, got -1"),
    (("bytes_64",), case("latency_hiding", 9, warps=34), f"warps must be from 1 to 32, {WARPS} 34"),
    (("naive",), case("multiply", MOST_BLOCKS + 1), f"at most {MOST_BLOCKS}, got {MOST_BLOCKS + 1}"),
    (("tree_modulo",), case("reduce_sum", MOST_BLOCKS + 1), f"at most {MOST_BLOCKS}, got {MOST_BLOCKS + 1}"),
    (("tree_unrolled_as_published",), case("reduce_sum", 513), "at most 512, what one block adds up, got 513"),
    (("short_rounds",), case("random_mask", 2**34 + 1, dtype="int8"), f"elements must be at most {2**34}"),
    *((("one_read",), case("log_softmax", 2, 100_000, inner, axis=1),
       f"dim must be so small that {columns} 232448 bytes .*, got 100000")
      for inner, columns in ((1, "1 column fit"), (12, "8 columns fit"), (3, "3 columns fit"))),
    (("generic",), case("log_softmax", 2**30 + 1, axis=0), "dim must be at most 1073741824, got 1073741825"),
    (("generic",), case("log_softmax", 1, 2**30 + 1, axis=0), "inner must be at most 1073741824, got 1073741825"),
    (("paddle_as_published",), case("log_softmax", 4, 63), "dim must be at least 64"),
    (("one_read_axis",), case("log_softmax", 5, 7, axis=1), "axis must not be the last, got axis 1 of 2"),
    (("one_read_axis",), case("softmax", 5, 7, 3, axis=1, scale=2.0), r"scale must be 1, got 2\.0"),
    (("one_read_rows",), case("softmax", 4, 8, scale=2.0), "scale must be 1, got 2"),
    (("one_read_rows",), case("softmax", 4, 8, axis=0), "axis must be the last"),
    (FT, case("softmax", 2, 3, 1025, 1025), r"columns must be at most 1024.* got 1025"),
    (FT, case("softmax", 2, 3, 8, 16), rf"{NO_ATTENTION}, got \(2, 3, 8, 16\)"),
    (FT, case("softmax", 6, 16, 16), rf"{NO_ATTENTION}, got \(6, 16, 16\)"),
    (FT, case("softmax", 96, 16), NO_ATTENTION),
    (FT, case("softmax", 2, 3, 16, 16, axis=2), "axis must be the last, got axis 2 of 4"),
    (FT[-1:], case("softmax", 2, 3, 16, 16, mask=True), "mask"),
    ((*ONEFLOW, *TREES, *UNFUSED), case("softmax", 4, 8, 2, axis=1), NOT_LAST),
    ((*ONEFLOW, *TREES, *UNFUSED), case("softmax", 1, 1, 8, 8, mask=True), "mask"),
    ((*TREES, *UNFUSED), case("softmax", 2**31, 1), "rows must be at most 2147483647.* got 2147483648"),
    ((*TREES, *UNFUSED), case("softmax", 1, 2**30 + 1), "columns must be at most 1073741824, got 1073741825"),
    (("oneflow_warp",), case("softmax", 2, 1025), "columns must be at most 1024.* got 1025"),
    (("oneflow_shared",), case("softmax", 2, MOST_SHARED + 1), "at most 12280, 49152 bytes.* got 12281"),
    (("oneflow_shared_conflicted", "oneflow_shared_128"), case("softmax", 2, MOST_SHARED + 1), "at most 12280"),
    (("oneflow_shared_1024",), case("softmax", 2, 12225), "columns must be at most 12224"),
    (("oneflow_uncached",), case("softmax", 2, 2**31 - 1024), "columns must be at most 2147482623, got 2147482624"),
]  # fmt: skip
TAKEN = [
    ("one_read", case("log_softmax", 2, 100_000, dtype="float16")),  # half as long as float32's
    ("short_rounds", case("random_mask", 2**34, dtype="int8")),
    ("paddle_as_published", case("log_softmax", 4, 64)),
    ("tree_unrolled_as_published", case("reduce_sum", 512)),
]


@pytest.mark.parametrize(
    ("name", "refused", "text"), [(name, refused, text) for names, refused, text in REFUSED for name in names], ids=str
)
def test_what_cannot_be_run_is_refused(catalog, h200, name, refused, text):
    operation, implementations = catalog.operations[refused.operation], catalog.implementations[refused.operation]
    with pytest.raises(Unsupported, match=text):
        implementations[name].plan(refused, h200) if name else operation.arrays(refused)


@pytest.mark.parametrize(("name", "taken"), TAKEN, ids=str)
def test_what_is_just_within_is_run(catalog, h200, name, taken):
    assert catalog.implementations[taken.operation][name].plan(taken, h200).launches
