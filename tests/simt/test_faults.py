"""Faults: where they are said to be, how often, and that they do not depend on threads."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kernelbench.simt.device_memory import RED_ZONE
from kernelbench.simt.interface import LANES, Kind
from kernelbench.simt.machine import Machine
from tests.simt.programs import Builder

LANE = np.arange(LANES)
SHARED = 0x50 << 56


@pytest.fixture
def x(machine: Machine) -> Any:
    found = machine.memory.allocate("x", 400, "input")
    yield found
    machine.memory.free(found)


def load(build: Builder, address: Any, count: int = 1, **more: Any) -> list[int]:
    registers = [build.register() for _ in range(count)]
    build.load("global", build.constant(address, np.uint64), registers, **more)
    return registers


def test_read_past_the_end(machine: Machine, x: Any) -> None:
    build = Builder()
    load(build, x.address + 300 + 4 * LANE)
    report = machine.launch(build.build(), (3,), (64,), [])
    (fault,) = report.faults
    assert (fault.kind, fault.block, fault.warp, fault.lane, fault.count) == ("out_of_bounds_read", 0, 0, 25, 7 * 6)
    assert fault.address == x.address + 400
    assert str(fault) == (
        f"k.cu:1: read of 4 bytes outside every array: 0x{x.address + 400:x} is right after the end of x; "
        "block 0 warp 0 lane 25; 42 times"
    )


@pytest.mark.parametrize(("offset", "text"), [(-8, "8 bytes before x"), (416, "16 bytes after the end of x")])
def test_write_outside(machine: Machine, x: Any, offset: int, text: str) -> None:
    build = Builder()
    value = build.register(8)
    build.store("global", build.constant(x.address + offset, np.uint64), [value], "u64", 64)
    (fault,) = machine.launch(build.build(), (1,), (1,), []).faults
    assert fault.kind == "out_of_bounds_write"
    assert f"write of 8 bytes outside every array: 0x{fault.address:x} is {text}" in str(fault)


def test_reads_that_fail_are_not_a_number_and_the_others_are_right(machine: Machine, x: Any) -> None:
    x.view(np.float32)[:] = np.arange(100)
    y = machine.memory.allocate("y", 128, "output")
    build = Builder()
    values = load(build, np.where(LANE % 2, x.address + 4 * LANE, x.address + RED_ZONE // 2))
    build.store("global", build.constant(y.address + 4 * LANE, np.uint64), values)
    machine.launch(build.build(), (1,), (32,), [])
    found = y.view(np.float32)
    assert np.isnan(found[::2]).all()
    np.testing.assert_array_equal(found[1::2], LANE[1::2])
    machine.memory.free(y)


def test_one_sentence_for_two_instructions_of_a_line(machine: Machine, x: Any) -> None:
    build = Builder()
    load(build, np.where(LANE < 3, 8, x.address))
    load(build, np.where(LANE < 2, 8, x.address))
    build.sources[1] = replace(build.sources[1], source=build.sources[0].source)
    (fault,) = machine.launch(build.build(), (1,), (32,), []).faults
    assert fault.count == 5
    assert str(fault).endswith("a null pointer or nearly; block 0 warp 0 lane 0; 5 times")


def test_null_pointer(machine: Machine) -> None:
    build = Builder()
    load(build, 8)
    (fault,) = machine.launch(build.build(), (1,), (1,), []).faults
    assert "0x8, a null pointer or nearly" in str(fault)


def test_misaligned_vector(machine: Machine, x: Any) -> None:
    build = Builder()
    load(build, x.address + 4 * LANE, 4)
    (fault,) = machine.launch(build.build(), (1,), (3,), []).faults
    assert (fault.kind, fault.lane, fault.count) == ("misaligned", 1, 2)
    expected = f"read of 16 bytes at an address that is not a multiple of 16: 0x{x.address + 4:x}, byte 4 of x"
    assert expected in str(fault)


def test_shared_memory_ends(machine: Machine) -> None:
    build = Builder()
    build.store("shared", build.constant(4 * LANE), [build.constant(LANE)])
    (fault,) = machine.launch(build.build(shared=120), (1,), (32,), []).faults
    assert (fault.kind, fault.lane, fault.address) == ("out_of_bounds_write", 30, SHARED + 120)
    assert "byte 120 of 120 of shared memory" in str(fault)


def test_generic_addresses_of_memory_that_is_not_there(machine: Machine) -> None:
    build = Builder()
    value = build.register()
    for address in (SHARED + (3 << 32), SHARED + 4096, (0x60 << 56) + 64):
        build.load("generic", build.constant(address, np.uint64), [value])
    faults = machine.launch(build.build(shared=64), (1,), (32,), []).faults
    assert [fault.kind for fault in faults] == ["unwritten_window", "out_of_bounds_read", "out_of_bounds_read"]
    assert [fault.count for fault in faults] == [32, 32, 32]
    assert (
        "access to the shared memory of block 3, which the cluster does not have: byte 0 of 64 of shared memory"
        in str(faults[0])
    )
    assert "byte 4096 of 64 of shared memory" in str(faults[1])
    assert "byte 64 of the thread's local memory" in str(faults[2])


@pytest.mark.parametrize(("space", "place"), [("shared", "byte 0 of 0 of shared memory"),
                                              ("param", "byte 0 of the kernel's parameters")])  # fmt: skip
def test_the_first_byte_of_other_memories_is_no_null_pointer(machine: Machine, space: str, place: str) -> None:
    build = Builder()
    build.load(space, build.constant(0, np.uint32 if space == "shared" else np.uint64), [build.register()])
    (fault,) = machine.launch(build.build(), (1,), (1,), []).faults
    assert f"read of 4 bytes outside every array: {place}" in str(fault)


@pytest.mark.parametrize("strict", [False, True])
def test_bytes_that_nobody_wrote(machine: Machine, strict: bool) -> None:
    fresh = machine.memory.allocate("fresh", 256, "scratch")
    build = Builder()
    build.store("global", build.constant(fresh.address + 4 * LANE, np.uint64), [build.constant(LANE)],
                guard=build.only(LANE != 9))  # fmt: skip
    load(build, fresh.address + 4 * LANE)
    faults = machine.launch(build.build(), (1,), (32,), [], strict=strict).faults
    assert [(one.kind, one.lane, one.count, one.index) for one in faults] == (
        [("uninitialised_global", 9, 1, 2)] if strict else []
    )
    machine.memory.free(fresh)


def exchange(build: Builder, between: str) -> None:
    """Each lane reads what the lane after it wrote, in the same or (64 threads, one row each) another warp."""
    value, place, other = build.register(), build.register(), build.register()
    build.emit("mul_lo_u32", d=place, a=build.special("%tid.x"), b=build.constant(4))
    build.emit("add_u32", d=other, a=place, b=build.constant(4))
    build.emit("and_b32", d=other, a=other, b=build.constant(255))
    build.store("shared", place, [place])
    if between == "barrier":
        build.barrier()
    elif between == "bar.warp":
        build.emit("bar_warp", text="bar.warp.sync", e=build.constant(0xFFFFFFFF))
    build.load("shared", other, [value])


@pytest.mark.parametrize(
    ("between", "threads", "kinds"),
    [
        ("", 32, {"warp_race", "uninitialised_shared"}),
        ("bar.warp", 32, {"uninitialised_shared"}),
        ("barrier", 32, {"uninitialised_shared"}),
        ("", 64, {"warp_race", "shared_race", "uninitialised_shared"}),
        ("bar.warp", 64, {"shared_race", "uninitialised_shared"}),
        ("barrier", 64, set()),
    ],
)
def test_races(machine: Machine, between: str, threads: int, kinds: set[str]) -> None:
    """With 32 threads the last lane reads past what was written; with 64 the ring closes."""
    build = Builder()
    exchange(build, between)
    report = machine.launch(build.build(shared=256), (1,), (threads,), [], strict=True)
    assert {fault.kind for fault in report.faults} == kinds


def test_atomics_and_a_fence_order_warps(machine: Machine) -> None:
    """Warp 0 writes, fences and raises a flag; warp 1 sees the flag, fences and reads: no race."""
    for fenced in (True, False):
        build = Builder()
        value = build.register()
        first, flag = build.constant(LANE * 4), build.constant(128)
        writes, reads = build.predicate(), build.predicate()
        build.emit("sub_u32", d=value, a=build.constant(0), b=build.special("%warpid"))  # ~0 in warp 1: a NaN
        build.emit("testp_notanumber_f32", d=reads, a=value)
        build.emit("not_pred", d=writes, a=reads, x=[0])
        build.store("shared", first, [value], guard=writes)
        if fenced:
            build.emit("fence")
        build.atomic("shared", "exch", "u32", flag, value, d=build.register())
        if fenced:
            build.emit("fence")
        build.load("shared", first, [value], guard=reads)
        report = machine.launch(build.build(shared=256), (1,), (64,), [], strict=True)
        found = {fault.kind for fault in report.faults} - {"uninitialised_shared"}
        assert found == (set() if fenced else {"shared_race"})


def test_barrier_that_part_of_a_warp_reaches(machine: Machine) -> None:
    build = Builder()
    build.barrier(guard=build.only(LANE >= 4))
    (fault,) = machine.launch(build.build(), (1,), (64,), []).faults
    assert (fault.kind, fault.lane, fault.index) == ("divergent_barrier", 4, 1)


def test_barrier_that_nobody_completes(machine: Machine) -> None:
    build = Builder()
    build.barrier(1, b=build.constant(96))
    report = machine.launch(build.build(), (5,), (64,), [])
    (fault,) = report.faults
    assert (fault.kind, fault.block, fault.index, report.ended) == ("deadlock", 0, 0, False)


def test_traps_end_the_lanes(machine: Machine) -> None:
    build = Builder()
    build.emit(text="trap", kind=Kind.TRAP, f=0, guard=build.only(LANE == 3))
    after = build.emit("mov_b32", d=build.register(), a=build.constant(0))
    report = machine.launch(build.build(), (1,), (32,), [])
    assert [(fault.kind, fault.lane) for fault in report.faults] == [("trapped", 3)]
    assert report.counters["threads"][after] == 31


def test_the_first_block_is_named_whatever_the_threads(machine: Machine, x: Any) -> None:
    """Block b reads at x + 8 b: from block 48 on, outside."""
    texts = set()
    for threads in (1, 2, 7):
        build = Builder()
        offset, here = build.register(8), build.register(8)
        build.emit("mul_wide_u32", d=offset, a=build.special("%ctaid.x"), b=build.constant(8))
        build.emit("add_u64", d=here, a=offset, b=build.constant(x.address + 4 * LANE % 16, np.uint64))
        build.load("global", here, [build.register()])
        report = machine.launch(build.build(), (500,), (32,), [], threads=threads)
        texts.add("\n".join(str(fault) for fault in report.faults))
        assert report.faults[0].block == 49
    assert len(texts) == 1
