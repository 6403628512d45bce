"""Floor and ceilings: how they are measured, and the rows that no correct kernel can have."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelbench.core.records import Binary, Case, Limits, Measurement, Result
from kernelbench.core.units import time_text
from kernelbench.measure.case_run import CaseRun, Settings
from kernelbench.measure.floor_and_ceilings import PACKS, _graph_floor, measure_limits
from kernelbench.measure.timing import FlushGraph, GraphTimer
from kernelbench.measure.tracks import Contender
from kernelbench.planning.case_plans import CasePlan, Planned
from tests.catalog import catalog
from tests.fake_gpu import EVENT_S, FakeClock, FakeDevice, implementation

OPERATION = catalog().operations["softmax"]
LIMITS = Limits(3e-6, 1e-6, 4.3e12, "copy_4", l2_bytes_per_s=6e12)
LARGE = Case("softmax", (64 * 2**20,), -1, "float32")  # 512 MB in and out: more than four times the L2
SMALL = Case("softmax", (4 * 2**20,), -1, "float32")  # 32 MB in and out
TINY = Case("softmax", (4, 32), -1, "float32")


def result(case: Case, seconds: float, high_s: float = 0.0, limits: Limits = LIMITS, **how: Any) -> Result:
    """What becomes of a row with that median, by events and cold unless said otherwise."""
    case_run = CaseRun(FakeDevice({}), OPERATION, CasePlan(case, (Planned(implementation("a")),)))
    one = Contender(case_run.plan.planned[0].implementation, [lambda: None])
    kind = {"cache": "cold", "method": "events", **how}
    one.measurements.append(
        Measurement(
            samples_s=(seconds,), rounds=(0,), median_s=seconds, low_s=seconds, high_s=high_s or seconds,
            stopped="precise", **kind,
        )
    )  # fmt: skip
    case_run._finish(one, Settings(1, limits=limits))
    return case_run.results["a"]


def test_more_than_dram_gives_is_an_error_with_both_rates() -> None:
    assert result(LARGE, 130e-6).status == "ok"
    ceiling_s = OPERATION.bytes_moved(LARGE) / LIMITS.dram_bytes_per_s
    assert result(LARGE, ceiling_s / 1.02).status == "ok", "a right kernel whose accesses suit the memory better"
    assert result(LARGE, ceiling_s / 1.04).status == "failed"
    failed = result(LARGE, 100e-6)
    assert (failed.status, failed.measurements) == ("failed", ())
    assert failed.reason == (
        "100.0 µs (cold, events) would be 5.37 TB/s, above the 4.30 TB/s of kernels that only read and write as much: "
        "not possible"
    )


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_more_than_the_l2_gives_is_an_error_where_the_data_can_lie_there(cache: str) -> None:
    assert result(SMALL, 5.2e-6, cache=cache).status == "ok", (
        "6.45 TB/s: more than ours reach, not more than there may be"
    )
    failed = result(SMALL, 5e-6, cache=cache)
    assert failed.status == "failed"
    assert failed.reason == (
        f"5.000 µs ({cache}, events) would be 6.71 TB/s, above the 6.00 TB/s of kernels that only read and write "
        "within the L2: not possible"
    )


def test_without_an_l2_ceiling_small_data_is_not_judged_by_rate() -> None:
    assert result(SMALL, 5e-6, limits=replace(LIMITS, l2_bytes_per_s=None)).status == "ok"


@pytest.mark.parametrize(
    ("method", "floor", "least"),
    [
        ("events", 3e-6, 0.9),
        ("graph", 1e-6, 0.5),
    ],
)
def test_less_than_an_empty_kernel_is_an_error_with_both_times(method: str, floor: float, least: float) -> None:
    assert result(TINY, 1.05 * least * floor, method=method).status == "ok", "as near as noise comes"
    low, high = 0.95 * least * floor, 1.01 * least * floor
    assert result(TINY, low, high, method=method).status == "ok", "its interval reaches so far"
    failed = result(TINY, low, method=method)
    assert failed.status == "failed"
    short = f"{time_text(low)} (cold, {method})"
    assert failed.reason == f"{short} is less than the {time_text(floor)} of an empty kernel: not possible"


class Yardsticks(FakeDevice):
    """Runs the kernels of limits.cu by their names, so many bytes a second; an empty one takes 2 µs."""

    def __init__(self, rates: dict[str, float]) -> None:
        super().__init__({})
        self.properties = replace(self.properties, l2_bytes=2**20, multiprocessors=4)
        self.rates = rates

    def free_bytes(self) -> int:
        return 3 * 2**20

    def executable(self, implementation: Any, case: Any, plan: Any, binary: Any, arrays: Any) -> Any:
        (launch,) = plan.launches
        self.kernels[implementation.name] = (lambda arrays: None, self.seconds(launch), 5e-6)
        return super().executable(implementation, case, plan, binary, arrays)

    def seconds(self, launch: Any) -> float:
        kind = launch.entry.removeprefix("limits_")
        if kind == "empty":
            return 2e-6
        if kind.startswith("l2_"):
            packs, rounds = (argument.value for argument in launch.arguments[2:])
            threads = launch.grid[0] * launch.block[0]
            assert 0 < threads <= packs, "a thread goes round once at most with each step"
            assert packs * 16 <= 2**18, "of an L2 of 1 MB"
            return threads * rounds * 4 * 16 * (2 if kind == "l2_copy" else 1) / self.rates[kind]
        packs = launch.arguments[2].value
        moves = {"write": 1, "read": 1, "copy": 2, "stream": 2, "add": 3}[kind.split("_")[0]]
        return 16 * packs * moves / self.rates[kind]


def test_the_best_of_several_kernels_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {f"{kind}_{packs}": 4e11 for kind in ("copy", "stream", "write", "read", "add") for packs in PACKS}
    rates |= {"stream_2": 4.5e11, "write_8": 4.6e11, "read_1": 4.7e11, "add_4": 4.4e11}
    rates |= {"l2_read": 6e12, "l2_write": 4e12, "l2_copy": 5e12}
    limits = measure_limits(Yardsticks(rates), Binary("key", Path(), Path(), "sm_90", (), {}, True))
    assert limits.floor_s == pytest.approx(2e-6 + EVENT_S)
    assert limits.graph_floor_s == pytest.approx(2e-6)
    assert limits.dram_copy == "stream_2"
    for name, expected in (("dram", 4.5e11), ("write", 4.6e11), ("read", 4.7e11), ("add", 4.4e11), ("l2", 6e12)):
        measured = getattr(limits, f"{name}_bytes_per_s")
        assert 0.5 * expected < measured < expected, f"{name}: an event's own time is all that is between"
    assert limits.l2_bytes_per_s == pytest.approx(6e12, rel=0.02)


class RisingClock(FakeClock):
    """Flushes get faster, as on a GPU whose clock rises: by one in 5000 from graph to graph."""

    def submit(self, name: str, device_s: float, host_s: float = 0.0) -> None:
        graphs = self.log.count("graph")
        super().submit(name, device_s * 0.9998**graphs if name == "flush" else device_s, host_s)


def test_flushes_that_get_faster_do_not_change_the_floor() -> None:
    device = FakeDevice({"empty": (lambda arrays: None, 2e-6, 5e-6)})
    device.clock = RisingClock()
    empty = device.executable(implementation("empty"), TINY, None, None, {})
    assert _graph_floor(GraphTimer(device.clock, [empty]), FlushGraph(device.clock)) == pytest.approx(2e-6, rel=0.01)
