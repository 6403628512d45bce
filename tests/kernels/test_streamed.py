"""Plans of element-wise kernels that give each block one tile."""

from math import ceil

import pytest

from kernelbench.core import dtypes
from kernelbench.core.records import Case
from tests.catalog import catalog

CATALOG = catalog()
OPERATIONS = ("copy", "relu", "multiply", "dropout_add", "relu_grad")


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("n", [1, 2047, 2048, 2049, 2**28, 2**31 + 5])
def test_each_block_has_one_tile(h200, operation, dtype, n):
    plan = CATALOG.implementations[operation]["streamed"].plan(Case(operation, (n,), -1, dtype), h200)
    (launch,) = plan.launches
    defines = dict(plan.defines)
    tile = defines["BLOCK"] * defines["PACKS"] * 16 // dtypes.itemsize(dtype)
    assert launch.grid == (ceil(n / tile), 1, 1)
    assert launch.block == (defines["BLOCK"], 1, 1)


@pytest.mark.parametrize(
    ("shape", "axis", "which"),
    [((3, 5, 1008), 2, "Neighbours"), ((3, 7, 64, 8), 1, "Same"), ((5, 7, 101), 1, "Any"), ((3, 4), -1, "by type")],
)
def test_a_bias_goes_by_packs_where_a_row_has_whole_ones(h200, dtype, shape, axis, which):
    plan = CATALOG.implementations["bias_add"]["streamed"].plan(Case("bias_add", shape, axis, dtype), h200)
    by_type = "Neighbours" if dtype == "float32" else "Any"  # a row of four is a pack of float32, half a pack else
    assert dict(plan.defines)["WHICH"] == (by_type if which == "by type" else which)
