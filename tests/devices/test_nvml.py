"""What NVML says, and what is left out where it does not say it."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kernelbench.devices.nvml import Nvml


class NVMLError(Exception):
    """Stands in for pynvml.NVMLError."""


def refuse(*arguments: Any) -> Any:
    raise NVMLError("Not Supported")


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
        nvmlDeviceGetTemperature=lambda handle, kind: 47,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: 1 | 4,  # idle is none of the reasons
        nvmlDeviceGetUUID=lambda handle: "GPU-1b8c",
        nvmlSystemGetDriverVersion=lambda: b"580.159.04",
        nvmlDeviceGetEnforcedPowerLimit=lambda handle: 700000,
    )
    monkeypatch.setitem(sys.modules, "pynvml", stand_in)
    return stand_in


def test_conditions_are_in_base_units(nvml: SimpleNamespace) -> None:
    assert Nvml("0000:01:00.0").conditions() == {
        "sm_clock_hz": 1.98e9,
        "power_w": 412.345,
        "temperature_c": 47.0,
        "throttle": "power cap",
    }


def test_the_environment_names_the_gpu_driver_and_limits(nvml: SimpleNamespace) -> None:
    assert Nvml("0000:01:00.0").environment() == {
        "uuid": "GPU-1b8c",
        "driver": "580.159.04",
        "sm_clock_max_hz": 1.98e9,
        "memory_clock_hz": 3.201e9,
        "power_limit_w": 700.0,
    }


@pytest.mark.parametrize(("bits", "text"), [(0, ""), (1, ""), (2, ""), (8 | 32, "hardware slowdown, thermal slowdown")])
def test_throttle_reasons_are_words(nvml: SimpleNamespace, bits: int, text: str) -> None:
    nvml.nvmlDeviceGetCurrentClocksThrottleReasons = lambda handle: bits
    assert Nvml("0").conditions()["throttle"] == text


def test_a_reading_that_fails_is_left_out_not_zero(nvml: SimpleNamespace) -> None:
    nvml.nvmlDeviceGetPowerUsage = refuse
    nvml.nvmlDeviceGetCurrentClocksThrottleReasons = refuse
    nvml.nvmlSystemGetDriverVersion = refuse
    own = Nvml("0")
    assert set(own.conditions()) == {"sm_clock_hz", "temperature_c"}
    assert "driver" not in own.environment()
