"""Which blocks of a large grid are run."""

from collections.abc import Callable
from math import prod

import numpy as np
import pytest

from kernelbench.core.errors import DeviceError
from kernelbench.devices.block_sample import GROUPS, MOST_BLOCKS, Grid, require_room, run_first_blocks, run_sample


class Launch:
    """Runs blocks of a set price, and keeps which."""

    def __init__(self, price: int) -> None:
        self.price = price
        self.order: list[int] = []

    def __call__(self, blocks: np.ndarray) -> int:
        self.order += blocks.tolist()
        return self.price * blocks.size


def test_a_grid_that_fits_the_work_is_run_whole_and_each_block_once() -> None:
    launch = Launch(10)
    assert run_sample(Grid((100, 1, 1)), 1000, 1.0, None, launch, 1) is None
    assert sorted(launch.order) == list(range(100))


@pytest.mark.parametrize("grid", [(1, 1, 1), (3, 1, 1), (8, 1, 1), (1, 5, 1), (2, 3, 4)])
def test_small_grids_are_whole_whatever_they_cost(grid: tuple[int, int, int]) -> None:
    launch = Launch(10**9)
    run_sample(Grid(grid), 1, 1.0, None, launch, GROUPS)
    assert sorted(launch.order) == list(range(prod(grid)))


def test_a_large_grid_is_sampled_at_both_ends_and_between_within_the_work() -> None:
    launch = Launch(100)
    covered = run_sample(Grid((262144, 1, 1)), 100 * 640, 1.0, None, launch, 1)
    assert covered is not None
    assert len(launch.order) == len(set(launch.order)) == 6 * 91 + 2 * 46
    chosen = sorted(launch.order)
    assert chosen[:46] == list(range(46))
    assert chosen[46] > 30000, "the ends stand for half as much of the grid as what lies between"
    assert chosen[-46:] == list(range(262144 - 46, 262144))
    starts = np.array(chosen)[np.diff(chosen, prepend=-2) > 1]
    assert len(starts) == GROUPS
    assert np.ptp(np.diff(starts)[1:-1]) <= 1, "evenly spread"


def test_no_more_than_a_share_is_run_however_cheap_it_is() -> None:
    launch = Launch(1)
    assert run_sample(Grid((262144, 1, 1)), 10**9, 1 / 64, None, launch, 1) is not None
    assert len(launch.order) == 4096 // 7 * 7 + 1


def test_costly_blocks_are_run_all_the_same_one_a_group() -> None:
    launch = Launch(10**9)
    run_sample(Grid((4096, 1, 1)), 1, 1.0, None, launch, 1)
    assert len(launch.order) == GROUPS


@pytest.mark.parametrize(
    ("price", "share", "whole"),
    [
        (lambda block: 1000 if block < 4 else 1, 1.0, True),  # a few blocks do the work of all
        (lambda block: 1000 if block < 4 else 1, 1 / 1000, False),  # arrays too large
        (lambda block: 1000 if block < 2000 else 1, 1.0, False),  # too much work
        (lambda block: block, 1.0, False),  # more and more, which groups in between stand for
        (lambda block: 300 if block == 0 else 100, 1.0, False),  # a tail
    ],
)
def test_where_few_blocks_do_the_work_of_all_all_are_run(
    price: Callable[[int], int], share: float, whole: bool
) -> None:
    order: list[int] = []

    def launch(blocks: np.ndarray) -> int:
        order.extend(blocks.tolist())
        return sum(price(block) for block in blocks.tolist())

    found = run_sample(Grid((4096, 1, 1)), 1000, share, None, launch, 1)
    assert (found is None) == whole
    assert len(order) == len(set(order)), "each once"
    assert (len(order) == 4096) == whole


@pytest.mark.parametrize("second", [(262144, 1, 1), (2_097_152, 1, 1), (32768, 1, 1), (65536, 3, 1)])
def test_a_later_launch_stays_within_what_the_earlier_covered(second: tuple[int, int, int]) -> None:
    first, later = Launch(100), Launch(1)
    covered = run_sample(Grid((262144, 1, 1)), 100 * 6400, 1.0, None, first, 4)
    assert covered is not None
    narrower = run_sample(Grid(second), 10**12, 1.0, covered, later, 4)
    assert narrower is not None
    grid = Grid(second)
    slices = sorted({block % grid.slices for block in later.order})
    shares = [(one / grid.slices, (one + 1) / grid.slices) for one in slices]
    ran = set(first.order)
    for low, high in shares:
        assert {int(low * 262144), int(high * 262144 - 1e-6)} <= ran
    assert len(later.order) == len(slices) * grid.slice_blocks, "a slice is run as a whole"
    assert all(a[0] <= b[0] <= b[1] <= a[1] for a, b in zip(covered, narrower, strict=True))


def test_the_longest_dimension_is_sampled_and_the_others_are_whole() -> None:
    launch = Launch(1000)
    run_sample(Grid((5, 7000, 2)), 1000 * 800, 1.0, None, launch, 1)
    blocks = np.array(launch.order)
    y = blocks // 5 % 7000
    assert {0, 6999} <= set(y.tolist())
    assert len(blocks) == 10 * len(set(y.tolist()))


def test_blocks_that_wait_for_earlier_ones_are_run_in_order_from_the_first() -> None:
    launch = Launch(10)
    assert not run_first_blocks((1000, 1, 1), 2000, launch)
    assert launch.order == list(range(200))
    launch = Launch(10)
    assert run_first_blocks((7, 3, 1), 2000, launch)
    assert launch.order == list(range(21))
    launch = Launch(10**9)
    assert not run_first_blocks((1000, 1, 1), 1, launch)
    assert launch.order == list(range(GROUPS))
    for group, work, done in ((3, 1, 9), (64, 1, 64), (30, 2000, 210)):
        launch = Launch(10)
        assert not run_first_blocks((990, 1, 1) if group < 64 else (1024, 1, 1), work, launch, group)
        assert launch.order == list(range(done)), group


def test_blocks_that_are_too_many_to_be_numbered_are_not() -> None:
    launch = Launch(1)
    uneven = lambda blocks: 10**6 if blocks[0] == 0 else launch(blocks)  # noqa: E731 - one block has all the work
    assert run_sample(Grid((2**31 - 1, 1, 1)), 4_000_000, 1.0, None, uneven, 1) is not None
    assert len(launch.order) == GROUPS - 1
    with pytest.raises(
        DeviceError, match=r"34358689800 blocks would have to be run, but the simulator runs at most 33554432"
    ):
        run_sample(Grid((2**31 - 1, 65535, 65535)), 4_000_000, 1.0, None, launch, 1)
    require_room(MOST_BLOCKS)


@pytest.mark.parametrize("cluster", [(8, 1, 1), (16, 1, 1), (4, 2, 1)])
def test_clusters_are_run_whole_and_once(cluster: tuple[int, int, int]) -> None:
    launch, grid = Launch(100), Grid((4096, 2, 1), cluster)
    assert run_sample(grid, 100 * 1000, 1.0, None, launch, 1) is not None
    assert len(launch.order) == len(set(launch.order)) > 500
    places = {(block % 4096 // cluster[0], block // 4096 // cluster[1]) for block in launch.order}
    assert len(launch.order) == len(places) * prod(cluster)


def test_an_uneven_grid_of_few_clusters_is_run_whole() -> None:
    run: list[int] = []

    def launch(blocks: np.ndarray) -> int:
        run.extend(blocks.tolist())
        return 10**6 if 0 in blocks else blocks.size

    assert run_sample(Grid((64, 1, 1), (8, 1, 1)), 1000, 1.0, None, launch, 1) is None
    assert sorted(run) == list(range(64))
