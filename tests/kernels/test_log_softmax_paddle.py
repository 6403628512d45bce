"""The launch rule of kernels/log_softmax/paddle.py and its variants, that of paddle_2022.py, and what is refused."""

from dataclasses import replace
from math import prod

import pytest

from kernelbench.core.errors import Unsupported
from kernelbench.core.records import Case, Scalar

FIRST = ((128, 128, 16, 16), 0)  # the published shapes with their axes
SECOND = ((512, 896, 4, 12), 1)
RULES = ("paddle", "paddle_merged", "paddle_two_reads")
VARIANTS = ("paddle_occupancy", "paddle_bound_1", "paddle_bound_4", "paddle_bound_8", "paddle_swapped")
ALL = (*RULES, *VARIANTS, "paddle_2022")
# Outer, dim and inner on both sides of each threshold, odd, prime and single.
VIEWS = [
    (outer, dim, inner)
    for outer in (1, 7, 1000)
    for dim in (1, 2, 3, 63, 64, 127, 1009, 100_000)
    for inner in (1, 2, 12, 31, 64, 65, 1023, 1024, 1025, 4096, 1_000_003)
]


@pytest.fixture
def launched(log_softmax, h200):
    """The one launch of an implementation on a shape and axis."""

    def launch(name, shape, axis, device=h200, dtype="float32"):
        (only,) = log_softmax[name].plan(Case("log_softmax", shape, axis, dtype), device).launches
        return only

    return launch


@pytest.fixture
def v100(h200):
    """80 multiprocessors, which the published grids are of."""
    return replace(
        h200, name="V100", compute_capability=(7, 0), multiprocessors=80, shared_per_multiprocessor=96 * 1024,
        shared_per_block_optin=96 * 1024, shared_reserved_per_block=0,
    )  # fmt: skip


def test_the_published_example(launched):
    launch = launched("paddle", (2, 3, 4), 1)
    assert (launch.grid, launch.block, launch.shared_bytes) == ((2, 1, 1), (1, 4, 1), 0)
    assert launch.arguments == ("x", "y", Scalar("int64", 2), Scalar("int32", 3), Scalar("int64", 4))


def test_the_example_as_the_merged_code_has_it(launched):
    launch = launched("paddle_merged", (2, 3, 4), 1)
    assert (launch.grid, launch.block, launch.shared_bytes) == ((2, 1, 1), (2, 4, 1), 4 * 2 * 4)


@pytest.mark.parametrize("name", RULES)
def test_the_published_shapes(launched, v100, name):
    first, second = launched(name, *FIRST), launched(name, *SECOND)
    assert (first.grid, first.block, first.shared_bytes) == ((1, 32, 1), (1, 1024, 1), 0)
    assert (second.grid, second.block, second.shared_bytes) == ((264, 1, 1), (16, 48, 1), 4 * 768)
    assert launched(name, *SECOND, v100).grid == (160, 1, 1)


@pytest.mark.parametrize(
    ("name", "grid"),
    [
        ("paddle_occupancy", (160, 1, 1)),
        ("paddle_bound_1", (80, 1, 1)),
        ("paddle", (160, 1, 1)),
        ("paddle_bound_4", (320, 1, 1)),
        ("paddle_bound_8", (512, 1, 1)),
    ],
)
def test_the_published_sweep_of_grids(launched, v100, name, grid):
    assert launched(name, *SECOND, v100).grid == grid


def test_swapped_is_the_same_launch_with_the_grids_extents_exchanged(launched):
    for case in (FIRST, SECOND):
        plain, swapped = launched("paddle", *case), launched("paddle_swapped", *case)
        assert swapped.grid == (plain.grid[1], plain.grid[0], 1)
        assert replace(swapped, grid=plain.grid) == plain


@pytest.mark.parametrize(
    ("dim", "inner", "block"),
    [
        (64, 64, (16, 64)),
        (63, 64, (1, 64)),
        (64, 65, (1, 65)),
        (64, 1, (64, 1)),
        (1000, 1, (512, 1)),
        (100_000, 1, (1024, 1)),
        (100_000, 33, (16, 33)),
        (1, 1, (1, 1)),
        (2, 1024, (1, 1024)),
        (2, 4096, (1, 1024)),
    ],
)
def test_threads_of_a_column_on_both_sides_of_each_threshold(launched, dim, inner, block):
    assert launched("paddle", (3, dim, inner), 1).block == (*block, 1)


@pytest.mark.parametrize("name", [*RULES, *VARIANTS])
def test_what_the_kernel_relies_on(launched, h200, name):
    for outer, dim, inner in VIEWS:
        launch = launched(name, (outer, dim, inner), 1)
        threads, columns, _ = launch.block
        assert threads & (threads - 1) == 0
        assert threads <= dim
        assert prod(launch.block) <= 1024
        assert columns == inner if threads > 1 else columns == min(inner, 1024)
        assert launch.shared_bytes == (4 * threads * columns if threads > 1 else 0)
        assert launch.grid[0] <= h200.max_grid[0]
        assert launch.grid[1] <= h200.max_grid[1]


def test_the_grid_covers_inner_first_and_then_outer_up_to_the_bound(launched):
    assert launched("paddle", (1000, 8, 100_000), 1).grid == (3, 98, 1)  # 264 / 98, rounded up
    assert launched("paddle", (1000, 8, 1_000_003), 1).grid == (1, 264, 1)
    assert launched("paddle", (1000, 8, 1), 1).grid == (264, 1, 1)


@pytest.mark.parametrize(
    ("shape", "axis", "grid", "block"),
    [
        (*FIRST, (264, 1), (32, 32)),
        (*SECOND, (2, 132), (32, 32)),
        ((100, 4, 4096), 1, (16, 17), (256, 4)),  # what dim leaves goes to further columns
        ((100, 3, 5), 1, (1, 100), (8, 4)),
        ((50, 100_000), 1, (1, 50), (1, 1024)),
        ((7,), 0, (1, 1), (1, 8)),
    ],
)
def test_launches_of_2022(launched, shape, axis, grid, block):
    launch = launched("paddle_2022", shape, axis)
    assert (launch.grid, launch.block, launch.shared_bytes) == ((*grid, 1), (*block, 1), 0)


def test_blocks_of_2022_are_powers_of_two_that_fit(launched):
    for view in VIEWS:
        columns, threads, _ = launched("paddle_2022", view, 1).block
        assert columns & (columns - 1) == threads & (threads - 1) == 0
        assert columns * threads <= 1024


@pytest.mark.parametrize("name", ALL)
def test_columns_too_long_for_their_index_are_refused_and_many_elements_are_not(log_softmax, h200, name):
    with pytest.raises(Unsupported, match="dim must be at most 1073741824, got 1073741825"):
        log_softmax[name].plan(Case("log_softmax", (1, 2**30 + 1), -1, "float16"), h200)
    plan = log_softmax[name].plan(Case("log_softmax", (2**16, 2**10, 2**6), 1, "float16"), h200)  # 2^32 elements
    assert plan.launches[0].arguments[2:] == (Scalar("int64", 2**16), Scalar("int32", 2**10), Scalar("int64", 2**6))


@pytest.mark.nvcc
@pytest.mark.parametrize("name", ["paddle", "paddle_2022"])
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_100"])
def test_registers_are_what_the_occupancy_calculation_counts_with(log_softmax, h200, binaries, architecture, name):
    plan = log_softmax[name].plan(Case("log_softmax", (2, 3, 4), 1, "float32"), h200)
    (binary,) = binaries(log_softmax[name], [plan], architecture)
    for facts in binary.facts.values():
        assert facts.registers <= 32
        assert facts.spill_store_bytes == facts.spill_load_bytes == 0
        assert facts.parameter_loads[0] >= 3, "each of the passes reads x"
