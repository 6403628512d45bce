"""Samples of grids that are too small for their output: run whole, or refused if that is too much work."""

import numpy as np
import pytest

from kernelbench.core.records import Binary, Launch, LaunchPlan, Result, Scalar
from kernelbench.devices import sample_reach
from kernelbench.devices.sample_reach import LaunchWrites, Shortfall, bytes_written, last_shortfall, shortfall
from kernelbench.simt.device_memory import DeviceMemory
from kernelbench.simt.interface import ByteState
from tests.devices.test_simulated import BLOCK, compiled, run_plan

SOURCE = """
extern "C" __global__ void from(const float* x, float* y, long long n, long long first) {
    long long i = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
extern "C" __global__ void __cluster_dims__(8, 1, 1) clustered(const float* x, float* y, long long n, long long first) {
    long long i = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
extern "C" __global__ void half(const float* x, float* y, long long n, long long first) {
    long long i = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
extern "C" __global__ void even(const float* x, float* y, long long n, long long first) {
    long long i = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n && i % 2 == 0) y[i] = 2.0f * x[i];
}
extern "C" __global__ void follows(const float* x, float* y, unsigned* ticket, long long n, int lead) {
    __shared__ unsigned mine;
    if (threadIdx.x == 0) mine = atomicAdd(ticket, 1);
    __syncthreads();
    long long i = (mine - (long long)lead) * blockDim.x + threadIdx.x;
    if (0 <= i && i < n) y[i] = 2.0f * x[i];
}
extern "C" __global__ void clear(unsigned* ticket) { *ticket = 0; }
"""
SHAPE = (2**16, 64)
ELEMENTS = 2**22
HALF = "the blocks that were run wrote "


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Binary:
    return compiled(SOURCE, tmp_path_factory.mktemp("reach"))


def launch_of(entry: str, elements: int, first: int = 0) -> Launch:
    """Blocks for so many elements from the first on."""
    arguments = ("x", "y", Scalar("int64", ELEMENTS), Scalar("int64", first))
    return Launch(entry, (elements // BLOCK, 1, 1), (BLOCK, 1, 1), arguments)


@pytest.mark.nvcc
@pytest.mark.parametrize("launch", [launch_of("from", ELEMENTS // 2), launch_of("even", ELEMENTS)])
def test_a_grid_that_leaves_half_of_the_output_is_run_whole_and_wrong(binary: Binary, launch: Launch) -> None:
    result = run_plan(binary, SHAPE, LaunchPlan((launch,)))
    assert result.status == "wrong", result.reason
    assert f"{ELEMENTS // 2} of {ELEMENTS} elements wrong" in result.reason
    assert "is the grid large enough?" in result.reason


@pytest.mark.nvcc
def test_a_sample_of_clusters_runs_each_once_and_reaches_its_share(
    binary: Binary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelbench.devices.sampled_plan.WORK", 20_000)
    result = run_plan(binary, SHAPE, LaunchPlan((launch_of("clustered", ELEMENTS),)))
    assert result.status == "ok"
    (launch,) = result.counters
    assert launch.blocks_run % 8 == 0
    assert launch.counters.written_once_bytes == 4 * ELEMENTS, "scaled up: no block is counted twice"
    assert "sampled " in result.reason


@pytest.mark.nvcc
def test_launches_that_write_a_part_each_are_run_whole_if_possible(
    binary: Binary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a sample, only what the last one wrote would be verified."""
    quarters = [launch_of("from", ELEMENTS // 4, at * ELEMENTS // 4) for at in range(4)]
    result = run_plan(binary, SHAPE, LaunchPlan(tuple(quarters)))
    assert (result.status, result.check.elements) == ("ok", ELEMENTS), result.reason
    monkeypatch.setattr(sample_reach, "MOST_WORK", 1000)
    result = run_plan(binary, SHAPE, LaunchPlan(tuple(quarters)))
    assert (result.status, "sampled " in result.reason) == ("ok", True), result.reason
    result = run_plan(binary, SHAPE, LaunchPlan(tuple(quarters[:2])))
    assert result.status == "failed"
    assert "is the grid large enough?" in result.reason


@pytest.mark.nvcc
def test_a_last_launch_that_completes_half_of_the_output_is_run_whole_and_wrong(binary: Binary) -> None:
    launches = (launch_of("half", ELEMENTS), launch_of("from", ELEMENTS // 2))
    result = run_plan(binary, SHAPE, LaunchPlan(launches))
    assert result.status == "wrong"
    assert f"{ELEMENTS // 2} of {ELEMENTS} elements wrong" in result.reason


@pytest.mark.nvcc
def test_blocks_in_order_that_stop_half_way_are_run_whole(binary: Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelbench.devices.sampled_plan.WORK", 100_000)
    for share, status in ((1, "ok"), (2, "wrong")):
        result = run_in_order(binary, ELEMENTS // BLOCK // share, lead=0)
        assert result.status == status, result.reason
        assert ("sampled " in result.reason) == (status == "ok")


@pytest.mark.nvcc
def test_the_first_blocks_in_order_may_write_nothing(binary: Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where they only sum up. The first 200 of the 500 or so blocks in the sample write nothing."""
    monkeypatch.setattr("kernelbench.devices.sampled_plan.WORK", 100_000)
    result = run_in_order(binary, ELEMENTS // BLOCK + 200, lead=200)
    assert result.status == "ok"
    assert "sampled " in result.reason


def run_in_order(binary: Binary, blocks: int, lead: int) -> Result:
    clear = Launch("clear", (1, 1, 1), (1, 1, 1), ("ticket",))
    numbers = (Scalar("int64", ELEMENTS), Scalar("int32", lead))
    follows = Launch("follows", (blocks, 1, 1), (BLOCK, 1, 1), ("x", "y", "ticket", *numbers))
    return run_plan(binary, SHAPE, LaunchPlan((clear, follows), scratch=(("ticket", 4),)))


@pytest.mark.nvcc
def test_a_sample_that_is_merely_unlike_the_rest_costs_time_and_is_right(
    binary: Binary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_reach, "LEAST_REACH", 2.0)
    result = run_plan(binary, SHAPE, LaunchPlan((launch_of("from", ELEMENTS),)))
    assert (result.status, result.check.elements) == ("ok", ELEMENTS)
    assert f"run whole, because {HALF}" in result.reason


@pytest.mark.nvcc
@pytest.mark.parametrize(("limit", "value"), [("MOST_WORK", 1000), ("ROOM", 0.0)])
def test_a_whole_run_that_would_be_too_much_is_refused(
    binary: Binary, monkeypatch: pytest.MonkeyPatch, limit: str, value: float
) -> None:
    monkeypatch.setattr(sample_reach, limit, value)
    result = run_plan(binary, SHAPE, LaunchPlan((launch_of("from", ELEMENTS // 2),)))
    assert result.status == "failed"
    assert result.reason.startswith(f"{HALF}4.19 MB of the 8.39 MB of y that so many blocks should write; is the grid")
    assert result.reason.endswith("is the grid large enough? --full runs all")


def test_each_output_is_judged_by_the_launches_that_wrote_it() -> None:
    parts = [LaunchWrites({"y": 25}, 0.5), LaunchWrites({"y": 10, "z": 40}, 0.5)]
    assert shortfall(parts, {"y": 70, "z": 80, "none": 0}) is None
    assert shortfall(parts, {"z": 80, "y": 100}) == Shortfall("y", 35, 50)
    assert last_shortfall(parts, {"z": 80, "y": 70}) == Shortfall("y", 10, 35)
    assert last_shortfall(parts, {"z": 80, "y": 26}) is None
    assert last_shortfall(parts, {"w": 8}) == Shortfall("w", 0, 8)
    assert shortfall(parts, {"w": 8}) == Shortfall("w", 0, 8)


def test_bytes_that_no_thread_wrote_do_not_count_where_they_are_tracked() -> None:
    allocation = DeviceMemory().allocate("y", 96, "output")
    sectors = np.array([0, 2])
    assert bytes_written(allocation, sectors) == 64
    allocation.track()
    allocation.states[:4] = ByteState.SOUND
    allocation.states[64:72] = ByteState.UNSOUND
    assert bytes_written(allocation, sectors) == 12
