"""The simulator as a device, on kernels compiled for the purpose: whole and sampled runs, faults, endless kernels,
arrays larger than memory. Small: a few blocks each, but for one grid that must be sampled."""

import _thread
import re
import resource
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbench.build import BuildRequest, machine_lines
from kernelbench.core.counters import GROUPED, total_counters
from kernelbench.core.errors import DeviceError, MissingLibrary
from kernelbench.core.progress import QUIET
from kernelbench.core.records import (
    Binary,
    Case,
    Implementation,
    Launch,
    LaunchPlan,
    Operation,
    Origin,
    Result,
    Scalar,
    Tolerance,
    x_to_y,
)
from kernelbench.core.stopwatch import Stopwatch
from kernelbench.devices import sampled_plan
from kernelbench.devices.known import known_gpu
from kernelbench.devices.simulated import SimulatedDevice
from kernelbench.measure.bench import InProcessBench, run_cases
from kernelbench.measure.case_run import CaseRun, Settings
from kernelbench.measure.tracks import Precision
from kernelbench.planning.case_plans import CasePlan, Planned
from kernelbench.planning.catalog import Catalog
from tests.build.binaries import only_built
from tests.catalog import catalog

pytestmark = pytest.mark.nvcc

SOURCE = Path(__file__).with_name("kernels.cu").read_text()
BLOCK = 256
TWICE = Operation(
    "twice", "",
    lambda case: x_to_y(case, split=case.shape[0]),
    lambda xp, case, inputs: {"y": 2.0 * inputs["x"]}, lambda case: 8 * case.elements, lambda case: case.elements,
    lambda case: Tolerance(0.0, 0.0),
)  # fmt: skip


def compiled(source: str, folder: Path) -> Binary:
    """The binary of this source; without a compiler the test is skipped."""
    (folder / "k.cu").write_text(source)
    return only_built(BuildRequest(folder / "k.cu", (), "sm_90"), folder=folder / "cache")


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Binary:
    return compiled(SOURCE, tmp_path_factory.mktemp("kernels"))


def plan_of(case: Case, *entries: str) -> LaunchPlan:
    """One launch an entry; between several, `t` holds what one leaves to the next."""
    grid = (-(-case.elements // BLOCK), 1, 1)
    size = Scalar("int64", case.elements)
    arrays = {"adds": ("y", "t"), "reversed": ("t", "y"), "halves": ("x", "t")}
    launches = [Launch(entry, grid, (BLOCK, 1, 1), (*arrays.get(entry, ("x", "y")), size)) for entry in entries]
    return LaunchPlan(tuple(launches), scratch=(("t", 4 * case.elements),) if len(entries) > 1 else ())


def run(binary: Binary, shape: tuple[int, ...], *entries: str, full: bool = False, strict: bool = False) -> Result:
    plan = plan_of(Case("twice", shape, -1, "float32"), *entries)
    return run_plan(binary, shape, plan, full=full, strict=strict)


def run_plan(
    binary: Binary, shape: tuple[int, ...], plan: LaunchPlan, full: bool = False, strict: bool = False
) -> Result:
    device = SimulatedDevice("h200")
    device.full, device.strict = full, strict
    case = Case("twice", shape, -1, "float32")
    implementation = Implementation("one", "", Origin("test"), plan=lambda case, gpu: plan)
    case_plan = CasePlan(case, (Planned(implementation, plan, binary),), ("x",))
    (result,) = CaseRun(device, TWICE, case_plan).run(Settings(7, precision=Precision()))
    return result


def test_a_whole_run_verifies_every_element_and_counts_exactly(binary: Binary) -> None:
    result = run(binary, (37, 101), "twice")
    assert (result.status, result.reason) == ("ok", "not timed: simulated")
    assert result.check.elements == 37 * 101
    (launch,) = result.counters
    assert (launch.blocks, launch.blocks_run) == (15, 15)
    assert launch.counters.global_load_requests == launch.counters.global_store_requests == -(-37 * 101 // 32)
    assert launch.counters.read_once_bytes == launch.counters.written_once_bytes == 32 * -(-37 * 101 // 8)


@pytest.mark.parametrize(
    ("block", "facts", "dynamic", "said"),
    [
        (1024, {"registers": 64}, 0, ""),
        (1024, {"registers": 127}, 0, "127 registers x 1,024 threads take 131,072 registers, over the 65,536"),
        (256, {"shared_bytes": 48 * 1024}, 179 * 1024, ""),
        (256, {"shared_bytes": 48 * 1024}, 180 * 1024, "233,472 bytes of shared memory, static and dynamic, are over"),
    ],
)  # fmt: skip
def test_a_launch_that_a_gpu_refuses_for_want_of_resources_is_refused(
    binary: Binary, block: int, facts: dict[str, int], dynamic: int, said: str
) -> None:
    """Its own needs are small: what ptxas reports stands for them."""
    needy = replace(binary, facts={"twice": replace(binary.facts["twice"], **facts)})
    size = Scalar("int64", 1024)
    launch = Launch("twice", (4, 1, 1), (block, 1, 1), ("x", "y", size), shared_bytes=dynamic)
    result = run_plan(needy, (1024,), LaunchPlan((launch,)))
    assert result.status == ("failed" if said else "ok"), result.reason
    if said:
        assert result.reason.startswith(f"twice: too many resources requested for launch: {said}")


def test_a_large_grid_is_sampled_and_counts_are_those_of_the_whole(binary: Binary) -> None:
    shape = (2**16, 64)
    sampled, whole = run(binary, shape, "twice"), run(binary, shape, "twice", full=True)
    assert sampled.status == whole.status == "ok"
    (part,), (all_,) = sampled.counters, whole.counters
    assert (part.blocks_run, all_.blocks_run) == (8190, 16384)
    assert sampled.reason == "not timed: simulated; sampled 8190 of 16384 blocks"
    assert (sampled.check.elements, whole.check.elements) == (8190 * BLOCK, 2**22)
    assert part.counters == all_.counters
    assert part.may_be_off == {}, "all blocks are alike"


def test_a_sample_of_blocks_that_differ_says_how_far_it_may_be_off(binary: Binary) -> None:
    elements, blocks = 15 * 4096 * BLOCK + 1300 * BLOCK, 4096  # 15 or 16 times round
    launch = Launch("looped", (blocks, 1, 1), (BLOCK, 1, 1), ("x", "y", Scalar("int64", elements)))
    counted = {}
    for full in (False, True):
        (counted[full],) = run_plan(binary, (elements,), LaunchPlan((launch,)), full=full).counters
    sampled, whole = counted[False], counted[True]
    assert sampled.blocks_run < whole.blocks_run
    assert whole.may_be_off == {}
    once, between = BLOCK // 32, blocks / 7  # requests of a block once round; blocks between two places of the sample
    for name in ("global_load_requests", "global_store_requests"):
        assert sampled.may_be_off[name] == once * between / 2
        assert 0 < abs(getattr(sampled.counters, name) - getattr(whole.counters, name)) < sampled.may_be_off[name]
    assert "global_load_ideal_sectors" in sampled.may_be_off
    assert "barriers" not in sampled.may_be_off


def together(elements: int, cooperative: bool = True) -> LaunchPlan:
    """Every block reads what another one wrote, once all have come."""
    grid, size = (-(-elements // BLOCK), 1, 1), Scalar("int64", elements)
    arguments = ("x", "y", "t", "come", size)
    launches = (
        Launch("clear", (1, 1, 1), (1, 1, 1), ("come",)),
        Launch("together", grid, (BLOCK, 1, 1), arguments, cooperative=cooperative),
    )
    return LaunchPlan(launches, scratch=(("t", 4 * elements), ("come", 4)))


def test_all_blocks_of_a_cooperative_launch_run_at_once(binary: Binary) -> None:
    result = run_plan(binary, (300, 256), together(300 * 256))
    assert (result.status, result.reason) == ("ok", "not timed: simulated")
    assert result.check.elements == 300 * 256
    assert [(one.blocks, one.blocks_run) for one in result.counters] == [(1, 1), (300, 300)]


def test_blocks_that_wait_without_a_cooperative_launch_are_a_deadlock(binary: Binary) -> None:
    result = run_plan(binary, (300, 256), together(300 * 256, cooperative=False))
    assert result.status == "failed"
    assert "deadlock: all remaining warps wait or loop, and nothing changes; block 0 warp 0 lane 0" in result.reason


def test_a_cooperative_launch_of_more_blocks_than_the_gpu_holds_is_refused(binary: Binary) -> None:
    result = run_plan(binary, (2000, 256), together(2000 * 256))
    assert result.status == "failed"
    assert "together: its 2000 blocks wait for each other, and the GPU holds 1056 of them at once" in result.reason


@pytest.mark.parametrize(
    "entries", [("halves", "reversed"), pytest.param(("twice", "halves", "adds"), marks=pytest.mark.exhaustive)]
)
def test_later_launches_find_what_earlier_ones_left(binary: Binary, entries: tuple[str, ...]) -> None:
    """`reversed` reads from the other end of the grid, which the same shares of it cover as well."""
    result = run(binary, (2**16, 64), *entries)
    assert result.check is not None or "adds" in entries
    if entries[-1] == "reversed":
        assert result.status == "wrong", "2 x backwards is not 2 x"
        assert 2**19 < result.check.elements < 2**21
        return
    # y = 2x + x/2: what the last launch did not reach still holds 2x, which is right but not the plan's result.
    assert result.status == "wrong"
    assert result.check.mismatches == result.check.elements > 2**19


def test_a_last_block_that_reads_what_did_not_run_is_not_verified(
    binary: Binary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`gathers` is a single block, and run whole; what it reads of `t` was never written."""
    monkeypatch.setattr(sampled_plan, "WHOLE_WORK", 0)
    case = Case("twice", (2**14, 256), -1, "float32")
    first = plan_of(case, "halves", "twice").launches[0]
    last = Launch("gathers", (1, 1, 1), (BLOCK, 1, 1), ("t", "y", Scalar("int64", case.elements)))
    result = run_plan(binary, case.shape, LaunchPlan((first, last), scratch=(("t", 4 * case.elements),)))
    assert [one.blocks_run == one.blocks for one in result.counters] == [False, True]
    assert (result.status, result.check) == ("ok", None)


@pytest.mark.parametrize(("rows", "whole"), [(2**18, False), (2**16, True)])
def test_a_sum_over_all_blocks_is_run_whole_where_that_is_not_too_much(
    binary: Binary, monkeypatch: pytest.MonkeyPatch, rows: int, whole: bool
) -> None:
    """In a sample it would lack what the other blocks add."""
    monkeypatch.setattr(sampled_plan, "WORK", 400_000)
    monkeypatch.setattr(sampled_plan, "WHOLE_WORK", 4_000_000)
    result = run(binary, (rows, 64), "count")
    (launch,) = result.counters or (None,)
    if whole:
        assert result.status == "wrong", "the counts of signs are not twice x: all of it was compared"
        assert result.check.elements == rows * 64
        return
    assert launch.blocks_run < launch.blocks
    assert (result.status, result.check) == ("ok", None)
    assert "nothing verified" in result.reason


def test_an_access_outside_of_every_array_is_a_failed_row_with_its_place(binary: Binary) -> None:
    result = run(binary, (10, 10), "too_far")
    assert result.status == "failed"
    assert result.reason.startswith("k.cu:7: ")
    assert "right after the end of x; block 0 warp 3 lane 4" in result.reason
    assert result.counters == ()


def test_an_element_that_is_never_written_is_wrong(binary: Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    for small in (2**26, 16):  # poisoned at once, and afterwards
        monkeypatch.setattr(sampled_plan, "SMALL_BYTES", small)
        monkeypatch.setattr("kernelbench.devices.simulated.SMALL_BYTES", small)
        result = run(binary, (10, 10), "misses_one")
        assert result.status == "wrong"
        assert "1 of 100 elements wrong, first y[0, 5]: got" in result.reason


def test_an_endless_kernel_ends_by_its_budget(binary: Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_plan, "BUDGET", 10_000)
    result = run(binary, (10, 10), "endless")
    assert result.status == "failed"
    assert "the block does not end: its budget of instructions is used up" in result.reason


def test_an_interrupt_ends_all_groups_of_a_sample(binary: Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """They run in other threads, and the run ends once the last of them has."""
    monkeypatch.setattr(sampled_plan, "BUDGET", 1 << 40)
    started, run_each = [], sampled_plan._StepRun.each

    def each(self: Any, parts: Any) -> list[int]:
        started.append(time.monotonic())
        threading.Timer(0.5, _thread.interrupt_main).start()
        return run_each(self, parts)

    monkeypatch.setattr(sampled_plan._StepRun, "each", each)
    with pytest.raises(KeyboardInterrupt):
        run(binary, (1000, 1000), "takes_hours")
    assert time.monotonic() - started[0] < 4


def cases_of(binary: Binary, *entries: str) -> list[CasePlan]:
    """A case an entry, each of another shape."""
    plans = []
    for number, entry in enumerate(entries):
        case = Case("twice", (37 + number, 101), -1, "float32")
        plan = plan_of(case, entry)
        implementation = Implementation("one", "", Origin("test"), plan=lambda case, gpu, plan=plan: plan)
        plans.append(CasePlan(case, (Planned(implementation, plan, binary),), ("x",)))
    return plans


def run_all(device: Any, plans: list[CasePlan]) -> list[Result]:
    bench = InProcessBench(device, Catalog({"twice": TWICE}, {"twice": {}}))
    results: list[Result] = []
    run_cases(bench, plans, Settings(7), "Counting", QUIET, results.extend, Stopwatch())
    # Where arrays lie is the system's choice.
    return [replace(one, reason=re.sub("0x[0-9a-f]+", "0x..", one.reason)) for one in results]


def test_cases_side_by_side_find_what_they_find_in_turn(binary: Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = cases_of(binary, "twice", "too_far", "misses_one", "twice", "endless", "twice")
    threads, run_case = set(), CaseRun.run

    def seen(self: CaseRun, *arguments: Any) -> list[Result]:
        threads.add(threading.current_thread())
        return run_case(self, *arguments)

    monkeypatch.setattr(CaseRun, "run", seen)
    monkeypatch.setattr(sampled_plan, "BUDGET", 1 << 16)
    together = run_all(SimulatedDevice("h200"), plans)
    assert len(threads) == 2
    monkeypatch.setattr(SimulatedDevice, "beside", lambda self: None)
    assert run_all(SimulatedDevice("h200"), plans) == together
    assert len(threads) == 3
    assert [one.status for one in together] == ["ok", "failed", "wrong", "ok", "failed", "ok"]


def test_a_device_beside_has_the_same_programs_and_memory_of_its_own(binary: Binary) -> None:
    device = SimulatedDevice("h200")
    other = device.beside()
    assert other is not None
    assert other._programs.of(binary, "twice") is device._programs.of(binary, "twice")
    assert other._memory is not device._memory


@pytest.mark.parametrize("needs_all", ["full", "strict"])
def test_a_case_that_may_need_all_of_the_memory_has_it_to_itself(needs_all: str) -> None:
    device = SimulatedDevice("h200")
    setattr(device, needs_all, True)
    assert device.beside() is None


def test_a_kernel_all_of_whose_blocks_run_has_the_memory_to_itself(binary: Binary) -> None:
    plans = cases_of(binary, "twice", "twice")
    bench = InProcessBench(SimulatedDevice("h200"), Catalog({"twice": TWICE}, {"twice": {}}))
    assert len(bench.side_by_side(plans)) == 2
    assert not bench.side_by_side(plans[:1])
    (one,) = plans[1].planned
    assert one.plan is not None
    cooperative = tuple(replace(launch, cooperative=True) for launch in one.plan.launches)
    plans[1] = replace(plans[1], planned=(replace(one, plan=replace(one.plan, launches=cooperative)),))
    assert not bench.side_by_side(plans)


@pytest.mark.parametrize(("stride", "benches"), [(1, 2), (8, 2), (16, 0), (32, 0)])
def test_a_kernel_that_touches_all_pages_of_large_arrays_has_the_memory_to_itself(stride: int, benches: int) -> None:
    """16.8 million elements, 64 bytes apart, lie in 1 GB."""
    known = catalog()
    operation = known.operations["memory_access"]
    parameters = (("side", "load"), ("offset", 0), ("stride", stride))
    case = replace(Case("memory_access", (16777216,), -1, "float32"), parameters=parameters)
    bench = InProcessBench(SimulatedDevice("h200"), Catalog({"memory_access": operation}, {"memory_access": {}}))
    assert len(bench.side_by_side([CasePlan(case, ())] * 2)) == benches


def test_cases_with_python_of_the_users_run_in_the_main_thread(binary: Binary) -> None:
    catalog = Catalog({"twice": TWICE}, {"twice": {}}, own={"twice": ["one"]})
    bench = InProcessBench(SimulatedDevice("h200"), catalog)
    assert not bench.side_by_side(cases_of(binary, "twice", "twice"))


def test_an_interrupt_ends_cases_side_by_side(binary: Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_plan, "BUDGET", 1 << 40)
    began = time.monotonic()
    threading.Timer(1, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        run_all(SimulatedDevice("h200"), cases_of(binary, "takes_hours", "takes_hours", "takes_hours"))
    assert time.monotonic() - began < 6


def test_only_a_strict_run_sees_a_race_that_does_no_harm(binary: Binary) -> None:
    assert run(binary, (10, 100), "race").status == "ok"
    result = run(binary, (10, 100), "race", strict=True)
    assert result.status == "failed"
    line = 1 + next(number for number, line in enumerate(SOURCE.splitlines()) if "= i < n ? x[i]" in line)
    assert result.reason.startswith(f"k.cu:{line}: two warps access shared memory with no barrier between them")


def test_arrays_larger_than_memory_are_sampled_in_little_of_it(binary: Binary) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = run(binary, (2**23, 256), "twice")
    assert result.status == "ok"
    assert 2**20 < result.check.elements < 2**22
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 2**20, "kilobytes; x and y have 8 GB each"


def test_all_blocks_of_what_does_not_fit_the_memory_are_refused(binary: Binary) -> None:
    result = run(binary, (2**32, 2**10), "twice", full=True)
    assert result.status == "failed"
    assert "all of its blocks need 35.2 TB of memory" in result.reason or "addresses" in result.reason


def test_inputs_are_the_same_for_the_same_seed_and_made_where_they_are_read(binary: Binary) -> None:
    specs = TWICE.arrays(Case("twice", (4096, 64), -1, "float32"))
    device = SimulatedDevice("h200")
    device.prepare()
    arrays = device.allocate(specs)
    device.fill(arrays, specs, 5)
    whole = device.materialise(arrays["x"]).copy()
    device.fill(arrays, specs, 6)
    assert not np.array_equal(device.materialise(arrays["x"][:10]), whole[:10])
    device.fill(arrays, specs, 5)
    assert np.array_equal(device.materialise(arrays["x"][4000:]), whole[4000:])
    assert abs(float(whole.mean())) < 0.02
    assert float(whole.std()) == pytest.approx(1.0, abs=0.02)
    device.release()


def test_a_library_call_is_skipped_with_the_reason(binary: Binary) -> None:
    device: Any = SimulatedDevice("h200")
    call = Implementation("torch", "", Origin("test"), prepare=lambda case, arrays, stream: lambda: None)
    with pytest.raises(MissingLibrary, match="torch is a library call, without PTX that the simulator could run"):
        device.executable(call, Case("twice", (1,), -1, "float32"), None, None, {})


def test_the_clock_gives_no_times() -> None:
    device = SimulatedDevice("a100")
    device.clock.wait()
    with pytest.raises(DeviceError, match="no clock"):
        device.clock.record()
    assert device.properties is known_gpu("a100")
    own = device.environment()
    assert own["name"] == "simulated (A100 properties)"
    assert set(own["simulator"]) == {"version", "compiler", "threads"}


def test_counts_do_not_depend_on_the_number_of_threads(binary: Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(binary, (2**16, 64), "halves", "twice")
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0})
    again = run(binary, (2**16, 64), "halves", "twice")
    assert first.counters == again.counters
    assert total_counters(one.counters for one in first.counters).warp_instructions > 0


def test_a_missing_ptx_file_is_named(binary: Binary) -> None:
    lost = replace(binary, key="lost", ptx_path=Path("nowhere.ptx"))
    result = run(lost, (4, 4), "twice")
    assert (result.status, result.reason[:11]) == ("failed", "nowhere.ptx")


JOINED = """
extern "C" __global__ void twice(const float* x, float* y, long n) {
  __shared__ float s[256];
  const int first = blockIdx.x * 256, t = threadIdx.x;
  s[t] = x[first + t];
  __syncthreads();
  if (t < 64) {
#pragma unroll
    for (int k = 0; k < 4; ++k) y[first + 4 * t + k] = 2 * s[4 * t + k];
  }
}
"""


def test_accesses_that_ptxas_joins_count_as_joined_and_the_row_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = compiled(JOINED, tmp_path)
    if not machine_lines(joined.path):
        pytest.skip("there is no nvdisasm")
    result = run(joined, (8, 256), "twice")
    assert (result.status, result.reason) == ("ok", f"not timed: simulated; {GROUPED}")
    (launch,) = result.counters
    assert launch.grouping == GROUPED
    assert (launch.counters.shared_load_requests, launch.counters.shared_load_wavefronts) == (8 * 2, 8 * 2 * 4)
    monkeypatch.setattr("kernelbench.devices.programs.access_notes", lambda binary: {"twice": ""})
    result = run(joined, (8, 256), "twice")
    assert result.reason == "not timed: simulated"
    assert result.counters[0].counters.shared_load_requests == 8 * 2 * 4
