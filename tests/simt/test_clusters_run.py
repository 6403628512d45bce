"""Barriers in shared memory, what they count, and blocks that wait for each other, from CUDA (sm_90)."""

import numpy as np
import pytest

from kernelbench.core.errors import DeviceError
from tests.simt.harness import Kernels, Load

pytestmark = pytest.mark.nvcc


@pytest.fixture
def clusters(load: Load) -> Kernels:
    return load("clusters")


def fault(kernels: Kernels, entry: str, *arguments: object, grid: int, block: int = 32, **more: bool) -> str:
    outcome = kernels.run(entry, grid, block, *arguments, faulty=True, **more)  # type: ignore[arg-type]
    (found,) = outcome.faults
    return found


@pytest.mark.parametrize("turns", [1, 4, 10])
def test_a_ring_of_blocks_hands_pairs_on(clusters: Kernels, rng: np.random.Generator, turns: int) -> None:
    x = rng.integers(0, 99, (3, 4, 64)).astype(np.float32)
    y = np.zeros_like(x)
    outcome = clusters.run("ring", 12, 32, x, y, np.int32(turns), np.int32(256))
    expected = sum(np.roll(x, turn, axis=1) for turn in range(turns + 1))
    np.testing.assert_array_equal(y, expected)
    assert outcome.counters.shared_copy_requests == 12 * turns
    assert outcome.counters.shared_copy_wavefronts == 2 * 12 * turns
    assert outcome.counters.shared_store_wavefronts == 0, "as an H200 counts st.async"


@pytest.mark.parametrize(("bytes_expected", "text"), [(260, "0 arrivals missing, 4 bytes missing"),
                                                      (252, "4 unexpected bytes arrived")])  # fmt: skip
def test_a_wrong_number_of_bytes_is_a_deadlock(clusters: Kernels, bytes_expected: int, text: str) -> None:
    x = np.zeros((4, 64), np.float32)
    found = fault(clusters, "ring", x, x.copy(), np.int32(1), np.int32(bytes_expected), grid=4)
    assert "no remaining warp will complete the phase of this mbarrier" in found
    assert text in found


def test_stores_of_every_width_are_counted(clusters: Kernels) -> None:
    x, y = np.arange(1, 8, dtype=np.uint32), np.zeros(7, np.uint32)
    clusters.run("widths", 1, 32, x, y)
    np.testing.assert_array_equal(y, x)


def test_bytes_may_come_before_they_are_expected(clusters: Kernels) -> None:
    x, y = np.array([5], np.uint32), np.full(3, 7, np.uint32)
    clusters.run("early", 1, 1, x, y)
    assert y.tolist() == [0, 1, 5]


def test_shared_memory_goes_to_another_block_in_bulk(clusters: Kernels, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 2, 128)).astype(np.float32)
    y = np.zeros_like(x)
    clusters.run("bulk_to_block", 4, 32, x, y)
    np.testing.assert_array_equal(y, x[:, ::-1])


def test_ten_turns_of_two_barriers(clusters: Kernels, rng: np.random.Generator) -> None:
    x, y = rng.integers(-99, 99, 10).astype(np.int32), np.zeros(128, np.int32)
    clusters.run("phases", 1, 128, x, y, np.int32(10))
    np.testing.assert_array_equal(y, np.where(np.arange(128) < 32, 0, x.sum()))


def test_who_does_not_wait_for_a_barrier_races(clusters: Kernels) -> None:
    x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    clusters.run("hasty", 1, 64, x, y, np.int32(1))
    np.testing.assert_array_equal(y, x[::-1])
    report = clusters.run("hasty", 1, 64, x, y, np.int32(0), faulty=True).report
    assert "shared_race" in {found.kind for found in report.faults}


def test_states_of_a_barrier(clusters: Kernels) -> None:
    found = np.full(11, 99, np.uint32)
    clusters.run("states", 1, 1, found)
    # pending before each arrival, and whether that phase is over after it; then arrivals that complete two phases,
    # and bytes that complete none, since two arrivals are missing
    np.testing.assert_array_equal(found, [3, 0, 2, 0, 1, 1, 3, 0, 1, 1, 0])


@pytest.mark.parametrize(
    ("mistake", "kind", "text"),
    [
        (0, "no_mbarrier", "not an mbarrier: it was not initialised, or it was overwritten: byte 0"),
        (1, "misaligned", "of 8 bytes at an address that is not a multiple of 8: byte 4 of 32 of shared memory"),
        (2, "no_mbarrier", "byte 0 of 32 of shared memory"),
        (3, "mbarrier_count", "more arrivals or bytes than the mbarrier expects or can count: byte 0"),
        (4, "mbarrier_elsewhere", "the mbarrier is in the shared memory of the wrong block: byte 0"),
        (5, "out_of_bounds_write", "write of 4 bytes outside every array: byte 32 of 32 of shared memory"),
        (6, "mbarrier_count", "byte 8 of 32"),
        (7, "no_mbarrier", "byte 0 of 32"),
    ],
)
def test_mistakes_are_named(clusters: Kernels, mistake: int, kind: str, text: str) -> None:
    outcome = clusters.run("wrong", 2, 32, np.int32(mistake), faulty=True, strict=False)
    (found,) = outcome.report.faults
    assert found.kind == kind
    assert text in str(found)


def test_bulk_copies_in_and_out(clusters: Kernels, rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 256)).astype(np.float32)
    y = np.zeros_like(x)
    counters = clusters.run("bulk", 3, 128, x, y, np.int32(0), np.int32(1024)).counters
    np.testing.assert_array_equal(y, 2 * x)
    assert (counters.global_load_requests, counters.global_load_sectors) == (3, 3 * 32)
    assert (counters.global_store_requests, counters.global_store_sectors) == (3, 3 * 32)
    assert counters.global_load_requested_bytes == counters.global_store_requested_bytes == x.nbytes
    assert (counters.shared_copy_requests, counters.shared_copy_wavefronts) == (2 * 3, 2 * 3 * 8)
    assert counters.written_once_bytes == counters.read_once_bytes == x.nbytes


@pytest.mark.parametrize(
    ("offset", "nbytes", "text"),
    [
        (4, 512, "bulk read at an address that is not a multiple of 16: "),
        (0, 500, "a bulk copy of 500 bytes, which is not a multiple of 16"),
        (512, 1024, "bulk read outside every array: "),
        (0, 2048, "bulk write outside every array: byte 1032 of 1032 of shared memory"),
    ],
)
def test_bulk_copies_that_no_gpu_would_make(clusters: Kernels, offset: int, nbytes: int, text: str) -> None:
    x = np.zeros(512 if nbytes == 2048 else 256, np.float32)
    outcome = clusters.run("bulk", 1, 128, x, x.copy(), np.int32(offset), np.int32(nbytes), faulty=True)
    assert text in outcome.faults[0], outcome.faults


@pytest.mark.parametrize("way", range(5))
def test_blocks_of_a_cooperative_launch_wait_for_each_other(clusters: Kernels, way: int) -> None:
    flags, y = np.zeros(40, np.uint32), np.zeros(40, np.uint32)
    clusters.run("relay", 40, 64, flags, y, np.int32(way), cooperative=True)
    np.testing.assert_array_equal(flags, np.arange(1, 41))
    np.testing.assert_array_equal(y, np.append(np.arange(2, 41), 0))


def test_blocks_that_run_in_order_cannot_wait_for_later_ones(clusters: Kernels) -> None:
    flags, y = np.zeros((2, 4), np.uint32)
    for way in (0, 2, 4):
        found = fault(clusters, "relay", flags, y, np.int32(way), grid=4, strict=False)
        assert "deadlock: all remaining warps wait or loop, and nothing changes; block 0 warp 0 lane 0" in found


def arrays_of_groups(blocks: int) -> tuple[np.ndarray, ...]:
    return tuple(np.zeros(size, np.uint32) for size in (1, blocks, blocks, blocks))


@pytest.mark.parametrize("group", [1, 5, 10, 40])
def test_blocks_of_a_group_wait_for_each_other_and_groups_run_in_order(clusters: Kernels, group: int) -> None:
    next_, come, left, sums = arrays_of_groups(40)
    outcome = clusters.run("groups", 40, 64, next_, come, left, sums, np.uint32(group), co_resident=group)
    numbers = np.arange(1, 41).reshape(-1, group)
    assert outcome.report.blocks_run == next_[0] == 40
    np.testing.assert_array_equal(left, numbers.reshape(-1))
    np.testing.assert_array_equal(sums, np.repeat(numbers.sum(axis=1), group))


@pytest.mark.parametrize("group", [1, 4])
def test_blocks_that_wait_beyond_their_group_are_a_deadlock(clusters: Kernels, group: int) -> None:
    found = fault(clusters, "groups", *arrays_of_groups(40), np.uint32(5), grid=40, strict=False, co_resident=group)
    assert "deadlock: all remaining warps wait or loop, and nothing changes; block 0 warp 0 lane 0" in found


def test_groups_that_a_grid_is_not_made_of_are_refused(clusters: Kernels) -> None:
    for group in (0, 3):
        with pytest.raises(DeviceError, match=f"40 blocks cannot run in groups of {group}: expected a grid"):
            clusters.run("groups", 40, 64, *arrays_of_groups(40), np.uint32(3), co_resident=group)
    x = np.zeros((3, 4, 64), np.float32)
    with pytest.raises(DeviceError, match="groups of 6 blocks in clusters of 4: expected either groups or clusters"):
        clusters.run("ring", 12, 32, x, x, np.int32(1), np.int32(256), co_resident=6)


def test_sixteen_bytes_at_once(clusters: Kernels) -> None:
    slot, y = np.array([1, 2], np.uint64), np.zeros((3, 2), np.uint64)
    clusters.run("wide", 1, 1, slot, y)
    np.testing.assert_array_equal(y, [[1, 2], [11, 22], [22, 11]])
