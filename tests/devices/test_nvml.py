"""What NVML says, and what is left out where it does not say it."""

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kernelbench.devices import nvml as nvml_module
from kernelbench.devices.nvml import Nvml


class NVMLError(Exception):
    """Stands in for pynvml.NVMLError."""


def refuse(*arguments: Any) -> Any:
    raise NVMLError("Not Supported")


def processes(*numbers: int) -> list[SimpleNamespace]:
    return [SimpleNamespace(pid=number) for number in numbers]


def named(number: int, at_us: int, share: int = 50) -> SimpleNamespace:
    return SimpleNamespace(pid=number, timeStamp=at_us, smUtil=share)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """pynvml of a GPU at 1980 MHz and 412 W, its power capped."""
    stand_in = SimpleNamespace(
        NVMLError=NVMLError,
        NVML_CLOCK_SM=1,
        NVML_CLOCK_MEM=2,
        NVML_TEMPERATURE_GPU=0,
        nvmlClocksThrottleReasonSwPowerCap=4,
        nvmlClocksThrottleReasonHwSlowdown=8,
        nvmlClocksThrottleReasonSwThermalSlowdown=32,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByPciBusId=lambda bus: f"handle of {bus.decode()}",
        nvmlDeviceGetClockInfo=lambda handle, kind: 1980,
        nvmlDeviceGetMaxClockInfo=lambda handle, kind: {1: 1980, 2: 3201}[kind],
        nvmlDeviceGetPowerUsage=lambda handle: 412345,
        nvmlDeviceGetTotalEnergyConsumption=lambda handle: 7_200_500,
        nvmlDeviceGetTemperature=lambda handle, kind: 47,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: 1 | 4,  # idle is none of the reasons
        nvmlDeviceGetUUID=lambda handle: "GPU-1b8c",
        nvmlSystemGetDriverVersion=lambda: b"580.159.04",
        nvmlDeviceGetEnforcedPowerLimit=lambda handle: 700000,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: processes(os.getpid()),
        nvmlDeviceGetGraphicsRunningProcesses=refuse,
        nvmlDeviceGetProcessUtilization=refuse,
    )
    monkeypatch.setitem(sys.modules, "pynvml", stand_in)
    return stand_in


def test_conditions_are_in_base_units(nvml: SimpleNamespace) -> None:
    assert Nvml("0000:01:00.0").conditions() == {
        "sm_clock_hz": 1.98e9,
        "power_w": 412.345,
        "energy_j": 7200.5,
        "temperature_c": 47.0,
        "throttle": "power cap",
        "others": 0,
    }


def test_the_environment_names_the_gpu_driver_and_limits(nvml: SimpleNamespace) -> None:
    assert Nvml("0000:01:00.0").environment() == {
        "uuid": "GPU-1b8c",
        "driver": "580.159.04",
        "sm_clock_max_hz": 1.98e9,
        "memory_clock_hz": 3.201e9,
        "power_limit_w": 700.0,
        "other_processes": "0",
    }


@pytest.mark.parametrize(("bits", "text"), [(0, ""), (1, ""), (2, ""), (8 | 32, "hardware slowdown, thermal slowdown")])
def test_throttle_reasons_are_words(nvml: SimpleNamespace, bits: int, text: str) -> None:
    nvml.nvmlDeviceGetCurrentClocksThrottleReasons = lambda handle: bits
    assert Nvml("0").conditions()["throttle"] == text


def test_a_reading_that_fails_is_left_out_not_zero(nvml: SimpleNamespace) -> None:
    nvml.nvmlDeviceGetPowerUsage = refuse
    nvml.nvmlDeviceGetTotalEnergyConsumption = refuse
    nvml.nvmlDeviceGetCurrentClocksThrottleReasons = refuse
    nvml.nvmlSystemGetDriverVersion = refuse
    own = Nvml("0")
    assert set(own.conditions()) == {"sm_clock_hz", "temperature_c", "others"}
    assert "driver" not in own.environment()


def test_another_process_is_counted_wherever_nvml_lists_it(nvml: SimpleNamespace) -> None:
    own = Nvml("0")
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: processes(os.getpid(), 7)
    assert own.conditions()["others"] == 1
    nvml.nvmlDeviceGetGraphicsRunningProcesses = lambda handle: processes(7, 8)
    assert own.conditions()["others"] == 2
    assert own.environment()["other_processes"] == "2"
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: processes(os.getpid())
    nvml.nvmlDeviceGetGraphicsRunningProcesses = refuse
    assert own.conditions()["others"] == 0


def test_numbers_of_the_host_are_told_apart_by_when_they_came(nvml: SimpleNamespace) -> None:
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: processes(4001)
    own = Nvml("0")
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: processes(4001, 4002)  # with our context
    assert own.conditions()["others"] == 1
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: processes(4002)
    assert own.conditions()["others"] == 0
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: processes(4002, 4003)
    assert own.conditions()["others"] == 1


def test_processes_that_are_hidden_are_not_none(nvml: SimpleNamespace) -> None:
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: []
    own = Nvml("0")
    assert "others" not in own.conditions()
    assert own.environment()["other_processes"] == "not visible"
    nvml.nvmlDeviceGetComputeRunningProcesses = refuse
    own = Nvml("0")
    assert "others" not in own.conditions()
    assert "other_processes" not in own.environment()


def test_a_process_that_only_holds_memory_does_not_count(
    nvml: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(nvml_module.time, "monotonic", lambda: now[0])
    me, answers, asked = os.getpid(), [], []

    def utilization(handle: str, since_us: int) -> list[SimpleNamespace]:
        asked.append(since_us)
        return answers or refuse()

    nvml.nvmlDeviceGetProcessUtilization = utilization
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: processes(me, 7)
    own = Nvml("0")
    now[0] = 110.0
    assert own.conditions()["others"] == 1, "nobody was named yet, so that nobody can be said to be idle"
    answers[:] = [named(me, 1_000)]
    assert own.conditions()["others"] == 0
    answers[:] = [named(me, 2_000), named(7, 2_000, share=0)]
    assert own.conditions()["others"] == 0
    answers[:] = [named(me, 3_000), named(7, 3_000)]
    assert own.conditions()["others"] == 1
    now[0] = 110.9  # NVML gives the old answer again, which is no news
    assert own.conditions()["others"] == 1, "it names them once in up to a second"
    now[0] = 111.1
    assert own.conditions()["others"] == 0
    assert asked == [0, 0, 1_000, 2_000, 3_000, 3_000], "each time for what is new"
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: processes(me, 7, 8)
    assert own.conditions()["others"] == 1, "one that has just come may be at work"
