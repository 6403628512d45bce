"""Runs kernels of a PTX text on the simulator, with NumPy arrays as the memory of the device."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernelbench.core.counters import Counters
from kernelbench.simt import native
from kernelbench.simt.grouping import MachineLines
from kernelbench.simt.inline import inline_calls
from kernelbench.simt.ir import Module
from kernelbench.simt.launch_counters import launch_counters
from kernelbench.simt.lower import Program, lower
from kernelbench.simt.machine import Allocation, LaunchReport, Machine
from kernelbench.simt.parse import parse
from kernelbench.simt.simulation import NO_CODE

Argument = NDArray[np.generic] | np.generic | bytes


@dataclass(frozen=True)
class Outcome:
    report: LaunchReport
    counters: Counters
    faults: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The first word of each instruction's opcode."""
        return tuple(one.opcode[0] for one in self.report.sources)


@lru_cache(maxsize=8)
def _module(ptx: str) -> tuple[Module, dict[tuple[str, bool], Program]]:
    """A text and what has been lowered of it, for all tests that run it: nothing of a machine is in them."""
    return parse(ptx), {}


class Kernels:
    """The kernels of one module. Variables of the module keep their values from one run to the next."""

    def __init__(self, ptx: str, machine: Mapping[str, MachineLines] = NO_CODE) -> None:
        self.text, self._lines = ptx, machine
        self.module, self._programs = _module(ptx)
        self.machine = Machine()

    @property
    def entries(self) -> list[str]:
        return [name for name, function in self.module.functions.items() if function.entry]

    def program(self, entry: str) -> Program:
        key = entry, entry in self._lines
        if key not in self._programs:
            lines = self._lines.get(entry, {})
            self._programs[key] = lower(inline_calls(self.module, entry), self.module, native.has_operation, lines)
        return self._programs[key]

    def run(
        self,
        entry: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        *arguments: Argument,
        shared: int = 0,
        cooperative: bool = False,
        co_resident: int = 1,
        strict: bool = True,
        faulty: bool = False,
    ) -> Outcome:
        """Arrays go to the device before the launch and come back after it, into the same arrays. A fault is an
        error unless `faulty`."""
        memory = self.machine.memory
        places: dict[int, Allocation] = {}
        for number, one in enumerate(arguments):
            if isinstance(one, np.ndarray) and id(one) not in places:
                place = places[id(one)] = memory.allocate(f"argument {number}", one.nbytes, "input")
                place.view(one.dtype, one.shape)[...] = one
        given = [places[id(one)] if isinstance(one, np.ndarray) else one for one in arguments]
        try:
            axes = [(one,) if isinstance(one, int) else tuple(one) for one in (grid, block)]
            report = self.machine.launch(
                self.program(entry),
                *axes,
                given,
                shared,
                cooperative=cooperative,
                strict=strict,
                co_resident=co_resident,
            )
            for one in arguments:
                if isinstance(one, np.ndarray):
                    one[...] = places[id(one)].view(one.dtype, one.shape)
        finally:
            for place in places.values():
                memory.free(place)
        faults = tuple(map(str, report.faults))
        assert faulty or not faults, "\n".join(faults)
        return Outcome(report, launch_counters(report).counters, faults)


Load = Callable[..., Kernels]  # load(stem, architecture="sm_90"): tests/simt/kernels/<stem>.cu, compiled
Compile = Callable[..., Kernels]  # compile_text(source, architecture="sm_90"): CUDA text, compiled
