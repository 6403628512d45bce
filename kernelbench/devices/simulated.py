"""The simulator as a device: PTX runs on the CPU, accesses are counted, large grids are sampled."""

import copy
import os
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

import kernelbench
from kernelbench.core import dtypes
from kernelbench.core.counters import LaunchCounters
from kernelbench.core.differences import Differences, differences
from kernelbench.core.errors import DeviceError, MissingLibrary, Unsupported
from kernelbench.core.records import (
    Array,
    Arrays,
    ArraySpec,
    Binary,
    Case,
    Implementation,
    Launch,
    LaunchPlan,
    Scalar,
    TensorMap,
    Tolerance,
)
from kernelbench.core.units import bytes_text
from kernelbench.devices.known import known_gpu
from kernelbench.devices.programs import Programs
from kernelbench.devices.sampled_plan import SMALL_BYTES, BoundLaunch, PlanRun, poison_array, poison_unwritten
from kernelbench.devices.written_elements import element_ranges
from kernelbench.simt import native
from kernelbench.simt.device_memory import Allocation, DeviceMemory, Generator, free_memory
from kernelbench.simt.interface import ByteState
from kernelbench.simt.machine import Machine
from kernelbench.simt.tensor_maps import tensor_map_bytes

VERIFICATION_BYTES = 2 * 2**30  # most memory that verification uses
_KINDS = ("normal", "masked", "mask")  # of the generator; all other distributions are "uniform" to it
RESERVE = 0.8  # share of the free memory that a run of every block may fill


class SimulatedClock:
    """A clock without time; launches are done when they return."""

    resolution_s = 0.0

    def wait(self) -> None:
        """Nothing to wait for."""

    def _none(self, *arguments: Any) -> Any:
        raise DeviceError("the simulator has no clock: it counts, and times nothing")

    flush = record = elapsed = capture = _none


class SimulatedDevice:
    """See contracts.CountingDevice. Plans see the properties of `gpu`, a known GPU."""

    slice_elements = 2**16  # a slice stays in a cache of the processor, through a dozen passes over it

    def __init__(self, gpu: str) -> None:
        self.properties = known_gpu(gpu)
        self.name = f"simulated ({gpu.upper()} properties)"
        self.xp: Any = np
        self.clock = SimulatedClock()
        self.full = self.strict = False
        self._programs = Programs()
        self._start()

    def _start(self) -> None:
        self._memory = DeviceMemory()
        self._machine: Machine | None = None  # made at the first launch, which may have to build the runtime
        self._allocations: dict[int, Allocation] = {}  # by address of their first element
        self._scratch: list[Allocation] = []
        self._one_in: dict[str, int] = {}  # by array: see ArraySpec
        self._last: PlanRun | None = None

    # ---- Memory ----

    def allocate(self, specs: Sequence[ArraySpec]) -> Arrays:
        arrays = {}
        for spec in specs:
            allocation = self._memory.allocate(spec.name, spec.nbytes, spec.role)
            allocation.read_only = spec.role == "input"
            self._one_in[spec.name] = spec.one_in
            array = allocation.view(dtypes.storage(spec.dtype), spec.shape)
            self._allocations[_address(array)] = allocation
            arrays[spec.name] = array
        return arrays

    def fill(self, arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> None:
        """Set generators; values are made when they are first read."""
        for position, spec in enumerate(specs):
            if spec.role == "input":
                mixed = int(np.random.SeedSequence((seed, position)).generate_state(1, np.uint64)[0])
                kind = spec.distribution if spec.distribution in _KINDS else "uniform"
                generator = Generator(kind, spec.dtype, mixed, *_parameters(spec))
                self._of(arrays[spec.name]).generate(generator)

    def poison(self, arrays: Arrays, specs: Sequence[ArraySpec]) -> None:
        """Small outputs at once; in large ones what no kernel wrote, when they are read."""
        for spec in specs:
            if spec.role == "output":
                allocation = self._of(arrays[spec.name])
                allocation.undefine()
                if allocation.nbytes > SMALL_BYTES:
                    self._memory.discard(allocation)
                poison_array(allocation)

    def swap_contents(self, first: Array, second: Array, dtype: str) -> None:
        raise DeviceError("the simulator times nothing, so inputs need not change between samples")

    def digest(self, array: Array) -> int:
        """Constant: inputs cannot change, because a write to one is a fault, and nobody writes outputs after a run."""
        return 0

    def changed(self, arrays: Arrays, specs: Sequence[ArraySpec], seed: int) -> str:
        return ""

    def materialise(self, part: Array) -> Array:
        allocation = self._of(part)
        start = _address(part) - allocation.address
        allocation.materialise(start, start + part.nbytes)
        return part

    def compare(self, got: Any, dtype: str, expected: Any, tolerance: Tolerance) -> Differences:
        wide = np.asarray(expected, np.float64)  # of Operation.moves
        return differences(np, dtypes.widen(np, got, dtype), wide, tolerance, dtype)

    def red_zone_damage(self) -> str:
        """None: an access outside of all arrays is a fault, and is not done."""
        return ""

    def written(self, output: Array) -> Array | None:
        allocation = self._of(output)
        if self._last is None or not self._last.sampled:
            poison_unwritten(allocation)
            return None
        sectors = self._last.written.get(allocation.name)
        if sectors is None:
            return np.empty((0, 2), np.int64)
        return element_ranges(
            sectors, self._last.states(allocation.name), ByteState.SOUND, output.itemsize, output.size
        )

    def free_bytes(self) -> int:
        return min(free_memory(), VERIFICATION_BYTES)

    def release(self) -> None:
        self._start()

    def _of(self, array: Array) -> Allocation:
        """The allocation that an array, or a part of it, lies in."""
        starts = sorted(self._allocations)
        return self._allocations[starts[bisect_right(starts, _address(array)) - 1]]

    # ---- Launching ----

    def prepare(self) -> None:
        native.runtime()

    def beside(self) -> "SimulatedDevice | None":
        if self.full or self.strict or self._memory.limited:
            return None
        other = copy.copy(self)  # with the same programs
        other._start()
        return other

    def stop(self) -> None:
        if self._machine is not None:
            self._machine.stop()

    def executable(
        self,
        implementation: Implementation,
        case: Case,
        plan: LaunchPlan | None,
        binary: Binary | None,
        arrays: Arrays,
    ) -> PlanRun:
        if plan is None or binary is None:
            raise MissingLibrary(f"{implementation.name} is a library call, without PTX that the simulator could run")
        if plan.host is not None:
            raise Unsupported("its host code launches the kernels; the simulator runs only launches of a plan")
        self._check_memory(plan, arrays)
        allocations = {name: self._of(array) for name, array in arrays.items()} | self._scratch_of(plan)
        outputs = {name: one for name, one in allocations.items() if one.role == "output"}
        steps = [self._step(binary, launch, allocations, outputs) for launch in plan.launches]
        self._machine = self._machine or Machine(self._memory)
        due = {name: one.nbytes // self._one_in[name] for name, one in outputs.items()}
        self._last = PlanRun(self._machine, steps, allocations, due, full=self.full, strict=self.strict)
        return self._last

    def counts(self, executable: Any) -> tuple[LaunchCounters, ...]:
        assert isinstance(executable, PlanRun)
        return executable.counters

    def _step(
        self, binary: Binary, launch: Launch, allocations: Mapping[str, Allocation], outputs: Mapping[str, Allocation]
    ) -> BoundLaunch:
        arguments = tuple(_argument(one, allocations) for one in launch.arguments)
        written = tuple(name for name in outputs if name in launch.arrays)
        program = self._programs.of(binary, launch.entry)
        facts, gpu = binary.facts[launch.entry], self.properties
        needs = launch.threads, facts.registers, facts.shared_bytes + launch.shared_bytes
        if problem := gpu.refusal(*needs):
            raise DeviceError(f"{launch.entry}: too many resources requested for launch: {problem}")
        if prod(program.cluster) > (most := gpu.max_cluster):
            text = f"clusters of {prod(program.cluster)} blocks are over the {most} of this GPU"
            raise DeviceError(f"{launch.entry}: {text}")
        if launch.together > 1:
            each = gpu.resident_blocks(*needs)
            launch.check_resident(each * gpu.multiprocessors)
        return BoundLaunch(launch, program, arguments, written)

    def _scratch_of(self, plan: LaunchPlan) -> dict[str, Allocation]:
        """New scratch for each plan, so that a kernel which relies on what another left there is detected."""
        for allocation in self._scratch:
            self._memory.free(allocation)
        self._scratch = [self._memory.allocate(name, nbytes, "scratch") for name, nbytes in plan.scratch]
        return {one.name: one for one in self._scratch}

    def _check_memory(self, plan: LaunchPlan, arrays: Arrays) -> None:
        """DeviceError if a run of every block would fill the memory."""
        together = any(launch.cooperative for launch in plan.launches)
        if not (self.full or self.strict or together):
            return
        needed = sum(array.nbytes for array in arrays.values()) + sum(nbytes for _, nbytes in plan.scratch)
        needed *= 2 if self.strict else 1  # strict keeps a state for each byte
        room = int(RESERVE * free_memory())
        if needed > room:
            raise DeviceError(
                f"all of its blocks need {bytes_text(needed)} of memory, {bytes_text(room)} are free; choose smaller "
                "cases with --filter"
                + ("" if together else ", or leave out --full and --strict, so that the simulator samples the blocks")
            )

    # ---- State ----

    def conditions(self) -> Mapping[str, Any]:
        return {}

    def environment(self) -> Mapping[str, Any]:
        own = self.properties
        return {
            "name": self.name,
            "simulator": {
                "version": kernelbench.__version__,
                "compiler": native.compiler_text(),
                "threads": len(os.sched_getaffinity(0)),
                **({"full": True} if self.full else {}),
            },
            "compute_capability": ".".join(map(str, own.compute_capability)),
            "multiprocessors": own.multiprocessors,
            "l2_bytes": own.l2_bytes,
            "memory_bytes": own.memory_bytes,
            "peak_bytes_per_s": own.peak_bytes_per_s,
        }


def _parameters(spec: ArraySpec) -> tuple[float, float]:
    """Parameters of the generator, by distribution."""
    one_each: dict[str, tuple[float, float]] = {
        "normal": (0.0, 1.0),
        "uniform": (0.0, 1.0),
        "zeros": (0.0, 0.0),
        "ones": (1.0, 1.0),
        "large": (-spec.largest, spec.largest),
        "masked": (float(spec.row[0]), float(spec.row[1])),
        "mask": (0.5, 0.0),
        "bits": (0.0, 256.0),
    }
    return one_each[spec.distribution]


def _argument(one: str | Scalar | TensorMap, allocations: Mapping[str, Allocation]) -> Any:
    if isinstance(one, Scalar):
        return dtypes.storage(one.dtype)(one.value)
    if isinstance(one, TensorMap):
        return tensor_map_bytes(one.tiling, allocations[one.array].address)
    return allocations[one].address


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
