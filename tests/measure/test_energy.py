"""Energy per call on a GPU with a set clock and a counter of known power: what it is, and when there is none."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelbench import devices
from kernelbench.core.errors import DeviceError
from kernelbench.core.records import Arrays, Case, Measurement
from kernelbench.measure import case_run, energy
from kernelbench.measure.case_data import CaseData
from kernelbench.measure.energy import BUSY, WINDOW_S, add_energy
from kernelbench.measure.tracks import Contender
from kernelbench.planning.catalog import load_catalog
from kernelbench.runs.results import read_run
from tests.conftest import Command, Project
from tests.endings import ended, printed, refused
from tests.fake_gpu import FakeDevice, implementation, softmax
from tests.fake_simulator import FakeSimulator

POWER_W, IDLE_W = 500.0, 100.0
CASE = Case("softmax", (4, 8), -1, "float32")


class CountingJoules(FakeDevice):
    """Draws IDLE_W at all times, and POWER_W while a kernel runs; its L2 is small."""

    def __init__(self, device_s: float, host_s: float = 1e-6) -> None:
        super().__init__(dict.fromkeys(("good", "other"), (softmax, device_s, host_s)))
        self.properties = replace(self.properties, l2_bytes=64)
        self.device_s = device_s

    def conditions(self) -> Mapping[str, Any]:
        busy_s = sum(name in self.kernels for name in self.clock.log) * self.device_s
        joules = IDLE_W * self.clock.host + (POWER_W - IDLE_W) * busy_s
        return {**super().conditions(), "power_w": 300.0, "energy_j": joules}


def contender(device: FakeDevice, data: CaseData, median_s: float, *caches: Any) -> Contender:
    one = implementation("good")
    runs = [device.executable(one, CASE, None, None, arrays) for arrays in data.placements]
    measured = [
        Measurement(cache, "events", (median_s,), (0,), median_s, median_s, median_s, "precise") for cache in caches
    ]
    return Contender(one, runs, measurements=measured)


def data_on(device: FakeDevice, places: int = 4) -> CaseData:
    operation = load_catalog().operations["softmax"]
    return CaseData(device, operation, CASE, [device.allocate(operation.filled(CASE)) for _ in range(places)])


def test_it_is_the_boards_energy_over_the_calls_of_a_window() -> None:
    device = CountingJoules(1e-3)
    data = data_on(device)
    one = contender(device, data, 1e-3, "cold", "warm")
    began = device.clock.host
    add_energy(data, [one], lambda name: None, lambda: device.clock.host)
    assert device.clock.host - began >= WINDOW_S
    cold, warm = one.measurements
    assert cold.energy_j == pytest.approx(POWER_W * 1e-3, rel=0.01)
    assert warm.energy_j is None
    assert one.notes == []
    assert "flush" not in device.clock.log


def test_a_kernel_that_the_host_cannot_keep_busy_has_none() -> None:
    device = CountingJoules(2e-6, host_s=10e-6)
    data = data_on(device)
    one = contender(device, data, 2e-6, "cold")
    add_energy(data, [one], lambda name: None, lambda: device.clock.host)
    assert one.measurements[0].energy_j is None
    assert one.notes == [f"no energy: it ran 20 % of the time back to back; expected at least {100 * BUSY:.0f} %"]


def test_data_that_the_l2_holds_has_none() -> None:
    device = CountingJoules(1e-3)
    data = data_on(device, places=1)
    device.properties = replace(device.properties, l2_bytes=10_000)
    one = contender(device, data, 1e-3, "cold")
    add_energy(data, [one], lambda name: None, lambda: device.clock.host)
    assert one.notes == ["no energy: 256 B in all places; back to back only 40.0 kB are cold"]


def test_a_driver_without_a_counter_and_a_kernel_that_fails_have_none() -> None:
    device = FakeDevice({"good": (softmax, 1e-3, 1e-6)})
    device.properties = replace(device.properties, l2_bytes=64)
    data = data_on(device)
    one = contender(device, data, 1e-3, "cold")
    add_energy(data, [one], lambda name: None, lambda: device.clock.host)

    def fail(arrays: Arrays) -> None:
        raise DeviceError("out of luck")

    device.kernels["good"] = (fail, 1e-3, 1e-6)
    other = contender(device, data, 1e-3, "cold")
    add_energy(data, [other], lambda name: None, lambda: device.clock.host)
    assert (one.notes, other.notes) == (["no energy: the driver counts none"], ["no energy: out of luck"])


def test_a_run_keeps_and_shows_it(project: Project, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    device = CountingJoules(1e-3)
    monkeypatch.setattr(devices, "open_device", lambda name: device)
    by_its_clock = lambda *given: energy.add_energy(*given, now=lambda: device.clock.host)  # noqa: E731
    monkeypatch.setattr(case_run, "add_energy", by_its_clock)
    suite = project.suite("good, other", "[8]")
    ended(0, command("run", suite, "--energy", "--no-report", "--out", "kept"))
    rows = read_run(Path("kept")).rows
    assert {(row.cache, row.energy_j is None) for row in rows} == {("cold", False), ("warm", True)}
    cold = next(row for row in rows if row.cache == "cold")
    assert cold.bytes_per_j == pytest.approx(256 / 0.5, rel=0.01)
    out = printed(command("compare", "kept"))
    assert "energy" in out
    assert "GB per J" in out
    assert "500 mJ" in out
    csv = printed(command("compare", "kept", "--format", "csv")).splitlines()
    assert float(dict(zip(csv[0].split(","), csv[1].split(","), strict=True))["energy_j"]) == pytest.approx(
        0.5, rel=0.01
    )
    ended(0, command("run", suite, "--no-report", "--out", "without"))
    assert all(row.energy_j is None for row in read_run(Path("without")).rows)
    assert "GB per J" not in printed(command("compare", "without"))


def test_the_simulator_draws_no_power(project: Project, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "open_device", lambda name: FakeSimulator({"good": (softmax, 0.0, 0.0)}))
    assert "--energy: simulated (H200 properties) draws no power; it needs a GPU" in refused(
        command("run", project.suite("good", "[8]"), "--energy")
    )
