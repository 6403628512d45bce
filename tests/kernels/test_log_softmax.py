"""What log_softmax is; the plans of its kernels but Paddle's; and that all compile to what they launch."""

from math import log, prod

import numpy as np
import pytest

from kernelbench.core.records import Case

SHAPES = [
    ((128, 128, 16, 16), 0),
    ((512, 896, 4, 12), 1),
    ((2, 3, 4), 1),
    ((127, 1009, 31), 1),
    ((13, 1, 17), 1),
    ((1,), 0),
    ((50, 1000), -1),
    ((3, 7, 65), 1),
]


@pytest.fixture(scope="module")
def operation(catalog):
    return catalog.operations["log_softmax"]


def case(shape, axis=-1, dtype="float32"):
    return Case("log_softmax", shape, axis, dtype)


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_the_reference_gives_logarithms_of_shares_that_add_up_to_one(operation, shape, axis):
    x = np.random.default_rng(1).normal(size=shape)
    y = operation.reference(np, case(shape, axis), {"x": x})["y"].reshape(shape)
    assert np.allclose(np.exp(y).sum(axis=axis), 1)
    assert np.allclose(y - x, (y - x).take([0], axis=axis)), "a column is shifted as a whole"


def test_the_reference_of_a_slice_is_the_slice_of_the_reference(operation):
    x = np.random.default_rng(2).normal(size=(6, 5, 4))
    whole = operation.reference(np, case((6, 5, 4), 1), {"x": x})["y"]
    part = operation.reference(np, case((6, 5, 4), 1), {"x": x[2:4].reshape(2, -1)})["y"]
    assert np.array_equal(part.reshape(-1), whole[2:4].reshape(-1))
    assert operation.split(case((6, 5, 4), 1)) == 6


def test_columns_of_minus_infinity_give_nan(operation):
    with np.errstate(invalid="ignore"):
        y = operation.reference(np, case((1, 3)), {"x": np.full((1, 3), -np.inf)})["y"]
    assert np.isnan(y).all()


@pytest.mark.parametrize("dim", [1, 2, 1000, 100_000])
def test_the_tolerance_takes_float32_and_rejects_a_sum_without_one_element(operation, dim):
    x = np.random.default_rng(dim).normal(size=(4, dim)).astype(np.float32)
    shifted = x - x.max(axis=1, keepdims=True)
    total = np.cumsum(np.exp(shifted), axis=1, dtype=np.float32)[:, -1:]  # one after the other
    expected = operation.reference(np, case((4, dim)), {"x": x.astype(np.float64)})["y"].reshape(4, dim)
    tolerance = operation.tolerance(case((4, dim)))
    allowed = tolerance.absolute + tolerance.relative * np.abs(expected)
    assert (np.abs(shifted - np.log(total) - expected) <= allowed).all()
    if dim > 1:
        largest_left_out = np.log(total - np.exp(shifted).max(axis=1, keepdims=True))
        assert (np.abs(shifted - largest_left_out - expected) > allowed).any()


def test_half_precision_allows_its_own_rounding(operation):
    assert operation.tolerance(case((4, 100), dtype="float16")).relative > 2.0**-11
    assert operation.tolerance(case((4, 100), dtype="bfloat16")).relative > 2.0**-8
    assert operation.tolerance(case((4, 100))).absolute == pytest.approx(2.0**-23 * (4 + 10 + log(100)))


@pytest.mark.parametrize(
    ("shape", "axis", "grid", "block"),
    [
        ((128, 128, 16, 16), 0, 1024, (32, 16)),
        ((512, 896, 4, 12), 1, 3 * 512, (16, 32)),  # three blocks of 16 columns fit, two of 48 do not
        ((2, 3, 4), 1, 2, (4, 4)),
        ((50, 1000), -1, 50, (1, 512)),
        ((5, 100, 48), 1, 5, (48, 8)),
        ((5, 100, 65), 1, 15, (32, 16)),
    ],
)
def test_columns_of_a_block(log_softmax, h200, shape, axis, grid, block):
    (launch,) = log_softmax["one_read"].plan(case(shape, axis), h200).launches
    assert (launch.grid, launch.block) == ((grid, 1, 1), (*block, 1))


@pytest.mark.parametrize("inner", [1, 2, 7, 31, 48, 64, 65, 4096])
@pytest.mark.parametrize("dim", [1, 2, 3, 100, 1009, 3000])
def test_one_read_covers_all_columns_and_fits_shared_memory(log_softmax, h200, dtype, dim, inner):
    (launch,) = log_softmax["one_read"].plan(case((3, dim, inner), 1, dtype), h200).launches
    columns, threads, _ = launch.block
    assert inner <= launch.grid[0] // 3 * columns < inner + columns
    assert columns * threads <= 512
    assert threads & (threads - 1) == 0
    itemsize = 4 if dtype == "float32" else 2
    assert launch.shared_bytes == 4 * columns * threads + dim * columns * itemsize <= h200.shared_per_block_optin


def test_generic_launches_in_order_with_float_between(log_softmax, h200, dtype):
    plan = log_softmax["generic"].plan(case((2, 30, 7), 1, dtype), h200)
    steps = [launch.entry.removeprefix("log_softmax_generic_").rsplit("_", 1)[0] for launch in plan.launches]
    assert steps == ["reduce_max", "shift", "exp", "log_sum", "subtract"]
    assert dict(plan.scratch) == {"column_max": 56, "shifted": 1680, "exps": 1680, "log_sum": 56}


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_generic_covers_every_column_and_element(log_softmax, h200, shape, axis):
    this = case(shape, axis)
    outer, dim, inner = this.outer_dim_inner
    for launch in log_softmax["generic"].plan(this, h200).launches:
        assert prod(launch.block) == 256
        if launch.block[1] == 1 and "reduce" in launch.entry:
            assert launch.grid[0] * 256 >= outer * inner
        elif "shift" in launch.entry or "subtract" in launch.entry or "exp" in launch.entry:
            assert launch.grid[0] * launch.block[1] >= outer * dim
