"""Plans of the softmaxes in several launches: five_kernels, four_kernels, and the latter as published."""

from dataclasses import replace
from math import prod

import pytest

from kernelbench.core import dtypes
from kernelbench.core.records import Case

UNFUSED = ("five_kernels", "four_kernels", "four_kernels_as_published")


def steps(plan, name):
    """Entry names without prefix and type: reduce_max, exp, .."""
    return [launch.entry.removeprefix(f"softmax_{name}_").rsplit("_", 1)[0] for launch in plan.launches]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("five_kernels", ["reduce_max", "broadcast_sub", "exp", "reduce_sum", "broadcast_div"]),
        ("four_kernels", ["reduce_max", "exp", "reduce_sum", "divide"]),
        ("four_kernels_as_published", ["reduce_max", "exp", "reduce_sum", "divide"]),
    ],
)
def test_launches_in_order(softmax, h200, name, expected):
    plan = softmax[name].plan(Case("softmax", (4, 300), -1, "float32"), h200)
    assert steps(plan, name) == expected


@pytest.mark.parametrize("name", UNFUSED)
def test_every_array_between_launches_is_scratch_and_float(softmax, h200, dtype, name):
    case = Case("softmax", (7, 33), -1, dtype)
    plan = softmax[name].plan(case, h200)
    used = {argument for launch in plan.launches for argument in launch.arguments if isinstance(argument, str)}
    scratch = dict(plan.scratch)
    assert used == {"x", "y", *scratch}
    assert scratch.pop("row_max") == scratch.pop("row_sum") == 4 * 7
    assert set(scratch.values()) == {4 * case.elements}


@pytest.mark.parametrize("name", UNFUSED)
def test_only_launches_that_touch_x_or_y_depend_on_the_type(softmax, h200, dtype, name):
    for launch in softmax[name].plan(Case("softmax", (7, 33), -1, dtype), h200).launches:
        own = {"x", "y"} & {argument for argument in launch.arguments if isinstance(argument, str)}
        assert launch.entry.endswith(f"_{dtypes.suffix(dtype) if own else 'f32'}")


@pytest.mark.parametrize("columns", [1, 2, 3, 16, 31, 32, 33, 255, 256, 257, 1024, 1025, 4096, 262144])
@pytest.mark.parametrize("rows", [1, 7, 256, 1000])
def test_five_kernels_cover_all_rows_and_columns(softmax, h200, rows, columns):
    plan = softmax["five_kernels"].plan(Case("softmax", (rows, columns), -1, "float32"), h200)
    for launch in plan.launches:
        lanes, block_rows, _ = launch.block
        assert prod(launch.block) == 256
        assert rows <= launch.grid[0] * block_rows < rows + block_rows
        # Lanes that no column needs are fewer than those that one does.
        assert lanes == 1 or columns > lanes // 2
        if "reduce" in launch.entry:
            assert launch.grid[1] == 1
            assert lanes <= 32 or (lanes == 256 and columns > 1024)
        else:
            assert (launch.grid[1] - 1) * lanes * 4 < columns <= launch.grid[1] * lanes * 4


def test_five_kernels_keep_within_the_grid(softmax, h200):
    narrow = replace(h200, max_grid=(2**31 - 1, 7, 7))
    plan = softmax["five_kernels"].plan(Case("softmax", (1, 2**20), -1, "float32"), narrow)
    assert max(launch.grid[1] for launch in plan.launches) == 7


@pytest.mark.parametrize("name", ["four_kernels", "four_kernels_as_published"])
def test_four_kernels_take_a_block_of_256_a_row(softmax, h200, name):
    plan = softmax[name].plan(Case("softmax", (3, 5, 17), -1, "float32"), h200)
    assert {(launch.grid, launch.block) for launch in plan.launches} == {((15, 1, 1), (256, 1, 1))}
