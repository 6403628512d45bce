"""A device with a set clock and a log, for tests of what happens in which order and what it means.

Host and device each have a time. Submitting costs host time; work begins when the device is free and the
host has submitted it. Kernels are Python functions over NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from kernelbench.core import distributions, dtypes
from kernelbench.core.differences import Differences, differences
from kernelbench.core.errors import DeviceError
from kernelbench.core.records import Arrays, ArraySpec, Binary, Case, Implementation, LaunchPlan, Origin, Tolerance
from kernelbench.devices.known import KNOWN

FLUSH_S = 30e-6
EVENT_S = 1e-6
Kernel = Callable[[Arrays], Any]


class FakeEvent:
    def __init__(self, clock: FakeClock, time: float) -> None:
        self.clock, self.time = clock, time

    def done(self) -> bool:
        return self.time <= self.clock.host


class FakeGraph:
    def __init__(self, clock: FakeClock, work: Sequence[Callable[[], Any]]) -> None:
        self.clock, self.work = clock, work

    def launch(self) -> None:
        self.clock.log.append("graph")
        for step in self.work:
            step()


class FakeClock:
    resolution_s = 1e-9

    def __init__(self) -> None:
        self.host = 0.0
        self.device = 0.0
        self.log: list[str] = []

    def submit(self, name: str, device_s: float, host_s: float = 0.0) -> None:
        self.log.append(name)
        self.host += host_s
        self.device = max(self.device, self.host) + device_s

    def flush(self, seconds: float) -> None:
        self.submit("flush", max(seconds, FLUSH_S))

    def record(self) -> FakeEvent:
        self.submit("event", 0.0)
        return FakeEvent(self, self.device)

    def wait(self) -> None:
        self.log.append("wait")
        self.host = max(self.host, self.device)

    def elapsed(self, start: FakeEvent, stop: FakeEvent) -> float:
        assert stop.done(), "elapsed asked for before the stop event has passed"
        return stop.time - start.time + EVENT_S

    def capture(self, executables: Sequence[Callable[[], Any]], repeats: int) -> FakeGraph:
        work: list[Callable[[], Any]] = []
        for repeat in range(repeats):
            work.append(lambda: self.submit("flush", FLUSH_S))
            if executables:
                work.append(executables[repeat % len(executables)])
        return FakeGraph(self, work)


class FakeDevice:
    """`kernels` by implementation name: (function, seconds of one run, host seconds to submit it)."""

    def __init__(self, kernels: Mapping[str, tuple[Kernel, float, float]]) -> None:
        self.name = "Fake GPU"
        self.properties = KNOWN["h200"]
        self.xp = np
        self.clock = FakeClock()
        self.kernels = dict(kernels)
        self.fills: list[int] = []

    def allocate(self, specs: Sequence[ArraySpec]) -> Arrays:
        return {spec.name: np.zeros(spec.shape, dtypes.storage(spec.dtype)) for spec in specs}

    def fill(self, arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> None:
        self.fills.append(seed)
        generator = np.random.default_rng(seed)
        for position, spec in enumerate(specs):
            if spec.role == "input":
                values = distributions.draw_input(np, generator, spec, 0, arrays[spec.name].size, seed + position)
                arrays[spec.name][...] = dtypes.narrow(np, values, spec.dtype).reshape(spec.shape)

    def poison(self, arrays: Arrays, specs: Sequence[ArraySpec]) -> None:
        self.clock.log.append("poison")
        for spec in specs:
            if spec.role == "output":
                arrays[spec.name].view(np.uint8)[...] = 0xFF

    def swap_contents(self, first: Any, second: Any, dtype: str) -> None:
        wide = [np.asarray(dtypes.widen(np, one, dtype)) for one in (first, second)]
        shown = ~(np.isneginf(wide[0]) | np.isneginf(wide[1]))
        first[shown], second[shown] = second[shown].copy(), first[shown].copy()

    def digest(self, array: Any) -> int:
        return crc32(np.ascontiguousarray(array).tobytes())

    def changed(self, arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> str:
        made = {spec.name: np.zeros_like(arrays[spec.name]) for spec in specs}
        fills, self.fills = self.fills, []
        self.fill(made, specs, seed)
        self.fills = fills
        for spec in specs:
            unequal = (arrays[spec.name] != made[spec.name]).reshape(-1)
            if spec.role == "input" and unequal.any():
                return spec.element(int(unequal.argmax()))
        return ""

    def compare(self, got: Any, dtype: str, expected: Any, tolerance: Tolerance) -> Differences:
        return differences(np, dtypes.widen(np, got, dtype), expected, tolerance, dtype)

    def red_zone_damage(self) -> str:
        return ""

    def executable(
        self, implementation: Implementation, case: Case, plan: LaunchPlan | None, binary: Binary | None, arrays: Arrays
    ) -> Callable[[], Any]:
        if implementation.name not in self.kernels:
            raise DeviceError(f"no kernel '{implementation.name}'")

        def run() -> Any:
            kernel, device_s, host_s = self.kernels[implementation.name]
            self.clock.submit(implementation.name, device_s, host_s)
            return kernel(arrays)

        return run

    def conditions(self) -> Mapping[str, Any]:
        return {"sm_clock_hz": 1.98e9, "throttle": ""}

    def environment(self) -> Mapping[str, Any]:
        return {"name": self.name}

    def free_bytes(self) -> int:
        return 2**30

    def release(self) -> None:
        self.clock.log.append("release")


def raising(error: BaseException) -> Callable[..., Any]:
    """A function that raises it, whatever it is called with."""

    def call(*arguments: Any, **options: Any) -> Any:
        raise error

    return call


@np.errstate(invalid="ignore")  # of rows that are -inf throughout
def softmax(arrays: Arrays) -> None:
    powers = np.exp(arrays["x"] - arrays["x"].max(axis=-1, keepdims=True))
    arrays["y"][...] = powers / powers.sum(axis=-1, keepdims=True)


def implementation(name: str, **options: Any) -> Implementation:
    """A library call of that name; FakeDevice supplies what it does."""
    return Implementation(name, name, Origin("test"), prepare=lambda case, arrays, stream: lambda: None, **options)
