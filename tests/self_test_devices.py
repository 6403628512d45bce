"""A GPU with noise, for self-tests here and in a worker: times scatter, drift, and have the steps of a clock."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kernelbench.core.records import Arrays, Binary, Case, Implementation, LaunchPlan
from kernelbench.planning.twins import AGAIN
from tests.fake_gpu import FakeClock, FakeDevice, FakeEvent, softmax

NOISE, DRIFT, STEP_S = 0.003, 0.001, 32e-9
SECONDS = {"good": 50e-6, "other": 30e-6, "third": 10e-6}


class SteppedClock(FakeClock):
    resolution_s = STEP_S

    def elapsed(self, start: FakeEvent, stop: FakeEvent) -> float:
        return round(super().elapsed(start, stop) / STEP_S) * STEP_S


class NoisyDevice(FakeDevice):
    """`seconds` by name; a twin takes `twin_factor` times as long as its original, which on a GPU is 1. A case with
    more columns takes as much longer."""

    def __init__(self, seconds: Mapping[str, float], seed: int = 1, twin_factor: float = 1.0) -> None:
        super().__init__({name: (softmax, length, 5e-6) for name, length in seconds.items()})
        self.clock = SteppedClock()
        self.random, self.twin_factor, self.runs = np.random.default_rng(seed), twin_factor, 0

    def executable(
        self, implementation: Implementation, case: Case, plan: LaunchPlan | None, binary: Binary | None, arrays: Arrays
    ) -> Callable[[], Any]:
        name = implementation.name.removesuffix(AGAIN)
        kernel, base_s, host_s = self.kernels[name]
        length_s = base_s * case.shape[-1] / 8 * (self.twin_factor if name != implementation.name else 1.0)

        def run() -> Any:
            self.runs += 1
            drift = DRIFT * np.sin(self.runs / 2000)
            self.clock.submit(name, length_s * np.exp(self.random.normal(drift, NOISE)), host_s)
            return kernel(arrays)

        return run

    def environment(self) -> Mapping[str, Any]:
        return {**super().environment(), "resolution_s": STEP_S}


def noisy() -> NoisyDevice:
    return NoisyDevice({"good": 50e-6, "other": 30e-6})
