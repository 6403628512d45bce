"""A bias along an axis: which kernel finds it how, and that every element is right on the simulator."""

import numpy as np
import pytest

from kernelbench.core.records import Case, Scalar
from tests.catalog import catalog

CATALOG = catalog()
OPERATION = CATALOG.operations["bias_add"]
IMPLEMENTATIONS = CATALOG.implementations["bias_add"]


def case(shape, axis, dtype="float32"):
    return Case("bias_add", shape, axis, dtype)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_the_reference_adds_along_the_axis(axis):
    one = case((2, 3, 4), axis)
    x, bias = np.arange(24.0).reshape(2, 3, 4), np.array([100.0, 200.0, 300.0, 400.0])[: one.outer_dim_inner[1]]
    along = [1, 1, 1]
    along[axis] = -1
    got = OPERATION.reference(np, one, {"x": x.reshape(1, -1), "bias": bias.reshape(1, -1)})["y"]
    assert np.array_equal(got.reshape(2, 3, 4), x + bias.reshape(along))


def test_slices_are_along_the_first_axis_alone():
    assert [OPERATION.split(case((2, 3, 4), axis)) for axis in (0, 1, 2)] == [2, 2, 6]
    x, bias = np.arange(6.0).reshape(3, 2), np.array([10.0, 20.0, 30.0]).reshape(3, 1)
    got = OPERATION.reference(np, case((3, 2), 0), {"x": x[1:], "bias": bias[1:]})["y"]
    assert got.reshape(-1).tolist() == [22.0, 23.0, 34.0, 35.0]


@pytest.mark.parametrize(
    ("shape", "axis", "kernel", "divisor"),
    [((6, 5), 1, "rows", 5), ((6, 5), 0, "columns", 5), ((9,), 0, "rows", 9), ((1, 4, 3), 1, "columns", 3)],
)
def test_the_shape_chooses_the_kernel(h200, shape, axis, kernel, divisor):
    (launch,) = IMPLEMENTATIONS["by_shape"].plan(case(shape, axis, "float16"), h200).launches
    assert launch.entry == f"bias_add_by_shape_{kernel}_i32_f16"
    assert launch.arguments[-1] == Scalar("int64", divisor)


@pytest.mark.parametrize("name", ["generic", "by_shape"])
def test_large_arrays_have_wide_indices(h200, name):
    plan = IMPLEMENTATIONS[name].plan
    assert "_i32_" in plan(case((2**20, 2**10), 1), h200).launches[0].entry
    (launch,) = plan(case((2**20 + 1, 2**10), 1), h200).launches
    assert "_i64_" in launch.entry
    assert 2**30 + launch.grid[0] * launch.block[0] < 2**31, "the last step of a 32-bit index"


@pytest.mark.nvcc
@pytest.mark.parametrize("name", ["generic", "by_shape"])
def test_wide_indices_find_the_same_bias(checked, monkeypatch, name):
    wide = IMPLEMENTATIONS[name].plan.__globals__
    monkeypatch.setitem(wide, "index_name", lambda elements: "i64")
    for axis in (0, 1):
        checked(name, case((37, 29), axis))


@pytest.mark.nvcc
def test_a_special_shape_saves_a_division(checked):
    for one in (case((64, 128), 0), case((64, 128), 1)):
        generic, special = (checked(name, one).counters[0].warp_instructions for name in ("generic", "by_shape"))
        assert special < generic
