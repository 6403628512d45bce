"""What the GPU's clock measures: both methods agree, caches are cold or warm, the host is not in it."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernelbench.build import BuildRequest, Compiler
from kernelbench.core.errors import DeviceError
from kernelbench.core.records import Case
from kernelbench.measure.binaries import LIMITS_SOURCE
from kernelbench.measure.case_run import Settings
from kernelbench.measure.floor_and_ceilings import measure_limits
from kernelbench.measure.timing import FIRST_HOLD_S, GRAPH_REPEATS, LONGEST_HOLD_S, EventTimer, FlushGraph, GraphTimer
from kernelbench.measure.tracks import Precision
from tests.build.binaries import only_built
from tests.gpu.conftest import Plans, RunCase

pytestmark = [pytest.mark.gpu, pytest.mark.timed, pytest.mark.nvcc]

# Two events add the time between the first and the kernel's start, and between its end and the second.
EVENTS_ADD_AT_MOST_S = 4e-6


def copying(device: Any, seconds: float) -> Case:
    """A case whose copy takes about so long: 85 % of the peak bandwidth."""
    columns = 1024
    rows = int(seconds * 0.85 * device.properties.peak_bytes_per_s / 8 / columns)
    return Case("softmax", (max(1, rows), columns), -1, "float32")


@pytest.fixture
def copy(device: Any, catalog: Any, plans: Plans) -> Callable[[float], Any]:
    """copy(seconds): an executable that copies for about so long."""
    kept = []

    def make(seconds: float) -> Any:
        case = copying(device, seconds)
        (plan,) = plans([case], ["copy"])
        (one,) = plan.planned
        specs = catalog.operations["softmax"].arrays(case)
        arrays = device.allocate(specs)
        device.fill(arrays, specs, 1)
        kept.append(arrays)
        return device.executable(one.implementation, case, one.plan, one.binary, arrays)

    return make


def median(timer: Any, samples: int = 50) -> float:
    timer.sample()
    return float(np.median([timer.sample() for _ in range(samples)]))


def test_the_clock_has_a_fine_step(device: Any) -> None:
    assert 1e-9 <= device.clock.resolution_s <= 1.1e-6


def test_events_and_graphs_agree_on_a_kernel_of_80_us(device: Any, copy: Callable[[float], Any]) -> None:
    executable = copy(80e-6)
    events = median(EventTimer(device.clock, [executable], "cold"))
    flushes = FlushGraph(device.clock)
    both = GraphTimer(device.clock, [executable])
    graph = (median(both) - median(flushes)) / GRAPH_REPEATS
    print(f"\nevents {events * 1e6:.2f} us, graph {graph * 1e6:.2f} us")
    assert 40e-6 < graph < 160e-6
    assert -0.01 * events <= events - graph <= EVENTS_ADD_AT_MOST_S


def test_what_fits_the_l2_is_quicker_warm_than_cold(device: Any, copy: Callable[[float], Any]) -> None:
    executable = copy(device.properties.l2_bytes / 8 / device.properties.peak_bytes_per_s)
    cold = median(EventTimer(device.clock, [executable], "cold"))
    warm = median(EventTimer(device.clock, [executable], "warm"))
    print(f"\ncold {cold * 1e6:.2f} us, warm {warm * 1e6:.2f} us")
    assert warm < 0.9 * cold


@pytest.mark.parametrize("delay_s", [300e-6, 5e-3])
def test_a_slow_host_is_hidden(device: Any, copy: Callable[[float], Any], delay_s: float) -> None:
    executable = copy(80e-6)

    def slow() -> None:
        time.sleep(delay_s)
        executable()

    timer = EventTimer(device.clock, [slow], "cold")
    plain, delayed = median(EventTimer(device.clock, [executable], "cold")), median(timer, 15)
    assert timer.lead_s >= delay_s > FIRST_HOLD_S
    assert delayed == pytest.approx(plain, rel=0.02)


def test_a_host_that_cannot_be_hidden_is_refused(device: Any, copy: Callable[[float], Any]) -> None:
    executable = copy(80e-6)

    def slow() -> None:
        time.sleep(1.2 * LONGEST_HOLD_S)
        executable()

    with pytest.raises(DeviceError, match="longer than 50 ms"):
        EventTimer(device.clock, [slow], "cold").sample()


def test_a_flush_lasts_as_long_as_it_is_asked_to(device: Any) -> None:
    for seconds in (60e-6, 1e-3, 10e-3):
        device.clock.flush(seconds)
        start = device.clock.record()
        device.clock.flush(seconds)
        stop = device.clock.record()
        device.clock.wait()
        lasted = device.clock.elapsed(start, stop)
        assert 0.9 * seconds < lasted < 1.3 * seconds + 100e-6


def test_floor_and_ceiling_are_those_of_a_gpu(device: Any, compiler: Compiler) -> None:
    limits = measure_limits(
        device, only_built(BuildRequest(LIMITS_SOURCE, (), device.properties.architecture), compiler)
    )
    print(f"\n{limits}")
    assert 0.1e-6 < limits.graph_floor_s < limits.floor_s < 20e-6
    assert 0.5 < limits.dram_bytes_per_s / device.properties.peak_bytes_per_s < 1.0
    assert limits.l2_bytes_per_s is not None
    assert 1.1 < limits.l2_bytes_per_s / limits.dram_bytes_per_s < 10


def test_a_case_of_short_kernels_is_measured_by_both_methods_and_verified_again(
    plans: Plans, run_case: RunCase
) -> None:
    (plan,) = plans([Case("softmax", (32, 16, 32, 32), -1, "float32")], ["oneflow", "ft", "five_kernels", "copy"])
    results = run_case(plan, Settings(seed=11, precision=Precision(seconds_per_case=0.5)))
    for name, result in results.items():
        assert result.status == "ok", f"{name}: {result.reason}"
        assert result.check.seed == 12, "the inputs that were timed"
        kinds = {(one.cache, one.method): one for one in result.measurements}
        assert set(kinds) == {("cold", "events"), ("warm", "events"), ("cold", "graph")}, result.reason
        events, graph = kinds["cold", "events"].median_s, kinds["cold", "graph"].median_s
        launches = len(result.plan.launches) if result.plan else 0
        assert -0.5e-6 < events - graph < EVENTS_ADD_AT_MOST_S + 1e-6 * launches, f"{name}: {events} {graph}"
        assert all(len(one.samples_s) > 20 for one in result.measurements)
    fastest = min(results, key=lambda name: results[name].measurements[0].median_s)
    assert fastest != "five_kernels"
