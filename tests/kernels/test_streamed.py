"""Element-wise kernels that give each block one tile: their plans, and every element at any length and address."""

from math import ceil

import pytest

from kernelbench.core import dtypes
from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case
from tests.catalog import catalog
from tests.kernels.simulated import run_and_check

CATALOG = catalog()
OPERATIONS = ("copy", "relu", "multiply", "dropout_add", "relu_grad")
# A shape for each way of finding the bias, at any of which a tile ends within a row.
BIASES = {"Neighbours": ((3, 5, 1008), 2), "Same": ((3, 7, 64, 8), 1), "Any": ((5, 7, 101), 1)}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("n", [1, 2047, 2048, 2049, 2**28, 2**31 + 5])
def test_each_block_has_one_tile(h200, operation, dtype, n):
    plan = CATALOG.implementations[operation]["streamed"].plan(Case(operation, (n,), -1, dtype), h200)
    (launch,) = plan.launches
    defines = dict(plan.defines)
    tile = defines["BLOCK"] * defines["PACKS"] * 16 // dtypes.itemsize(dtype)
    assert launch.grid == (ceil(n / tile), 1, 1)
    assert launch.block == (defines["BLOCK"], 1, 1)


@pytest.mark.nvcc
@pytest.mark.parametrize("operation", OPERATIONS)
def test_is_right_wherever_arrays_begin(h200, binaries, dtype, operation):
    implementation, defined = CATALOG.implementations[operation]["streamed"], CATALOG.operations[operation]
    (output,) = [spec.name for spec in defined.arrays(Case(operation, (1,), -1, dtype)) if spec.role == "output"]
    for n, shift in ((1, 0), (7, 1), (4096, 0), (4097, 0), (9003, 0), (9003, 1), (9003, {output: 1})):
        run_and_check(implementation, defined, Case(operation, (n,), -1, dtype), h200, binaries, shift)


@pytest.mark.nvcc
@pytest.mark.parametrize("which", BIASES)
def test_finds_the_bias_of_any_axis(h200, binaries, dtype, which):
    implementation, defined = CATALOG.implementations["bias_add"]["streamed"], CATALOG.operations["bias_add"]
    shape, axis = BIASES[which]
    case = Case("bias_add", shape, axis, dtype)
    assert dict(implementation.plan(case, h200).defines)["WHICH"] == which
    for shift in (0, 1, {"bias": 1}):
        run_and_check(implementation, defined, case, h200, binaries, shift)


@pytest.mark.parametrize(("dtype", "which"), [("float32", "Neighbours"), ("float16", "Any")])
def test_a_bias_goes_by_packs_where_a_row_has_whole_ones(h200, dtype, which):
    plan = CATALOG.implementations["bias_add"]["streamed"].plan(Case("bias_add", (3, 4), -1, dtype), h200)
    assert dict(plan.defines)["WHICH"] == which


@pytest.mark.nvcc
def test_bits_are_put_together_by_whole_words(h200, binaries, dtype):
    implementation = CATALOG.implementations["relu_bitset"]["warp_tiles"]
    for n, shift in ((1, 0), (33, 1), (4096, 0), (9003, 0), (9003, 1), (9003, {"mask": 1})):
        case = Case("relu_bitset", (n,), -1, dtype)
        run_and_check(implementation, CATALOG.operations["relu_bitset"], case, h200, binaries, shift)


@pytest.mark.nvcc
@pytest.mark.parametrize("seed", [0, 2020, 2**63 - 1])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.75])
def test_a_mask_with_less_arithmetic_is_the_same_mask(h200, binaries, seed, rate):
    implementation = CATALOG.implementations["random_mask"]["short_rounds"]
    parameters = (("rate", rate), ("seed", seed))
    for n, shift in ((1, 0), (4097, 0), (9003, 1)):
        case = Case("random_mask", (n,), -1, "int8", parameters=parameters)
        run_and_check(implementation, CATALOG.operations["random_mask"], case, h200, binaries, shift)


def test_counters_of_more_than_32_bits_are_refused(h200):
    plan = CATALOG.implementations["random_mask"]["short_rounds"].plan
    plan(Case("random_mask", (2**34,), -1, "int8"), h200)
    with pytest.raises(Unsupported, match=f"elements must be at most {2**34}"):
        plan(Case("random_mask", (2**34 + 1,), -1, "int8"), h200)
