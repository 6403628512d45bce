"""A launch plan on the simulator, run whole or sampled at the same fractions of each launch's grid."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbench.core.contracts import POISON_BYTE
from kernelbench.core.counters import SECTOR_BYTES, LaunchCounters
from kernelbench.core.errors import DeviceError
from kernelbench.core.records import Launch
from kernelbench.devices.block_sample import (
    GROUPS,
    MOST_BLOCKS,
    Blocks,
    Grid,
    Spans,
    require_room,
    run_first_blocks,
    run_sample,
)
from kernelbench.devices.part_counters import join_counters, may_be_off
from kernelbench.devices.sample_reach import LaunchWrites, bytes_written, can_run_whole, last_shortfall, shortfall
from kernelbench.devices.written_elements import Integers
from kernelbench.simt.faults import Fault
from kernelbench.simt.interface import ByteState
from kernelbench.simt.launch_counters import launch_counters
from kernelbench.simt.lower import Program
from kernelbench.simt.machine import POLL_S, Allocation, LaunchReport, Machine

WORK = 4_000_000  # warp instructions per launch beyond which its grid is sampled
WRITTEN_BYTES = 2**23  # about what a sample may write of the largest output, all of which is verified
WHOLE_WORK = 8 * WORK  # of all launches, up to which a plan is run whole if no sample of it can be verified
LEAST_SLICES = 4  # per group, where a later launch reads what an earlier one wrote
BUDGET = 2**27  # warp instructions per block beyond which it counts as endless
SMALL_BYTES = 2**26
LOOKED_AT = 2**12  # sectors at a time, to find out whether any output is verifiable
MOST_FAULTS = 3  # in the reason of a row


@dataclass(frozen=True)
class BoundLaunch:
    """One launch with everything it needs. `outputs`: the arrays among its arguments that are verified."""

    launch: Launch
    program: Program
    arguments: tuple[Any, ...]
    outputs: tuple[str, ...]


class PlanRun:
    """Runs a plan when called; then it has the counters, and knows what was written of each output."""

    def __init__(
        self,
        machine: Machine,
        steps: Sequence[BoundLaunch],
        arrays: Mapping[str, Allocation],
        due: Mapping[str, int],  # bytes that kernels should write, by output
        *,
        full: bool,
        strict: bool,
    ) -> None:
        self._machine, self._steps, self._due = machine, steps, due
        self._outputs = {name: one for name, one in arrays.items() if one.role == "output"}
        self._nbytes = sum(one.nbytes for one in arrays.values())
        self._temporary = [one for one in arrays.values() if one.role != "input"]
        self._full, self._strict = full or strict, strict
        self._share = min(1.0, WRITTEN_BYTES / max((one.nbytes for one in self._outputs.values()), default=1))
        self._least = LEAST_SLICES if len(steps) > 1 else 1
        self.counters: tuple[LaunchCounters, ...] = ()
        self.sampled = False
        self._parts: list[LaunchWrites] = []
        self.written: dict[str, Integers] = {}  # by output: sectors written by the last launch that wrote any of it

    def __call__(self) -> None:
        """Run a sample if it can be verified, or if a whole run would be too much work; else run all blocks. Run all,
        too, if the sample wrote too little: DeviceError if that would be far too much work."""
        self._go_through(self._full)
        if not self.sampled:
            return
        few = all(prod(step.launch.grid) <= MOST_BLOCKS for step in self._steps)
        work = _instructions(self.counters)
        if not self._verifiable():
            if few and work <= WHOLE_WORK:
                self._run_whole()
        else:
            self._make_up(few=few, work=work)

    def _make_up(self, *, few: bool, work: int) -> None:
        """Run all blocks if the sample wrote too little of an output. `work`: warp instructions; `few`: not too many
        blocks for it. DeviceError if it is too much, and no earlier launch wrote the rest."""
        if short := last_shortfall(self._parts, self._due):
            if few and can_run_whole(work, self._nbytes):
                self._run_whole()
                first, note = self.counters[0], f"run whole, because {short}"
                self.counters = (replace(first, notes=(note, *first.notes)), *self.counters[1:])
            elif short := shortfall(self._parts, self._due):
                raise DeviceError(f"{short}; is the grid large enough? --full runs all")

    def _run_whole(self) -> None:
        for allocation in self._temporary:
            allocation.undefine()
            poison_array(allocation)
        self._go_through(full=True)

    def _go_through(self, full: bool) -> None:
        self.counters, self.sampled, self.written, self._parts = (), False, {}, []
        self._machine.restore_variables()  # a sample may leave tickets and flags in states that no whole launch leaves
        within: Spans | None = None
        for step in self._steps:
            self._unmark(step)
            run = _StepRun(self._machine, step, self._outputs, strict=self._strict, incomplete=self.sampled)
            within = self._run(run, within, full)
            written = run.written()
            self.written |= written
            counted = run.counters()
            self._parts.append(run.writes(written, counted.blocks))
            self.counters += (counted,)
            self.sampled |= counted.blocks_run < counted.blocks

    def _verifiable(self) -> bool:
        """Whether any output holds what a whole run would have written."""
        return any(
            (self._states(name, sectors) == ByteState.SOUND).any()
            for name, written in self.written.items()
            for sectors in np.split(written, range(LOOKED_AT, written.size, LOOKED_AT))
        )

    def states(self, output: str) -> npt.NDArray[np.uint8]:
        """States of the bytes in the written sectors of an output, [sectors, 32]."""
        return self._states(output, self.written[output])

    def _states(self, output: str, sectors: Integers) -> npt.NDArray[np.uint8]:
        states = self._outputs[output].states
        assert states is not None, "a sampled launch tracks bytes"
        return states.reshape(-1, SECTOR_BYTES)[sectors]

    def _unmark(self, step: BoundLaunch) -> None:
        """Clear the marks of written sectors in outputs that this launch may write again: if it rewrites only a part,
        the rest is an intermediate result."""
        for name in step.outputs:
            if name in self.written:
                self._outputs[name].track()
                self._outputs[name].written[self.written[name]] = 0

    def _run(self, run: _StepRun, within: Spans | None, full: bool) -> Spans | None:
        """Run a launch; returns the spans on which later launches may rely, None for everything."""
        x, y, z = (*run.step.program.cluster, 1, 1, 1)[:3]
        grid, cluster = run.step.launch.grid, (x, y, z)
        if full or run.step.launch.cooperative or (within is None and prod(grid) <= GROUPS * self._least):
            require_room(prod(grid))
            run(None)
            return None
        if run.in_order:
            run_first_blocks(grid, WORK, run, max(run.step.launch.co_resident, prod(cluster)))
            return within
        return run_sample(Grid(grid, cluster), WORK, self._share, within, run, self._least, run.each)


class _StepRun:
    """One launch, whose blocks are run at once or in several parts."""

    def __init__(
        self, machine: Machine, step: BoundLaunch, outputs: Mapping[str, Allocation], *, strict: bool, incomplete: bool
    ) -> None:
        self.step, self._machine, self._outputs = step, machine, outputs
        self._strict, self._incomplete = strict, incomplete
        self.in_order = step.program.ordered or step.launch.co_resident > 1
        self._reports: list[LaunchReport] = []
        self._before: list[tuple[int, Mapping[str, int]]] = []  # blocks run and bytes written, by part run in order

    def __call__(self, blocks: Blocks | None) -> int:
        """Run these blocks, all for None; returns their warp instructions. DeviceError names faults."""
        if self.in_order and blocks is not None:
            self._before.append((self._blocks_run, self._amounts(self.written())))
        return self._kept(self._launched(blocks))

    def each(self, parts: Sequence[Blocks]) -> list[int]:
        """The same for parts of so few blocks that one CPU runs each."""
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            futures = [pool.submit(self._launched, one) for one in parts]
            try:
                return [self._kept(_result(one)) for one in futures]
            except BaseException:  # such as KeyboardInterrupt, of which only this thread hears
                pool.shutdown(wait=False, cancel_futures=True)
                while not all(one.done() for one in futures):  # one that prepares its launch runs later
                    self._machine.stop()
                    time.sleep(POLL_S / 10)
                raise

    def _launched(self, blocks: Blocks | None) -> LaunchReport:
        launch = self.step.launch
        return self._machine.launch(
            self.step.program,
            launch.grid,
            launch.block,
            self.step.arguments,
            launch.shared_bytes,
            blocks=blocks,
            cooperative=launch.cooperative,
            co_resident=launch.co_resident,
            strict=self._strict,
            budget=BUDGET,
            goes_on=True,
            incomplete=self._incomplete,
            in_order=self.in_order,
        )

    def _kept(self, report: LaunchReport) -> int:
        if report.faults:
            raise DeviceError(_faults_text(report.faults))
        self._reports.append(report)
        return report.instructions

    def counters(self) -> LaunchCounters:
        """Counters of all parts together."""
        read, written = self._machine.touched()
        together = replace(
            self._reports[0],
            counters=join_counters([one.counters for one in self._reports]),
            blocks_run=self._blocks_run,
            notes=tuple(note for one in self._reports for note in one.notes),
            sectors_read=read,
            sectors_written=written,
        )
        return replace(launch_counters(together), may_be_off=may_be_off(self._reports, in_order=self.in_order))

    @property
    def _blocks_run(self) -> int:
        return sum(one.blocks_run for one in self._reports)

    def _amounts(self, written: Mapping[str, Integers]) -> dict[str, int]:
        """Bytes in these sectors that were written, by output."""
        return {name: bytes_written(self._outputs[name], sectors) for name, sectors in written.items()}

    def writes(self, written: Mapping[str, Integers], blocks: int) -> LaunchWrites:
        """How much of each output those of `blocks` wrote that ran. For blocks in order, the rate of at least the last
        half; 0 for others."""
        amounts, ran = self._amounts(written), self._blocks_run
        at, before = max(
            (one for one in self._before if 2 * one[0] <= ran), key=lambda one: one[0], default=(0, amounts)
        )
        late = {name: (size - before.get(name, 0)) * blocks / (ran - at) for name, size in amounts.items()}
        return LaunchWrites(amounts, ran / blocks, late)

    def written(self) -> dict[str, Integers]:
        """Written sectors, by output."""
        found = {name: self._outputs[name].written_sectors() for name in self.step.outputs}
        return {name: sectors for name, sectors in found.items() if sectors.size}


def _result(future: Future[LaunchReport]) -> LaunchReport:
    while not future.done():  # a signal that another thread gets does not end a wait without a limit
        wait((future,), POLL_S)
    return future.result()


def poison_array(allocation: Allocation) -> None:
    """Overwrite a small array, so that what no kernel writes cannot pass for a result."""
    if allocation.nbytes <= SMALL_BYTES:
        allocation.view()[:] = POISON_BYTE


def poison_unwritten(allocation: Allocation) -> None:
    """The same for a large array, after a run of all blocks and only where nothing was written."""
    if allocation.nbytes > SMALL_BYTES and not allocation.written.all():
        contents = allocation.view()
        for sector in np.flatnonzero(allocation.written == 0).tolist():
            contents[sector * SECTOR_BYTES : (sector + 1) * SECTOR_BYTES] = POISON_BYTE


def _instructions(launches: Sequence[LaunchCounters]) -> int:
    return sum(one.counters.warp_instructions for one in launches)


def _faults_text(faults: Sequence[Fault]) -> str:
    named = "; ".join(map(str, faults[:MOST_FAULTS]))
    return named if len(faults) <= MOST_FAULTS else f"{named}; and {len(faults) - MOST_FAULTS} more"
