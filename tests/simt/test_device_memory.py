"""Allocations, their maps, and inputs that make their elements at the first touch."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from kernelbench.core.errors import DeviceError
from kernelbench.simt.device_memory import CHUNK, RED_ZONE, DeviceMemory, Generator
from kernelbench.simt.lower.program import Program
from kernelbench.simt.machine import Machine
from tests.simt.programs import Builder

FIRST_NORMAL = (
    "-0x1.106f760000000p+0",
    "-0x1.fa088e0000000p-5",
    "0x1.6e24620000000p-1",
    "0x1.18e4ca0000000p-2",
    "-0x1.47166a0000000p-4",
    "-0x1.d524f20000000p-3",
    "0x1.645d820000000p-4",
    "-0x1.454c7e0000000p+0",
)  # of seed 1


@pytest.fixture
def memory() -> DeviceMemory:
    return DeviceMemory()


def test_allocations_are_aligned_and_apart(memory: DeviceMemory) -> None:
    found = [memory.allocate(str(size), size, "input") for size in (1, 100, 5000, 0, 1 << 20)]
    assert all(one.address % 256 == 0 for one in found)
    for one, after in pairwise(found):
        assert after.address - (one.address + one.nbytes) >= RED_ZONE
    assert memory.allocations == found


def test_freed_memory_is_used_again_and_zero(memory: DeviceMemory) -> None:
    first, second = memory.allocate("first", 5000, "input"), memory.allocate("second", 10, "input")
    first.view()[:] = 7
    second.view()[:] = 9
    memory.free(first)
    third = memory.allocate("third", 4000, "input")
    assert third.address == first.address
    assert not third.view().any()
    assert (second.view() == 9).all()
    with pytest.raises(DeviceError, match="first is not allocated"):
        memory.free(first)


def test_what_is_not_touched_takes_no_memory(memory: DeviceMemory) -> None:
    vast = memory.allocate("vast", 1 << 36, "scratch")
    vast.view(np.float32)[-1] = 1
    assert vast.view(np.float32)[-2:].tolist() == [0, 1]
    with pytest.raises(DeviceError, match="cannot give"):
        memory.allocate("more", 1 << 43, "scratch")


def test_which_allocation_is_near(memory: DeviceMemory) -> None:
    x, y = memory.allocate("x", 100, "input"), memory.allocate("y", 100, "input")
    assert memory.nearest(x.address + 99) == (x, 0)
    assert memory.nearest(x.address + 100) == (x, 1)
    assert memory.nearest(y.address - 3) == (y, -3)


KINDS: list[tuple[Generator, Any]] = [
    (Generator("normal", "float32", 3, 0.5, 2.0), np.float32),
    (Generator("normal", "float16", 3), np.float16),
    (Generator("normal", "bfloat16", 3), np.uint16),
    (Generator("uniform", "float64", 3, -1.0, 1.0), np.float64),
    (Generator("uniform", "int32", 3, -5, 5), np.int32),
    (Generator("uniform", "uint8", 3, 0, 200), np.uint8),
    (Generator("mask", "uint8", 3, 0.25), np.uint8),
    (Generator("mask", "float32", 3, 0.25), np.float32),
]


@pytest.mark.parametrize(("generator", "dtype"), KINDS, ids=lambda one: getattr(one, "dtype", ""))
def test_same_elements_in_any_order(memory: DeviceMemory, generator: Generator, dtype: Any) -> None:
    size = 5 * CHUNK + 100 * np.dtype(dtype).itemsize
    whole, parts = (memory.allocate("x", size, "input", generator) for _ in range(2))
    whole.materialise()
    for start in (size - 1, 0, 2 * CHUNK + 5):
        parts.materialise(start, start + 1)
    assert not parts.view()[CHUNK : 2 * CHUNK].any()
    parts.materialise(CHUNK - 3, 4 * CHUNK + 3)
    np.testing.assert_array_equal(whole.view(), parts.view())
    shorter = memory.allocate("x", CHUNK + 4 * np.dtype(dtype).itemsize, "input", generator)
    shorter.materialise()
    np.testing.assert_array_equal(shorter.view(), whole.view()[: shorter.nbytes])


def elements(memory: DeviceMemory, generator: Generator, dtype: Any, count: int = 1 << 18) -> Any:
    found = memory.allocate("x", count * np.dtype(dtype).itemsize, "input", generator)
    found.materialise()
    return found.view(dtype)


def test_normal_elements_are_normal(memory: DeviceMemory) -> None:
    from scipy.stats import kstest

    values = elements(memory, Generator("normal", "float32", 1, 0.5, 2.0), np.float32).astype(np.float64)
    standard = (values - 0.5) / 2
    assert kstest(standard, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(standard[::2], standard[1::2])[0, 1]) < 0.01
    assert 4 < np.abs(standard).max() < 6
    other = elements(memory, Generator("normal", "float32", 2, 0.5, 2.0), np.float32)
    assert abs(np.corrcoef(values, other)[0, 1]) < 0.01


def test_the_same_elements_on_every_machine(memory: DeviceMemory) -> None:
    values = elements(memory, Generator("normal", "float32", 1), np.float32, 8)
    expected = [float.fromhex(text) for text in FIRST_NORMAL]
    np.testing.assert_array_equal(values, np.array(expected, np.float32))


def test_uniform_and_mask(memory: DeviceMemory) -> None:
    real = elements(memory, Generator("uniform", "float32", 1, -1.0, 3.0), np.float32)
    assert -1 <= real.min() < -0.99
    assert 2.99 < real.max() < 3
    whole = elements(memory, Generator("uniform", "int32", 1, -2, 3), np.int32)
    assert sorted(set(whole.tolist())) == [-2, -1, 0, 1, 2]
    kept = elements(memory, Generator("mask", "uint8", 1, 0.25), np.uint8)
    assert set(kept.tolist()) == {0, 1}
    assert abs(kept.mean() - 0.25) < 0.01


def copying(source: int, to: int, stride: int) -> Program:
    """Thread i of block b copies word b * stride + i."""
    build = Builder()
    index, offset, here = build.register(), build.register(8), build.register(8)
    value = build.register()
    build.emit("mad_lo_u32", d=index, a=build.special("%ctaid.x"), b=build.constant(stride),
               c=build.special("%tid.x"))  # fmt: skip
    build.emit("mul_wide_u32", d=offset, a=index, b=build.constant(4))
    build.emit("add_u64", d=here, a=offset, b=build.constant(source, np.uint64))
    build.load("global", here, [value])
    build.emit("add_u64", d=here, a=offset, b=build.constant(to, np.uint64))
    build.store("global", here, [value])
    return build.build()


def test_kernels_find_the_elements_and_make_no_others() -> None:
    machine = Machine()
    generator = Generator("normal", "float32", 9)
    x = machine.memory.allocate("x", 64 * CHUNK, "input", generator)
    y = machine.memory.allocate("y", 64 * CHUNK, "output")
    report = machine.launch(copying(x.address, y.address, CHUNK), (16,), (64,), [], threads=2)
    assert not report.faults
    reference = machine.memory.allocate("reference", 64 * CHUNK, "input", generator)
    reference.materialise()
    found = y.view(np.float32).reshape(16, CHUNK)[:, :64]
    np.testing.assert_array_equal(found, reference.view(np.float32).reshape(16, CHUNK)[:, :64])
    made = x.view(np.uint8).reshape(64, CHUNK).any(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(made), np.arange(16) * 4)


def test_distinct_sectors_of_a_launch() -> None:
    machine = Machine()
    x, y = (machine.memory.allocate(name, 1 << 16, role) for name, role in (("x", "input"), ("y", "output")))
    overlapping = copying(x.address, y.address, 16)  # each block touches 4 sectors, 2 of them its neighbour's
    for _ in range(2):
        report = machine.launch(overlapping, (10,), (32,), [])
        assert (report.sectors_read, report.sectors_written) == (2 * 9 + 4, 2 * 9 + 4)
    assert np.count_nonzero(y.written) == 22
    assert not y.read.any()
    y.undefine()
    assert not y.written.any()


@pytest.mark.parametrize("stride", [16, 1 << 15, (1 << 15) - 8, 5 << 16])
def test_written_sectors_are_found_wherever_they_are(stride: int) -> None:
    """`stride`: words between blocks. On one page of marks, on many, across two, and on some with others between."""
    machine = Machine()
    x, y = (machine.memory.allocate(name, 16 * stride + 4096, role) for name, role in (("x", "input"), ("y", "output")))
    for _ in range(2):
        report = machine.launch(copying(x.address, y.address, stride), (4,), (32,), [])
        expected = np.unique([(4 * block * stride + byte) // 32 for block in range(4) for byte in range(128)])
        np.testing.assert_array_equal(y.written_sectors(), expected)
        np.testing.assert_array_equal(np.flatnonzero(y.written), expected)
        assert (report.sectors_read, report.sectors_written) == (expected.size, expected.size)
    y.undefine()
    assert not y.written_sectors().size


def test_bytes_written_before_tracking_count_as_sound() -> None:
    machine = Machine()
    x, y = (machine.memory.allocate(name, 1 << 12, role) for name, role in (("x", "input"), ("y", "output")))
    machine.launch(copying(x.address, y.address, 32), (4,), (32,), [])
    report = machine.launch(copying(y.address, x.address, 32), (4,), (32,), [], strict=True)
    assert not report.faults
    report = machine.launch(copying(y.address, x.address, 32), (5,), (32,), [], strict=True)
    assert [(fault.kind, fault.block, fault.count) for fault in report.faults] == [("uninitialised_global", 4, 32)]
