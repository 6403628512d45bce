"""A random mask: the generator's published numbers, its mean, and every byte of every kernel on the simulator."""

import inspect

import numpy as np
import pytest

from kernelbench.core.records import Case, Scalar
from tests.catalog import catalog

CATALOG = catalog()
OPERATION = CATALOG.operations["random_mask"]
IMPLEMENTATIONS = CATALOG.implementations["random_mask"]
STORES = {"single": 1, "packed_4": 4, "packed_16": 16}


def case(n, dtype="int8", **parameters):
    return Case("random_mask", (n,), -1, dtype, parameters=tuple(parameters.items()))


def masks(n, **parameters):
    return OPERATION.reference(np, case(n, **parameters), {})["mask"]


def test_the_generator_gives_the_published_numbers():
    """The known answers of its authors that have zeros in the upper half of the counter."""
    philox = inspect.unwrap(OPERATION.reference).__globals__["philox"]
    words = philox(np, np.array([0], dtype=np.uint64), 0)
    assert [f"{word:08x}" for word in words[0]] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


def test_a_counter_beyond_32_bits_is_another_one():
    philox = inspect.unwrap(OPERATION.reference).__globals__["philox"]
    words = philox(np, np.array([1, 2**32 + 1], dtype=np.uint64), 5)
    assert words.max() < 2**32
    assert not np.array_equal(words[0], words[1])


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9])
def test_the_mean_is_the_share_that_is_kept(rate):
    n = 2**20
    deviation = (rate * (1 - rate) / n) ** 0.5
    for seed in (0, 1, 2020, 2**40 + 1):
        assert abs(masks(n, rate=rate, seed=seed).mean() - (1 - rate)) <= 5 * deviation


def test_neighbours_and_seeds_are_independent():
    n = 2**18
    one, other = masks(n, rate=0.5, seed=1), masks(n, rate=0.5, seed=2)
    for left, right in ((one, other), (one[:-1], one[1:]), (one[:-4], one[4:])):
        assert abs((left == right).mean() - 0.5) <= 5 * 0.5 / left.size**0.5


def test_the_same_seed_gives_the_same_mask_whatever_the_size():
    assert np.array_equal(masks(1003), masks(5000)[:1003])
    assert not np.array_equal(masks(1003), masks(1003, seed=1))


@pytest.mark.parametrize(("name", "store"), STORES.items())
def test_a_thread_has_what_it_stores_and_four_at_least(h200, name, store):
    plan = IMPLEMENTATIONS[name].plan(case(100_003, rate=0.5, seed=9), h200)
    (launch,) = plan.launches
    assert launch.grid[0] == -(-100_003 // max(4, store) // 256)
    assert launch.arguments == ("mask", Scalar("int64", 100_003), Scalar("int64", 9), Scalar("int64", 2**31))


@pytest.mark.nvcc
def test_wider_stores_are_fewer(checked):
    n = 8192
    for name, store in STORES.items():
        (counters,) = checked(name, case(n)).counters
        assert counters.written_once_bytes == n
        assert counters.global_store_requests == n // 32 // store
        assert counters.global_load_requests == 0
