"""A device that counts instead of timing, for tests of what that means to the walk and to a run's files."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kernelbench.core.counters import Counters, LaunchCounters
from kernelbench.core.errors import MissingLibrary
from tests.fake_gpu import FakeDevice, Kernel


class FakeSimulator(FakeDevice):
    """`kernels` as FakeDevice has them, by name. `ranges`: what the last run wrote, None for all of it; `missing`:
    names of peers that are not there to be simulated."""

    slice_elements = 2**10

    def __init__(self, kernels: Mapping[str, tuple[Kernel, float, float]]) -> None:
        super().__init__(kernels)
        self.name = "simulated (H200 properties)"
        self.full = self.strict = False
        self.ranges: np.ndarray | None = None
        self.missing: tuple[str, ...] = ()
        self.prepared = 0
        self.materialised: list[tuple[int, ...]] = []
        self.price = dict.fromkeys(kernels, 100)

    def executable(self, implementation: Any, case: Any, plan: Any, binary: Any, arrays: Any) -> Callable[[], Any]:
        if implementation.name in self.missing:
            raise MissingLibrary(f"{implementation.name} is a library: there is no PTX of it to run")
        run = super().executable(implementation, case, plan, binary, arrays)
        run.name = implementation.name  # type: ignore[attr-defined]
        return run

    def prepare(self) -> None:
        self.prepared += 1

    def beside(self) -> None:
        """Cases run in turn."""

    def stop(self) -> None:
        pass

    def counts(self, executable: Any) -> tuple[LaunchCounters, ...]:
        counters = Counters(
            warp_instructions=self.price[executable.name],
            thread_instructions=32 * self.price[executable.name],
            global_load_requests=10,
            global_load_sectors=self.price[executable.name],
            global_load_ideal_sectors=40,
            read_once_bytes=1280,
        )
        blocks_run = 100 if self.ranges is None else 8
        return (LaunchCounters("k", counters, {}, 100, blocks_run),)

    def materialise(self, part: Any) -> Any:
        self.materialised.append(part.shape)
        return part

    def written(self, output: Any) -> Any:
        return self.ranges

    def environment(self) -> Mapping[str, Any]:
        return {"name": self.name, "simulator": {"threads": 2}}
