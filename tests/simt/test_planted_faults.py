"""Every kind of mistake, planted in a kernel, is found at its line, lane and address; correct kernels raise none."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from kernelbench.build import BuildRequest
from kernelbench.core import places
from kernelbench.core.records import Launch, Scalar
from kernelbench.simt.machine import LaunchReport
from tests.build.binaries import all_built, only_built
from tests.simt.hardware.simulate import Simulation
from tests.simt.hardware.trials import Trial, empty, floats, trials, zeros
from tests.simt.planted_runs import marked_lines

pytestmark = pytest.mark.nvcc

SOURCE = Path(__file__).parent / "planted" / "faults.cu"
SHARED, LOCAL = 0x50 << 56, 0x60 << 56
BUDGET = 100_000


@pytest.fixture(scope="session")
def planted() -> str:
    return only_built(BuildRequest(SOURCE, (), "sm_90")).ptx_path.read_text()


@dataclass(frozen=True)
class Planted:
    """`address`: an array and the bytes from its start, `shared` or `local` and an offset, `named` and the lanes that
    a shuffle names, or "" for none. Of a race the later access is reported: warps run in turn, the last one that
    came to a barrier first."""

    entry: str
    kind: str
    warp: int
    lane: int
    address: tuple[str, int] | str = ""
    n: int = 64  # as the kernel is told
    elements: int = 64  # of x and y
    threads: int = 64
    blocks: int = 1
    block: int = 0  # that shows it first
    count: int = 1  # lanes that do it
    always: bool = False  # without strict, too


FAULTS = (
    Planted("reads_past_the_end", "out_of_bounds_read", 3, 4, ("x", 400), n=100, elements=100, threads=128,
            always=True),
    Planted("reads_past_the_end", "out_of_bounds_read", 1, 4, ("x", 400), n=100, elements=100, blocks=2, block=1,
            always=True),
    Planted("reads_before_the_start", "out_of_bounds_read", 0, 0, ("x", -4), always=True),
    Planted("writes_past_the_end", "out_of_bounds_write", 1, 31, ("y", 256), always=True),
    Planted("reads_far_away", "out_of_bounds_read", 0, 0, ("x", 1 << 42), count=64, always=True),
    Planted("adds_past_the_end", "out_of_bounds_write", 1, 7, ("y", 4000), always=True),
    Planted("misaligned_load", "misaligned", 0, 1, ("x", 4), count=31, threads=63, always=True),
    Planted("misaligned_store", "misaligned", 0, 0, ("y", 4), count=15, threads=15, always=True),
    Planted("shared_past_the_end", "out_of_bounds_read", 1, 31, ("shared", 256), n=1, always=True),
    Planted("adds_to_nothing", "uninitialised_global", 0, 0, ("y", 0), count=64),
    Planted("tail_of_the_tile", "uninitialised_shared", 0, 0, ("shared", 252), n=48, count=16),
    Planted("local_never_written", "uninitialised_local", 0, 0, ("local", 16), n=5, threads=16, count=16),
    Planted("reads_what_another_writes", "shared_race", 0, 0, ("shared", 0), count=32),
    Planted("writes_what_another_reads", "shared_race", 0, 0, ("shared", 128), count=32),
    Planted("both_write", "shared_race", 1, 0, ("shared", 0), count=32),
    Planted("lanes_without_a_meeting", "warp_race", 0, 0, ("shared", 124), threads=32, count=32),
    Planted("lanes_after_a_barrier", "warp_race", 1, 0, ("shared", 132), count=64),
    Planted("barrier_in_a_branch", "divergent_barrier", 1, 0, n=48, elements=128, always=True),
    Planted("shuffle_in_a_branch", "inactive_lane", 0, 0, ("named", 0xFFFFFFFF), n=16, threads=32, count=16,
            always=True),
    Planted("waits_for_nobody", "deadlock", 0, 0, always=True),
    Planted("never_ends", "deadlock", 0, 0, threads=32, always=True),
    Planted("asserts", "assertion", 1, 3, always=True),
    Planted("traps", "trapped", 1, 3, always=True),
)  # fmt: skip


def launched(one: Planted, ptx: str, strict: bool) -> tuple[Simulation, LaunchReport]:
    x = np.abs(floats(one.elements))
    if one.entry in ("asserts", "traps"):
        x[35] = -1
    if one.entry == "adds_past_the_end":
        x = np.arange(one.elements, dtype=np.int32)
        x[39] = 1000
    y = zeros(one.elements) if x.dtype.kind == "i" else empty(one.elements)
    launch = Launch(one.entry, (one.blocks, 1, 1), (one.threads, 1, 1), ("x", "y", Scalar("int32", one.n)))
    simulation = Simulation(Trial(one.entry, SOURCE, (launch,), {"x": x, "y": y}, ("y",)), ptx)
    return simulation, simulation.launch(launch, strict=strict, budget=BUDGET)


def place(simulation: Simulation, address: tuple[str, int] | str) -> int:
    if isinstance(address, str):
        return 0
    name, offset = address
    windows = {"shared": SHARED, "local": LOCAL, "named": 0}
    return offset + (windows[name] if name in windows else simulation.address(name))


@pytest.mark.parametrize("one", FAULTS, ids=lambda one: f"{one.entry}-{one.blocks}")
def test_a_fault_is_found_where_it_is(one: Planted, planted: str) -> None:
    simulation, report = launched(one, planted, strict=True)
    assert len(report.faults) == 1, [str(fault) for fault in report.faults]
    (found,) = report.faults
    assert Path(found.instruction.source.file).name == "faults.cu"
    said = found.kind, found.instruction.source.line, found.block, found.warp, found.lane, found.address, found.count
    line, address = marked_lines(SOURCE, one.entry)[0], place(simulation, one.address)
    assert said == (one.kind, line, one.block, one.warp, one.lane, address, one.count), str(found)
    assert str(found).startswith(f"faults.cu:{line}: ")
    assert f"block {one.block} warp {one.warp} lane {one.lane}" in str(found)


@pytest.mark.parametrize("one", FAULTS, ids=lambda one: f"{one.entry}-{one.blocks}")
def test_what_costs_time_is_looked_for_in_strict_launches_only(one: Planted, planted: str) -> None:
    _, report = launched(one, planted, strict=False)
    assert [fault.kind for fault in report.faults] == ([one.kind] if one.always else [])


def test_a_missing_barrier_in_a_loop_is_found(planted: str) -> None:
    one = Planted("tree_without_a_barrier", "shared_race", 0, 0, n=128, elements=128, threads=128)
    _, report = launched(one, planted, strict=True)
    kinds = {(fault.kind, fault.instruction.source.line if fault.instruction.source else 0) for fault in report.faults}
    (line,) = marked_lines(SOURCE, one.entry)
    assert ("shared_race", line) in kinds
    assert kinds <= {("shared_race", line), ("warp_race", line)}


@pytest.mark.parametrize("strict", [False, True])
def test_what_comes_after_a_fault_goes_on(planted: str, strict: bool) -> None:
    """The array is right wherever the mistake is not."""
    one = Planted("reads_past_the_end", "out_of_bounds_read", 3, 4, n=100, elements=100, threads=128)
    simulation, _ = launched(one, planted, strict)
    np.testing.assert_array_equal(simulation.array("y"), simulation.array("x"))


def test_the_sentences(planted: str) -> None:
    said = {}
    for one in FAULTS:
        _, report = launched(one, planted, strict=True)
        said[one.entry] = str(report.faults[0]).partition(": ")[2]
    assert said["reads_before_the_start"].startswith("read of 4 bytes outside every array: 0x")
    assert said["reads_before_the_start"].endswith("is 4 bytes before x; block 0 warp 0 lane 0")
    assert "is right after the end of y; block 0 warp 1 lane 31" in said["writes_past_the_end"]
    assert "atomic update of 4 bytes outside every array" in said["adds_past_the_end"]
    assert "write of 16 bytes at an address that is not a multiple of 16" in said["misaligned_store"]
    assert "byte 252 of 256 of shared memory; block 0 warp 0 lane 0; 16 times" in said["tail_of_the_tile"]


GROUPS: dict[str, Callable[[Trial], bool]] = {
    "the project's": lambda one: one.source.parent == places.KERNELS / "softmax",
    "those of the tests": lambda one: one.source.parent != places.KERNELS / "softmax",
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("group", [pytest.param("the project's", marks=pytest.mark.exhaustive), "those of the tests"])
def test_correct_kernels_raise_no_fault(group: str) -> None:
    chosen = [one for one in trials() if GROUPS[group](one)]
    assert len(chosen) > 100
    binaries = all_built({one.request for one in chosen})
    for one in chosen:
        simulation = Simulation(one, binaries[one.request].ptx_path.read_text())
        faults = [str(fault) for launch in one.launches for fault in simulation.launch(launch, strict=True).faults]
        assert faults == [], one.name
