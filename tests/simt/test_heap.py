"""malloc, free, new and delete on the device."""

import numpy as np
import pytest

from kernelbench.simt.machine import HEAP_BYTES
from tests.simt.harness import Kernels, Load

pytestmark = pytest.mark.nvcc


@pytest.fixture
def kernels(load: Load) -> Kernels:
    return load("heap")


def test_lists(kernels: Kernels) -> None:
    y, n = np.zeros((3, 64), np.int32), 5
    for _ in range(2):  # the second launch finds all of the heap again
        kernels.run("lists", 3, 64, y, np.int32(n))
        t = np.arange(64)
        count = n + t % 3
        np.testing.assert_array_equal(y, np.tile((t + 1) * count * (count - 1) // 2, (3, 1)))


def test_what_a_kernel_leaves_the_next_one_finds(kernels: Kernels) -> None:
    kept, y = np.zeros(4, np.uint64), np.zeros((4, 100), np.float32)
    kernels.run("keeps", 4, 32, kept, np.int32(100))
    assert not (kept % 16).any()
    assert (np.diff(np.sort(kept)) >= 400).all()
    kernels.run("gives_back", 4, 32, kept, y, np.int32(100))
    np.testing.assert_array_equal(y, np.arange(4)[:, None] + np.arange(100))
    done = kernels.run("gives_back", 4, 32, kept, y, np.int32(100), faulty=True)
    assert {one.kind for one in done.report.faults} == {"bad_free"}


def test_an_empty_heap_gives_null(kernels: Kernels) -> None:
    found = np.zeros(9, np.uint64)
    kernels.run("takes_all", 1, 1, found, np.uint64(HEAP_BYTES // 4))
    assert found[:4].all()
    assert not found[4:8].any()
    assert found[8] == found[1]  # first fit
    kernels.run("takes_all", 1, 1, found, np.uint64(HEAP_BYTES + 16))
    assert not found[:8].any()


@pytest.mark.parametrize("which", [0, 2, 3])
def test_what_cannot_be_freed(kernels: Kernels, which: int) -> None:
    done = kernels.run("frees", 1, 1, np.zeros(64, np.uint8), np.int32(which), faulty=True)
    (fault,) = done.report.faults
    assert fault.kind == "bad_free"
    assert "heap.cu:" in str(fault)
    place = {0: "byte 0 of the heap of malloc", 2: "byte 16 of the heap of malloc", 3: "byte 0 of argument 0"}[which]
    assert place in str(fault)


def test_what_can_be_freed(kernels: Kernels) -> None:
    kernels.run("frees", 1, 1, np.zeros(64, np.uint8), np.int32(1))


def test_new_memory_has_no_contents(kernels: Kernels) -> None:
    done = kernels.run("reads_first", 1, 32, np.zeros(32, np.int32), faulty=True)
    assert {one.kind for one in done.report.faults} == {"uninitialised_global"}
