"""What the driver says of a GPU's state: clocks, power, temperature, throttle reasons. Only reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Reasons that lower the clock under load, and how to call them; idle and user settings are not throttling.
_THROTTLE_REASONS = {
    "nvmlClocksThrottleReasonSwPowerCap": "power cap",
    "nvmlClocksThrottleReasonHwSlowdown": "hardware slowdown",
    "nvmlClocksThrottleReasonSwThermalSlowdown": "thermal slowdown",
    "nvmlClocksThrottleReasonHwThermalSlowdown": "hardware thermal slowdown",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": "power brake",
}


class Nvml:
    """One GPU seen through NVML, found by its PCI bus id. Every reading that fails is left out."""

    def __init__(self, pci_bus_id: str) -> None:
        import pynvml

        self._nvml = pynvml
        pynvml.nvmlInit()
        self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())

    def conditions(self) -> Mapping[str, Any]:
        """sm_clock_hz, power_w, temperature_c, throttle ('' for none)."""
        nvml, handle = self._nvml, self._handle
        readings = {
            "sm_clock_hz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM) * 1e6,
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
            "temperature_c": lambda: float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            "throttle": self._throttle,
        }
        return self._read(readings)

    def environment(self) -> Mapping[str, Any]:
        """uuid, driver, sm_clock_max_hz, memory_clock_hz, power_limit_w."""
        nvml, handle = self._nvml, self._handle
        readings = {
            "uuid": lambda: nvml.nvmlDeviceGetUUID(handle),
            "driver": lambda: nvml.nvmlSystemGetDriverVersion(),
            "sm_clock_max_hz": lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM) * 1e6,
            "memory_clock_hz": lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM) * 1e6,
            "power_limit_w": lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
        }
        return self._read(readings)

    def _throttle(self) -> str:
        nvml = self._nvml
        bits = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle)
        names = [text for name, text in _THROTTLE_REASONS.items() if bits & getattr(nvml, name, 0)]
        return ", ".join(names)

    def _read(self, readings: Mapping[str, Any]) -> Mapping[str, Any]:
        values = {}
        for name, read in readings.items():
            try:
                value = read()
            except self._nvml.NVMLError:
                continue
            values[name] = value.decode() if isinstance(value, bytes) else value
        return values
