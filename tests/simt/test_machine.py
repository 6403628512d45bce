"""Paths, barriers, blocks and threads of the machine, with programs made by hand."""

import _thread
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kernelbench.core.errors import DeviceError, PtxError
from kernelbench.simt.interface import LANES, NONE, Kind
from kernelbench.simt.lower.program import Program
from kernelbench.simt.machine import Allocation, LaunchReport, Machine
from tests.simt.programs import Builder

LANE = np.arange(LANES)
COUNT, AND, OR = 2, 3, 4  # forms of a barrier that reduces


@pytest.fixture
def out(machine: Machine) -> Any:
    found = machine.memory.allocate("out", 4 * 4096, "output")
    yield found
    machine.memory.free(found)


def thread_address(build: Builder, out: Allocation) -> int:
    """Slot of the address of element (ctaid * ntid + tid) of `out`."""
    index, address = build.register(), build.register(8)
    build.emit("mad_lo_u32", d=index, a=build.special("%ctaid.x"), b=build.special("%ntid.x"),
               c=build.special("%tid.x"))  # fmt: skip
    build.emit("mul_wide_u32", d=address, a=index, b=build.constant(4))
    build.emit("add_u64", d=address, a=address, b=build.constant(out.address, np.uint64))
    return address


def move(build: Builder, to: int, value: int, **more: Any) -> None:
    build.emit("or_b32", d=to, a=build.constant(value), b=build.constant(0), **more)


def add(build: Builder, to: int, value: int, **more: Any) -> None:
    build.emit("add_u32", d=to, a=to, b=build.constant(value), **more)


def results(out: Allocation, count: int) -> NDArray[np.uint32]:
    return out.view(np.uint32)[:count].copy()


def run(machine: Machine, program: Program, grid: int = 1, block: int = 32, **more: Any) -> LaunchReport:
    report = machine.launch(program, (grid,), (block,), [], **more)
    assert not report.faults
    return report


def test_branch_and_meeting(machine: Machine, out: Allocation) -> None:
    build = Builder()
    value = build.register()
    address = thread_address(build, out)
    low = build.only(LANE < 10)
    move(build, value, 1)
    split = build.branch(0, guard=low)
    add(build, value, 10)
    jump = build.branch(0)
    here = build.label()
    add(build, value, 100)
    meet = build.label()
    store = build.store("global", address, [value])
    program = build.build()
    program = retarget(program, {split: (here, meet), jump: (meet, NONE)})
    report = run(machine, program)
    np.testing.assert_array_equal(results(out, 32), np.where(LANE < 10, 101, 11))
    assert report.counters["divergences"][split] == 1
    assert report.counters["warps"][store] == 1
    assert report.counters["threads"][split] == 10


def retarget(program: Program, targets: dict[int, tuple[int, int]]) -> Program:
    """With targets and meeting points of branches that were not known when they were emitted."""
    code = list(program.code)
    for index, (target, meet) in targets.items():
        code[index] = replace(code[index], target=target, reconverge=meet)
    return replace(program, code=tuple(code))


def test_a_program_that_was_changed_runs_as_changed(machine: Machine, out: Allocation) -> None:
    """What was made of the first one to run it is not the second one's."""
    build = Builder()
    value = build.register()
    address = thread_address(build, out)
    move(build, value, 1)
    skip = build.branch(0)
    add(build, value, 10)
    store = build.store("global", address, [value])
    program = build.build()
    for target, expected in ((skip + 1, 11), (store, 1)):
        program = retarget(program, {skip: (target, NONE)})
        for one in (machine, Machine(machine.memory)):
            run(one, program)
            np.testing.assert_array_equal(results(out, 32), np.full(32, expected))


def test_loop_of_different_lengths(machine: Machine, out: Allocation) -> None:
    """Lane i goes round i times; all meet after the loop, and the stack does not grow."""
    build = Builder()
    value, left = build.register(), build.register()
    address = thread_address(build, out)
    move(build, value, 0)
    build.emit("or_b32", d=left, a=build.constant(LANE * 100), b=build.constant(0))
    again = build.predicate()
    loop = build.label()
    add(build, value, 1)
    build.emit("sub_u32", d=left, a=left, b=build.constant(1))
    build.emit("testp_notanumber_f32", d=again, a=nan_if_positive(build, left))
    back = build.branch(loop, guard=again)
    store = build.store("global", address, [value])
    program = retarget(build.build(), {back: (loop, store)})
    report = run(machine, program)
    np.testing.assert_array_equal(results(out, 32), np.maximum(LANE * 100, 1))
    assert report.counters["warps"][store] == 1
    assert report.counters["divergences"][back] == 31


def nan_if_positive(build: Builder, number: int) -> int:
    """A NaN where the integer is 1 .. 2^31 - 1."""
    found = build.register()
    build.emit("max_s32", d=found, a=number, b=build.constant(0))
    build.emit("min_s32", d=found, a=found, b=build.constant(1))
    build.emit("mul_lo_u32", d=found, a=found, b=build.constant(0x7FC00000))
    return found


def test_table_of_branches(machine: Machine, out: Allocation) -> None:
    build = Builder()
    value = build.register()
    address = thread_address(build, out)
    index = build.constant(LANE % 3)
    build.emit(text="brx.idx", kind=Kind.TABLE_BRANCH, a=index, b=0, c=3, reconverge=0)
    jump = build.label() - 1
    cases, leaves = [], []
    for case in range(3):
        cases.append(build.label())
        move(build, value, 7 + case)
        leaves.append(build.branch(0))
    meet = build.label()
    build.store("global", address, [value])
    program = retarget(build.build(table=cases), {jump: (NONE, meet), **dict.fromkeys(leaves, (meet, NONE))})
    report = run(machine, program)
    np.testing.assert_array_equal(results(out, 32), 7 + LANE % 3)
    assert report.counters["warps"][meet] == 1


def test_lanes_that_exit_are_not_waited_for(machine: Machine, out: Allocation) -> None:
    build = Builder()
    value = build.register()
    address = thread_address(build, out)
    build.exit(guard=build.only(LANE >= 5))
    build.barrier()
    move(build, value, 3)
    build.store("global", address, [value])
    out.view()[:] = 0
    run(machine, build.build(), block=70)
    expected = np.zeros(96, int)
    for warp in range(3):
        expected[32 * warp : 32 * warp + 5] = 3
    np.testing.assert_array_equal(results(out, 96)[:70], expected[:70])


def test_barrier_orders_warps(machine: Machine, out: Allocation) -> None:
    """Each thread reads what the thread 32 after it wrote to shared memory."""
    build = Builder()
    mine, other, value = build.register(), build.register(), build.register()
    address = thread_address(build, out)
    thread = build.special("%tid.x")
    build.emit("mul_lo_u32", d=mine, a=thread, b=build.constant(4))
    build.store("shared", mine, [thread])
    build.barrier()
    build.emit("add_u32", d=other, a=thread, b=build.constant(32))
    build.emit("and_b32", d=other, a=other, b=build.constant(127))
    build.emit("mul_lo_u32", d=other, a=other, b=build.constant(4))
    build.load("shared", other, [value])
    build.store("global", address, [value])
    run(machine, build.build(shared=512), block=128, strict=True)
    np.testing.assert_array_equal(results(out, 128), (np.arange(128) + 32) % 128)


@pytest.mark.parametrize(("form", "expected"), [(COUNT, 20 * 4), (AND, 0), (OR, 1)])
def test_barrier_that_reduces(machine: Machine, out: Allocation, form: int, expected: int) -> None:
    build = Builder()
    value, result = build.register(), build.predicate()
    address = thread_address(build, out)
    held = build.only(LANE < 20)
    move(build, value, 0)
    build.barrier(3, form, c=held, e=0, d=value if form == COUNT else result)
    if form != COUNT:
        move(build, value, 1, guard=result)
    build.store("global", address, [value])
    run(machine, build.build(), block=128)
    np.testing.assert_array_equal(results(out, 128), expected)


def test_named_barrier_between_two_warps(machine: Machine, out: Allocation) -> None:
    """Warp 0 writes and arrives, warp 1 waits and reads; warps 2 and 3 have no part in it."""
    build = Builder()
    value = build.register()
    address = thread_address(build, out)
    move(build, value, 0)
    first, second = warp_is(build, 0), warp_is(build, 1)
    place = build.constant(LANE * 4)
    sixty_four = build.constant(64)
    build.store("shared", place, [build.constant(LANE + 5)], guard=first)
    build.barrier(2, 1, b=sixty_four, guard=first)
    build.barrier(2, 0, b=sixty_four, guard=second)
    build.load("shared", place, [value], guard=second)
    build.store("global", address, [value])
    run(machine, build.build(shared=128), block=128, strict=True)
    found = results(out, 128).reshape(4, 32)
    np.testing.assert_array_equal(found[1], LANE + 5)
    assert not found[[0, 2, 3]].any()


def warp_is(build: Builder, number: int) -> int:
    """A predicate: this is warp `number`."""
    distance, found = build.register(), build.predicate()
    build.emit("xor_b32", d=distance, a=build.special("%warpid"), b=build.constant(number))
    build.emit("testp_notanumber_f32", d=found, a=nan_if_positive(build, distance))
    build.emit("not_pred", d=found, a=found, x=[0])
    return found


def writing(out: Allocation) -> Program:
    build = Builder()
    address = thread_address(build, out)
    value = build.register()
    build.emit("add_u32", d=value, a=build.special("%ctaid.x"), b=build.constant(1))
    build.store("global", address, [value])
    return build.build()


def test_same_result_and_counters_with_any_threads(machine: Machine, out: Allocation) -> None:
    program = writing(out)
    reports = []
    for threads in (1, 2, 5):
        out.view()[:] = 0
        report = run(machine, program, 37, 96, threads=threads)
        np.testing.assert_array_equal(results(out, 37 * 96), np.repeat(np.arange(37) + 1, 96))
        reports.append((report.counters.tobytes(), report.instructions, report.blocks_run))
    assert len(set(reports)) == 1


def test_chosen_blocks_alone(machine: Machine, out: Allocation) -> None:
    out.view()[:] = 0
    report = run(machine, writing(out), 10, 32, blocks=[7, 2])
    assert (report.blocks, report.blocks_run, report.sectors_written) == (10, 2, 8)
    assert set(np.flatnonzero(results(out, 320)) // 32) == {2, 7}
    assert out.states is not None
    assert set(np.flatnonzero(out.states) // 128) == {2, 7}


def test_what_rests_on_blocks_that_did_not_run_is_unsound(machine: Machine, out: Allocation) -> None:
    """The second launch reads what the first wrote, one block further; block 4's neighbour did not run."""
    out.undefine()
    second = machine.memory.allocate("second", 4096, "output")
    run(machine, writing(out), 8, 32, blocks=[4, 3])
    build = Builder()
    there, value = thread_address(build, second), build.register()
    here = build.register(8)
    build.emit("add_u64", d=here, a=there, b=build.constant((out.address - second.address + 128) % 2**64, np.uint64))
    build.load("global", here, [value])
    build.store("global", there, [value])
    report = run(machine, build.build(), 8, 32, blocks=[4, 3])
    assert report.unsound_blocks == 1
    assert [int(second.states[128 * block]) for block in (3, 4, 5)] == [1, 2, 0]
    machine.memory.free(second)


def counting_for_ever() -> Builder:
    build = Builder()
    count = build.register()
    build.emit("add_u32", d=count, a=count, b=build.constant(1))
    build.branch(0)
    return build


def test_endless_loop_ends(machine: Machine) -> None:
    started = time.monotonic()
    report = machine.launch(counting_for_ever().build(), (1000,), (32,), [], budget=100_000)
    assert [fault.kind for fault in report.faults] == ["endless"]
    assert (report.faults[0].block, report.ended) == (0, False)
    assert time.monotonic() - started < 5


def test_an_endless_loop_that_changes_nothing_ends_at_once(machine: Machine) -> None:
    build = Builder()
    build.branch(0)
    report = machine.launch(build.build(), (1000,), (32,), [])
    assert [fault.kind for fault in report.faults] == ["deadlock"]
    assert report.instructions < 10_000


def test_interrupt_ends_a_launch(machine: Machine) -> None:
    build = counting_for_ever()
    threading.Timer(0.3, _thread.interrupt_main).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        machine.launch(build.build(), (1,), (32,), [], budget=1 << 40)
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("started", [True, False])
def test_an_interrupt_within_the_start_of_a_launch_leaves_nothing_running(
    started: bool, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs after the exception would write into memory that is given back."""
    threads: list[threading.Thread] = []

    class Interrupted(threading.Thread):
        def start(self) -> None:
            threads.append(self)
            if started:
                super().start()
            raise KeyboardInterrupt

    build = counting_for_ever()
    monkeypatch.setattr(threading, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.launch(build.build(), (1,), (32,), [], budget=1 << 40)
    if started:
        threads[0].join(2)
        assert not threads[0].is_alive()


@pytest.mark.parametrize(
    ("grid", "block", "shared", "message"),
    [
        ((1,), (1025,), 0, "1025"),
        ((0,), (32,), 0, "grid"),
        ((1, 70000), (32,), 0, "70000"),
        ((1,), (32,), 1 << 20, "shared memory"),
    ],
)
def test_configurations_that_are_refused(
    machine: Machine, grid: tuple[int, ...], block: tuple[int, ...], shared: int, message: str
) -> None:
    with pytest.raises(DeviceError, match=message):
        machine.launch(Builder().build(), grid, block, [], shared)


def test_arguments_are_checked(machine: Machine) -> None:
    build = Builder()
    program = build.build(parameters=[4, 8])
    with pytest.raises(DeviceError, match="1 arguments for 2"):
        machine.launch(program, (1,), (32,), [np.int32(1)])
    with pytest.raises(DeviceError, match="takes 4 bytes"):
        machine.launch(program, (1,), (32,), [np.int64(1), 0])


def test_code_that_leaves_the_kernel_is_refused(machine: Machine) -> None:
    build = Builder()
    build.branch(12345)
    with pytest.raises(PtxError, match="jumps out of the kernel"):
        machine.launch(build.build(), (1,), (32,), [])


@pytest.mark.parametrize("block", [(256,), (128,), (2, 128)])
def test_a_required_block_is_compared_axis_by_axis(machine: Machine, block: tuple[int, ...]) -> None:
    """As on an H200, which refuses each of these with cudaErrorInvalidValue."""
    program = replace(Builder().build(), required_threads=(128, 2))
    machine.launch(program, (1,), (128, 2), [])
    with pytest.raises(DeviceError, match=r"expected exactly \(128, 2, 1\) threads per block, got \(\d+, \d+, 1\)"):
        machine.launch(program, (1,), block, [])
