"""A launch plan on the simulator: all of it, or the same shares of each launch's grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbench.counters import LaunchCounters
from kernelbench.devices.blocks import GROUPS, Blocks, Spans, prefix, sample
from kernelbench.devices.written import Integers, marked
from kernelbench.errors import DeviceError
from kernelbench.records import Launch
from kernelbench.simt.counters import launch_counters
from kernelbench.simt.faults import Fault
from kernelbench.simt.lower import Program
from kernelbench.simt.machine import Allocation, LaunchReport, Machine

WORK = 4_000_000  # warp instructions of a launch, beyond which its grid is sampled
WRITTEN_BYTES = 2**23  # of the largest output, which is about what a sample may write: all of that is verified
REDUCES = 16  # times smaller than the inputs: such an output depends on so much that no sample of it can be verified
REDUCTION_WORK = 8 * WORK  # so those are run whole a while longer
LEAST_SLICES = 4  # of each group, where a later launch reads what an earlier one wrote
BUDGET = 2**27  # warp instructions of a block, beyond which it is taken for one that never ends
MAXIMA = ("most_ways", "least_ways")  # counters of an instruction that are no sums
MOST_FAULTS = 3  # named in a row's reason


@dataclass(frozen=True)
class Step:
    """One launch with all that it needs. `outputs`: those arrays among its arguments that are verified."""

    launch: Launch
    program: Program
    arguments: tuple[Any, ...]
    outputs: tuple[str, ...]


class PlanRun:
    """Runs a plan when it is called; then knows what was counted, and what was written of each output."""

    def __init__(
        self, machine: Machine, steps: Sequence[Step], arrays: Mapping[str, Allocation], *, full: bool, strict: bool
    ) -> None:
        self._machine, self._steps = machine, steps
        self._outputs = {name: one for name, one in arrays.items() if one.role == "output"}
        self._full, self._strict = full or strict, strict
        read, written = (_largest(arrays, role) for role in ("input", "output"))
        self._work = REDUCTION_WORK if written * REDUCES <= read else WORK
        self._share = min(1.0, WRITTEN_BYTES / max(written, 1))
        self._least = LEAST_SLICES if len(steps) > 1 else 1
        self.counters: tuple[LaunchCounters, ...] = ()
        self.sampled = False
        self.written: dict[str, Integers] = {}  # sectors, by output: of the last launch that wrote any of it

    def __call__(self) -> None:
        self.counters, self.sampled, self.written = (), False, {}
        within: Spans | None = None
        for step in self._steps:
            self._unmark(step)
            run = _StepRun(self._machine, step, self._outputs, strict=self._strict, incomplete=self.sampled)
            within = self._run(run, within)
            self.written |= run.written()
            counted = run.counters()
            self.counters += (counted,)
            self.sampled |= counted.blocks_run < counted.blocks

    def _unmark(self, step: Step) -> None:
        """Forget which sectors an earlier launch wrote of what this one may write anew: where only a share of that is
        written anew, the rest holds a result that was not meant to last."""
        for name in step.outputs:
            if name in self.written:
                self._outputs[name].track()
                self._outputs[name].written[self.written[name]] = 0

    def _run(self, run: _StepRun, within: Spans | None) -> Spans | None:
        """What later launches may rely on; None for everything."""
        grid = run.step.launch.grid
        if self._full or (within is None and prod(grid) <= GROUPS * self._least):
            run(None)
            return None
        if run.step.program.ordered:
            prefix(grid, self._work, run)
            return within
        return sample(grid, self._work, self._share, within, run, self._least)


class _StepRun:
    """One launch, its blocks run in one or several goes."""

    def __init__(
        self, machine: Machine, step: Step, outputs: Mapping[str, Allocation], *, strict: bool, incomplete: bool
    ) -> None:
        self.step, self._machine, self._outputs = step, machine, outputs
        self._strict, self._incomplete = strict, incomplete
        self._reports: list[LaunchReport] = []

    def __call__(self, blocks: Blocks | None) -> int:
        """Run these blocks, all for None; the warp instructions that took. DeviceError names what was wrong."""
        launch = self.step.launch
        report = self._machine.launch(
            self.step.program,
            launch.grid,
            launch.block,
            self.step.arguments,
            launch.shared_bytes,
            blocks=blocks,
            strict=self._strict,
            budget=BUDGET,
            goes_on=True,
            incomplete=self._incomplete,
        )
        if report.faults:
            raise DeviceError(_faults_text(report.faults))
        self._reports.append(report)
        return report.instructions

    def counters(self) -> LaunchCounters:
        """Of all goes together."""
        read, written = self._machine.touched()
        together = replace(
            self._reports[0],
            counters=joined([one.counters for one in self._reports]),
            blocks_run=sum(one.blocks_run for one in self._reports),
            sectors_read=read,
            sectors_written=written,
        )
        return launch_counters(together)

    def written(self) -> dict[str, Integers]:
        """Sectors that were written, by output."""
        found = {name: marked(self._outputs[name].written) for name in self.step.outputs}
        return {name: sectors for name, sectors in found.items() if sectors.size}


def _largest(arrays: Mapping[str, Allocation], role: str) -> int:
    return max((one.nbytes for one in arrays.values() if one.role == role), default=0)


def joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Counters of blocks that were run apart, as if they had been run together."""
    found: npt.NDArray[Any] = parts[0].copy()
    for name in found.dtype.names or ():
        over = np.max if name in MAXIMA else np.sum
        found[name] = over([part[name] for part in parts], axis=0)
    return found


def _faults_text(faults: Sequence[Fault]) -> str:
    named = "; ".join(map(str, faults[:MOST_FAULTS]))
    return named if len(faults) <= MOST_FAULTS else f"{named}; and {len(faults) - MOST_FAULTS} more"
