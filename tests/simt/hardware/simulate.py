"""The launches of a trial on the simulator."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelbench.core import dtypes
from kernelbench.core.counters import Counters
from kernelbench.core.records import Launch, Scalar
from kernelbench.simt.grouping import MachineLines
from kernelbench.simt.launch_counters import launch_counters
from kernelbench.simt.machine import LaunchReport
from kernelbench.simt.simulation import NO_CODE
from tests.simt.hardware.trials import Trial
from tests.simt.harness import Kernels


class Simulation:
    """A trial's arrays on a machine of its own, and its kernels, ready to run."""

    def __init__(self, trial: Trial, ptx: str, machine: Mapping[str, MachineLines] = NO_CODE) -> None:
        self.trial = trial
        self._kernels = Kernels(ptx, machine)
        self._arrays = {}
        for name, host in trial.arrays.items():
            self._arrays[name] = self._kernels.machine.memory.allocate(name, host.nbytes, trial.role(name))
            self._arrays[name].view()[:] = np.ascontiguousarray(host).reshape(-1).view(np.uint8)

    def launch(self, launch: Launch, **options: Any) -> LaunchReport:
        """`options`: those of Machine.launch."""
        arguments = [
            dtypes.storage(one.dtype)(one.value) if isinstance(one, Scalar) else self._arrays[one]
            for one in launch.arguments
        ]
        return self._kernels.machine.launch(
            self._kernels.program(launch.entry),
            launch.grid,
            launch.block,
            arguments,
            launch.shared_bytes,
            cooperative=launch.cooperative,
            co_resident=launch.co_resident,
            **options,
        )

    def run(self, **options: Any) -> list[Counters]:
        """All launches, in order."""
        return [launch_counters(self.launch(launch, **options)).counters for launch in self.trial.launches]

    def address(self, name: str) -> int:
        return self._arrays[name].address

    def array(self, name: str) -> NDArray[Any]:
        like = self.trial.arrays[name]
        return self._arrays[name].view(like.dtype, like.shape).copy()


def simulate(
    trial: Trial, ptx: str, machine: Mapping[str, MachineLines] = NO_CODE, **options: Any
) -> tuple[list[Counters], dict[str, NDArray[Any]]]:
    """Counters of each launch, and the outputs."""
    simulation = Simulation(trial, ptx, machine)
    counted = simulation.run(**options)
    return counted, {name: simulation.array(name) for name in trial.outputs}
