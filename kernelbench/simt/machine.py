"""Runs lowered kernels: `Machine.launch` launches a grid and reports counters and faults."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbench.core.errors import DeviceError, PtxError
from kernelbench.simt import interface, ir, native
from kernelbench.simt.device_memory import Allocation, DeviceMemory
from kernelbench.simt.faults import NOTES, Fault, describe_faults
from kernelbench.simt.interface import Sample, Status
from kernelbench.simt.prepared import (
    LARGEST_SHARED,
    LaunchConfiguration,
    PreparedProgram,
    chosen_blocks,
    launch_configuration,
    parameter_block,
    together_of,
)

__all__ = ["Allocation", "DeviceMemory", "LaunchReport", "Machine"]

BUDGET = 1 << 27  # warp instructions that a block may execute; recorded suites need 4.8 million at most, on average
FAULTS = 256  # most records per launch
STACK_BYTES = 1024  # of a thread, for functions that call themselves: a GPU's default (cudaLimitStackSize)
HEAP_BYTES = 8 << 20  # of malloc on the device: a GPU's default (cudaLimitMallocHeapSize)
HEAP_UNIT = 16
PRINTED = 1 << 20  # most bytes that a launch prints, as on a GPU
POLL_S = 0.2  # longest delay until a signal is handled
GROUP_BYTES = 1 << 31  # limit for the memory of co-resident blocks


@dataclass(frozen=True)
class LaunchReport:
    """What one launch did. `counters`: interface.COUNTERS, one per instruction of `sources`. `blocks`: of the grid;
    `blocks_run` of them ran. `sectors_read`, `sectors_written`: distinct sectors of global memory. `notes`: races that
    programs rely on, no errors. `unsound_blocks` read what blocks that did not run would have written. `ended`: False
    if a block does not terminate. `joined`, `unclear`: as in Program."""

    entry: str
    sources: tuple[ir.Instruction, ...]
    counters: npt.NDArray[Any]
    faults: tuple[Fault, ...]
    notes: tuple[Fault, ...]
    instructions: int
    blocks: int
    blocks_run: int
    unsound_blocks: int
    sectors_read: int
    sectors_written: int
    ended: bool
    printed: str = ""  # by printf
    joined: int = 0
    unclear: int = 0


class Machine:
    """PTX's virtual machine: runs programs on `memory`. `sanitize`: with the checked build of the runtime."""

    def __init__(self, memory: DeviceMemory | None = None, *, sanitize: bool = False) -> None:
        self.memory = DeviceMemory() if memory is None else memory
        self._runtime, self._sanitize = native.runtime(sanitize), sanitize
        self._prepared: dict[int, PreparedProgram] = {}  # by id of the program, which PreparedProgram keeps alive
        self._variables: dict[int, tuple[ir.Variable, Allocation]] = {}  # by id of the variable
        self._preparing = threading.Lock()  # launches may come from several threads
        self._running: set[_Call] = set()
        self._heap: tuple[Allocation, npt.NDArray[np.uint8]] | None = None  # and a byte for each of its units
        self._initial: list[tuple[Allocation, npt.NDArray[np.uint8]]] = []  # contents without trailing zeros

    def launch(
        self,
        program: Any,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[Any],
        shared_bytes: int = 0,
        *,
        blocks: Sequence[int] | npt.NDArray[Any] | None = None,
        cluster: Sequence[int] | None = None,
        cooperative: bool = False,
        co_resident: int = 1,
        strict: bool = False,
        budget: int = BUDGET,
        threads: int | None = None,
        goes_on: bool = False,
        incomplete: bool = False,
        in_order: bool = False,
        stack_bytes: int = STACK_BYTES,
        most_shared: int = LARGEST_SHARED,
    ) -> LaunchReport:
        """Run `blocks` (linear indices; None: all) of the grid.

        `arguments`, one per parameter: an allocation, an int (an address), a float, a numpy scalar or bytes of
        exactly its size. `shared_bytes`: dynamic shared memory. `co_resident`: number of blocks that run concurrently,
        group after group; all blocks if `cooperative`. `strict`: also detect uninitialised reads and races. `budget`:
        warp instructions that a block may execute. A subset of blocks is a sample, for which bytes are tracked.
        `goes_on`: more blocks of the same launch follow; the last report counts their distinct sectors together.
        `incomplete`: earlier launches skipped blocks, so unwritten memory is missing rather than uninitialised.
        `in_order`: all earlier blocks have run, so these blocks find the same memory as in a whole run.
        `stack_bytes`: of a thread, for functions that call themselves. `most_shared`: bytes that a block gets at most.

        Raises DeviceError for a launch that a GPU would refuse. KeyboardInterrupt ends a launch promptly.
        """
        with self._preparing:
            prepared = self._prepare(program)
            extent = launch_configuration(program, grid, block, cluster, shared_bytes, most_shared)
            together = together_of(extent, prod(extent.grid) if cooperative else co_resident)
            chosen = chosen_blocks(extent, blocks, together)
            sampled = Sample.SOME_BLOCKS if incomplete or chosen.size < prod(extent.grid) else Sample.EVERY_BLOCK
            if sampled and in_order and not incomplete:
                sampled = Sample.FIRST_BLOCKS
            self._check_memory(prepared, extent, together, stack_bytes)
            heap = self._heap_of(prepared)
            if sampled or strict:
                for one in self.memory.allocations:
                    one.track()
            call = _Call(prepared, extent, parameter_block(program, arguments), chosen, self.memory)
            call.launch.budget, call.launch.stack_bytes = budget, stack_bytes
            if heap is not None:
                call.launch.heap, call.launch.heap_bytes = heap[0].address, heap[0].nbytes
                call.launch.heap_units = heap[1].ctypes.data
            call.launch.local_bytes = program.local_bytes_with(stack_bytes)
            call.launch.group_blocks, call.launch.sampled, call.launch.strict = together, sampled, strict
            call.launch.ordered |= co_resident > 1
            call.launch.threads = threads or len(os.sched_getaffinity(0))
            self._running.add(call)
        try:
            call.run(self._runtime)
        finally:
            with self._preparing:
                self._running.discard(call)
        return self._report(program, call, extent, goes_on)

    def stop(self) -> None:
        """End the launches that other threads are running."""
        with self._preparing:
            for call in self._running:
                call.stop()

    def variable(self, variable: ir.Variable) -> Allocation:
        """The allocation of a module's variable; the first call makes it, with its initial contents."""
        if id(variable) not in self._variables:
            role = "variable"
            place = self.memory.allocate(variable.name, max(variable.bytes, 1), role)
            place.view()[: len(variable.image)] = np.frombuffer(variable.image, np.uint8)
            self._variables[id(variable)] = (variable, place)
        return self._variables[id(variable)][1]

    def _heap_of(self, prepared: PreparedProgram) -> tuple[Allocation, npt.NDArray[np.uint8]] | None:
        """The heap of the device, if the program uses it. What one launch leaves in it the next one finds."""
        if prepared.allocates and self._heap is None:
            place = self.memory.allocate("the heap of malloc", HEAP_BYTES, "scratch")
            self._heap = place, np.zeros(HEAP_BYTES // HEAP_UNIT, np.uint8)
        return self._heap

    def _prepare(self, program: Any) -> PreparedProgram:
        if id(program) not in self._prepared:
            prepared = PreparedProgram(program, self._sanitize)
            prepared.patch(self._addresses(program.variables, program.functions))
            self._prepared[id(program)] = prepared
        return self._prepared[id(program)]

    def _addresses(self, variables: Mapping[str, ir.Variable], functions: Mapping[str, int]) -> dict[str, int]:
        fresh = [one for one in variables.values() if id(one) not in self._variables]
        addresses = {**functions, **{name: self.variable(one).address for name, one in variables.items()}}
        for one in fresh:
            initialised = max([len(one.image), *(place.offset + place.bytes for place in one.relocations)])
            contents = self.variable(one).view()[:initialised]
            for place in one.relocations:
                value = (addresses[place.symbol] + place.addend) & ((1 << (8 * place.bytes)) - 1)
                contents[place.offset : place.offset + place.bytes] = np.frombuffer(
                    value.to_bytes(place.bytes, "little"), np.uint8
                )
            self._initial.append((self.variable(one), contents.copy()))
        return addresses

    def restore_variables(self) -> None:
        """Reset the modules' variables to their initial contents."""
        for place, contents in self._initial:
            place.define()
            self.memory.discard(place)  # zeros that take no memory until they are touched
            place.view()[: contents.size] = contents

    def _check_memory(
        self, prepared: PreparedProgram, extent: LaunchConfiguration, together: int, stack_bytes: int
    ) -> None:
        warps, program = -(-prod(extent.block) // 32), prepared.program
        need = together * (warps * (program.register_bytes + 32 * program.local_bytes_with(stack_bytes)))
        need += together * extent.shared_bytes
        if need > GROUP_BYTES:
            raise DeviceError(f"{together} blocks must run together, which takes {need} bytes, more than {GROUP_BYTES}")

    def touched(self) -> tuple[int, int]:
        """(distinct sectors read, written) since the last call or the last report with `goes_on` False."""
        marks = [one.take_marks() for one in self.memory.allocations]
        return sum(read for read, _ in marks), sum(written for _, written in marks)

    def _report(self, program: Any, call: _Call, extent: LaunchConfiguration, goes_on: bool) -> LaunchReport:
        launch = call.launch
        if launch.status == Status.NO_MEMORY:
            raise DeviceError(f"kernel {program.name}: not enough memory for the registers of its warps")
        if launch.status == Status.INVALID:
            raise PtxError(f"kernel {program.name}: the lowered code jumps out of the kernel")
        read, written = (0, 0) if goes_on else self.touched()
        found = describe_faults(call.faults[: launch.fault_count], program.sources, self.memory, extent.shared_bytes)
        return LaunchReport(
            entry=program.name,
            sources=program.sources,
            counters=call.counters,
            faults=tuple(one for one in found if one.kind not in NOTES),
            notes=tuple(one for one in found if one.kind in NOTES),
            instructions=launch.executed,
            blocks=prod(extent.grid),
            blocks_run=launch.blocks_run,
            unsound_blocks=launch.unsound_blocks,
            sectors_read=read,
            sectors_written=written,
            ended=launch.status == Status.FINISHED,
            printed=call.printed[: launch.printed_bytes].tobytes().decode(errors="replace"),
            joined=program.joined,
            unclear=program.unclear,
        )


class _Call:
    """One call of the runtime: the Launch structure and the memory that it points to."""

    def __init__(
        self,
        prepared: PreparedProgram,
        extent: LaunchConfiguration,
        parameters: bytes,
        blocks: npt.NDArray[np.uint64],
        memory: DeviceMemory,
    ) -> None:
        self.launch = launch = prepared.launch()
        self.counters = np.zeros(len(prepared.program.sources), interface.COUNTERS)
        self.faults = np.zeros(FAULTS, interface.FAULTS)
        self.printed = np.zeros(PRINTED if prepared.prints else 0, np.uint8)
        self._stop = interface.u32(0)
        self._parameters = ctypes.create_string_buffer(parameters, len(parameters) + 16)
        self._blocks = blocks
        self._allocations = (interface.Allocation * max(len(memory.allocations), 1))(
            *(one.mirror() for one in memory.allocations)
        )
        launch.parameters, launch.parameter_bytes = ctypes.addressof(self._parameters), len(parameters)
        launch.blocks, launch.block_count = blocks.ctypes.data, blocks.size
        launch.allocations, launch.allocation_count = ctypes.addressof(self._allocations), len(memory.allocations)
        launch.counters, launch.faults = self.counters.ctypes.data, self.faults.ctypes.data
        launch.printed, launch.printed_capacity = self.printed.ctypes.data, self.printed.size
        launch.fault_capacity, launch.stop = FAULTS, ctypes.addressof(self._stop)
        launch.grid, launch.block, launch.cluster = (
            (interface.u32 * 3)(*axes) for axes in (extent.grid, extent.block, extent.cluster)
        )
        launch.shared_bytes, launch.dynamic_shared_bytes = extent.shared_bytes, extent.dynamic_bytes

    def stop(self) -> None:
        self._stop.value = 1

    def run(self, library: ctypes.CDLL) -> None:
        """Run in a thread, so that signals can interrupt the calling thread, which then sets the stop flag."""
        done = threading.Event()  # Thread.join, once interrupted, treats the thread as stopped
        begun = threading.Lock()  # taken by the launch when it begins, or by an interrupt before

        def execute() -> None:
            if begun.acquire(blocking=False):
                library.simt_launch(ctypes.byref(self.launch))
                done.set()

        try:  # also around start(): memory that the runtime uses must not be freed by an interrupt
            threading.Thread(target=execute, daemon=True).start()
            while not done.wait(POLL_S):
                pass
        except BaseException:
            self.stop()
            if not begun.acquire(blocking=False):
                done.wait()
            raise
