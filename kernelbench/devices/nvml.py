"""The state of a GPU as the driver reports it: clocks, power, temperature, throttle reasons, processes. Only reads."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from typing import Any

IDLE_S = 1.0  # NVML reports busy processes at least this often; a process that it has not reported for longer is idle
# Reasons that lower the clock under load, with their names; idle and user settings are not throttling.
_THROTTLE_REASONS = {
    "nvmlClocksThrottleReasonSwPowerCap": "power cap",
    "nvmlClocksThrottleReasonHwSlowdown": "hardware slowdown",
    "nvmlClocksThrottleReasonSwThermalSlowdown": "thermal slowdown",
    "nvmlClocksThrottleReasonHwThermalSlowdown": "hardware thermal slowdown",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": "power brake",
}


class Nvml:
    """One GPU seen through NVML, found by its PCI bus id. Readings that fail are left out.

    It must be made before this process has a context on the GPU; see Neighbours.
    """

    def __init__(self, pci_bus_id: str) -> None:
        import pynvml

        self._nvml = pynvml
        pynvml.nvmlInit()
        self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())
        self._named_us = 0  # NVML's time of the last report of busy processes
        self._neighbours = Neighbours(self._read({"processes": self._processes}).get("processes", ()), time.monotonic())

    def conditions(self) -> Mapping[str, Any]:
        """sm_clock_hz, power_w, energy_j (counted since the driver was loaded), temperature_c, throttle ('' for none),
        others: how many other processes may be using the GPU."""
        nvml, handle = self._nvml, self._handle
        readings = {
            "sm_clock_hz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM) * 1e6,
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
            "energy_j": lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000,
            "temperature_c": lambda: float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            "throttle": self._throttle,
            "others": lambda: self._look().at_work(time.monotonic()),
        }
        values = self._read(readings)
        return values if self._neighbours.visible else {name: values[name] for name in values if name != "others"}

    def environment(self) -> Mapping[str, Any]:
        """uuid, driver, sm_clock_max_hz, memory_clock_hz, power_limit_w, other_processes (on the GPU, busy or not)."""
        nvml, handle = self._nvml, self._handle
        readings = {
            "uuid": lambda: nvml.nvmlDeviceGetUUID(handle),
            "driver": lambda: nvml.nvmlSystemGetDriverVersion(),
            "sm_clock_max_hz": lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM) * 1e6,
            "memory_clock_hz": lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM) * 1e6,
            "power_limit_w": lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
            "other_processes": self._other_processes,
        }
        return self._read(readings)

    def _throttle(self) -> str:
        nvml = self._nvml
        bits = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle)
        names = [text for name, text in _THROTTLE_REASONS.items() if bits & getattr(nvml, name, 0)]
        return ", ".join(names)

    def _other_processes(self) -> str:
        seen = self._look()
        return str(seen.count) if seen.visible else "not visible"

    def _look(self) -> Neighbours:
        self._neighbours.look(self._processes(), self._busy(), time.monotonic())
        return self._neighbours

    def _processes(self) -> set[int]:
        """Processes with a context on the GPU."""
        nvml = self._nvml
        found = {one.pid for one in nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)}
        try:
            return found | {one.pid for one in nvml.nvmlDeviceGetGraphicsRunningProcesses(self._handle)}
        except nvml.NVMLError:
            return found  # a GPU without graphics

    def _busy(self) -> set[int]:
        """Processes that used the GPU since the last call; none if NVML does not report them."""
        try:
            named = self._nvml.nvmlDeviceGetProcessUtilization(self._handle, self._named_us)
        except self._nvml.NVMLError:  # also raised if no process did
            return set()
        new = [one for one in named if one.timeStamp > self._named_us]
        self._named_us = max((one.timeStamp for one in new), default=self._named_us)
        return {one.pid for one in new if one.smUtil}

    def _read(self, readings: Mapping[str, Any]) -> Mapping[str, Any]:
        values = {}
        for name, read in readings.items():
            try:
                value = read()
            except self._nvml.NVMLError:
                continue
            values[name] = value.decode() if isinstance(value, bytes) else value
        return values


def open_nvml(pci_bus_id: str) -> Nvml | None:
    """None where NVML does not know the GPU: conditions stay empty, and it can be measured all the same."""
    import pynvml

    try:
        return Nvml(pci_bus_id)
    except pynvml.NVMLError:
        return None


class Neighbours:
    """Tells the processes on a GPU apart: our own, others that are busy, others that only hold memory.

    `before` are the processes that were there before our own context. A container may show processes by numbers of the
    host, which do not include ours; then the processes that appeared with our context are ours.
    """

    def __init__(self, before: Collection[int], at_s: float) -> None:
        self._before = frozenset(before)
        self._own: frozenset[int] = frozenset()
        self._active_s = dict.fromkeys(before, at_s)  # when each was last reported busy, or first listed
        self._names_busy = False  # whether NVML reports busy processes here at all

    def look(self, listed: Collection[int], busy: Collection[int], at_s: float) -> None:
        """Update with the processes `listed` on the GPU now, and those reported as `busy` since the last call."""
        self._own = self._own or frozenset({os.getpid()} & set(listed) or set(listed) - self._before)
        self._names_busy = self._names_busy or not self._own.isdisjoint(busy)
        self._active_s = {
            process: at_s if process in busy else self._active_s.get(process, at_s)
            for process in listed
            if process not in self._own
        }

    @property
    def visible(self) -> bool:
        """Whether NVML lists processes here at all, which then include ours."""
        return bool(self._own)

    @property
    def count(self) -> int:
        return len(self._active_s)

    def at_work(self, at_s: float) -> int:
        """How many of the others may be using the GPU; all of them if NVML never reports busy processes."""
        return sum(not self._names_busy or at_s - since_s <= IDLE_S for since_s in self._active_s.values())
