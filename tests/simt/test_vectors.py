"""Atomics on vectors, and the reserved part of shared memory."""

import numpy as np
import pytest

from tests.simt.bfloats import widened
from tests.simt.harness import Kernels, Load

pytestmark = pytest.mark.nvcc


@pytest.fixture(scope="module")
def vectors(load: Load) -> Kernels:
    return load("vectors")


def test_float2_gives_what_was_there(vectors: Kernels) -> None:
    sums, before = np.zeros((3, 2), np.float32), np.zeros((192, 2), np.float32)
    report = vectors.run("add_float2", 2, 96, sums, before)
    i = np.arange(192)
    np.testing.assert_array_equal(sums, [[64, i[k::3].sum()] for k in range(3)])
    for k in range(3):
        np.testing.assert_array_equal(np.sort(before[k::3, 0]), np.arange(64))
        np.testing.assert_array_equal(before[k::3, 1], np.cumsum(i[k::3]) - i[k::3])
    assert report.counters.global_atomic_requests == 6


def test_float4(vectors: Kernels) -> None:
    sums = np.zeros((5, 4), np.float32)
    vectors.run("add_float4", 2, 100, sums)
    i = np.arange(200)
    expected = [[i[k::5].sum(), 80, -i[k::5].sum(), 20] for k in range(5)]
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("name", ["add", "min", "max"])
def test_pairs_of_halves(vectors: Kernels, name: str) -> None:
    """Small whole numbers, which are exact; min and max prefer a number to NaN."""
    x = np.random.default_rng(1).integers(-20, 20, (32, 8)).astype(np.float16)
    at = np.zeros((2, 8), np.float16)
    if name != "add":
        x[4, 3] = np.nan
    vectors.run(f"{name}_f16x2", 1, 32, at, x)
    rule = {"add": np.sum, "min": np.nanmin, "max": np.nanmax}[name]
    expected = [np.append(x[k::2], np.zeros((1, 8), np.float16), 0) for k in range(2)]
    np.testing.assert_array_equal(at, [rule(rows, axis=0) for rows in expected])


def test_pairs_of_bfloats(vectors: Kernels) -> None:
    whole = np.random.default_rng(2).integers(-8, 8, (32, 8)).astype(np.float32)
    at = np.zeros((2, 8), np.uint16)
    vectors.run("add_bf16x2", 1, 32, at, (whole.view(np.uint32) >> 16).astype(np.uint16))
    found = widened(at)
    np.testing.assert_array_equal(found, [whole[k::2].sum(0) for k in range(2)])


def test_eight_halves(vectors: Kernels) -> None:
    at = np.zeros((33, 8), np.float16)
    vectors.run("eight_halves", 1, 32, at)
    np.testing.assert_array_equal(at[0], np.full(8, 32))
    np.testing.assert_array_equal(np.sort(at[1:], axis=0), np.tile(np.arange(32)[:, None], 8))


def test_tiles_of_two_warps(vectors: Kernels) -> None:
    x, y = np.random.default_rng(3).integers(0, 99, 256).astype(np.int32), np.zeros(256, np.int32)
    vectors.run("large_tiles", 1, 256, x, y)
    np.testing.assert_array_equal(y, np.repeat(x.reshape(4, 64).sum(1), 64))
