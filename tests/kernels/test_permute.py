"""Axes in another order: how few there are, what refuses which order, and every element on the simulator."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from kernelbench.core.records import Case
from kernels.permute._axes import merged_axes
from tests.catalog import catalog

CATALOG = catalog()
OPERATION = CATALOG.operations["permute"]
IMPLEMENTATIONS = CATALOG.implementations["permute"]


def case(shape, permutation="", dtype="float32"):
    return Case("permute", shape, -1, dtype, parameters=(("permutation", permutation),))


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 1, 4, 3), (1, 2, 1, 3), (1, 1, 1), (5, 1), (2, 3, 1, 4)])
def test_merged_axes_move_the_same(shape):
    x = np.arange(np.prod(shape)).reshape(shape)
    for permutation in permutations(range(len(shape))):
        extents, order = merged_axes(shape, permutation)
        assert np.array_equal(x.reshape(extents).transpose(order).reshape(-1), x.transpose(permutation).reshape(-1))
        assert all(after != before + 1 for before, after in pairwise(order)), "could be one"


def test_nchw_to_nhwc_exchanges_two_axes():
    assert merged_axes((2, 3, 4, 5), (0, 2, 3, 1)) == ((2, 3, 20), (0, 2, 1))
    assert merged_axes((2, 3, 4), (0, 1, 2)) == ((24,), (0,))


def test_without_a_permutation_axes_are_turned_round():
    x, y = OPERATION.arrays(case((2, 3, 4)))
    assert (x.shape, y.shape) == ((2, 3, 4), (4, 3, 2))


@pytest.mark.parametrize(("permutation", "slices"), [("0132", 2 * 3), ("0231", 2), ("1023", 1), ("0123", 120)])
def test_the_reference_in_slices_is_that_of_the_whole(permutation, slices):
    shape = (2, 3, 4, 5)
    one = case(shape, permutation)
    assert OPERATION.split(one) == slices
    x = np.arange(120.0).reshape(shape)
    whole = x.transpose(tuple(map(int, permutation))).reshape(slices, -1)
    for start in range(slices):
        got = OPERATION.reference(np, one, {"x": x.reshape(slices, -1)[start : start + 1]})["y"]
        assert np.array_equal(got.reshape(-1), whole[start])


def test_a_wider_move_needs_a_quarter_of_the_indices(h200):
    one = case((8, 12, 16, 64), "0213", "float16")
    moves = [IMPLEMENTATIONS[name].plan(one, h200).launches[0].arguments[2].value for name in ("generic", "widened")]
    assert moves == [one.elements, one.elements // 4]


@pytest.mark.nvcc
def test_wide_indices_find_the_same_places(checked, monkeypatch):
    for name in ("generic", "widened"):
        plan = IMPLEMENTATIONS[name].plan
        monkeypatch.setitem(getattr(plan, "func", plan).__globals__, "index_name", lambda elements: "i64")
        checked(name, case((3, 5, 8), "102"))


@pytest.mark.nvcc
def test_padding_takes_the_conflicts_away(checked):
    for name, conflicts in (("tiled", False), ("tiled_unpadded", True)):
        (counters,) = checked(name, case((64, 64), "10")).counters
        assert (counters.shared_load_wavefronts > counters.shared_load_ideal_wavefronts) == conflicts
        assert counters.global_store_sectors == counters.global_store_ideal_sectors
