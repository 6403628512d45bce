"""`simulate`: one launch of one kernel of a PTX text, NumPy arrays in, NumPy arrays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbench.core.counters import Counters
from kernelbench.core.errors import DeviceError, PtxError
from kernelbench.simt import native
from kernelbench.simt.faults import Fault
from kernelbench.simt.grouping import MachineLines
from kernelbench.simt.inline import inline_calls
from kernelbench.simt.ir import Module
from kernelbench.simt.launch_counters import launch_counters
from kernelbench.simt.lower import lower
from kernelbench.simt.machine import STACK_BYTES, Allocation, DeviceMemory, Machine
from kernelbench.simt.parse import parse
from kernelbench.simt.prepared import LARGEST_SHARED
from kernelbench.simt.tensor_maps import TensorMap
from kernelbench.simt.textures import Texture

Value = npt.NDArray[Any] | Texture | TensorMap | np.generic | int | float | bytes

NO_CODE: Mapping[str, MachineLines] = MappingProxyType({})


@dataclass(frozen=True)
class Simulation:
    """What one launch did.

    `outputs`: every array after the launch, by name, with the shape and type that it was passed with.
    `counters`: of the whole grid; `lines`: the same by (file, line) of the source. `faults`: mistakes of the kernel;
    `notes`: races that programs rely on. `ended`: False if a block does not end. `printed`: the text of
    printf, at most 1 MiB, in no order of warps. `grouping`: as in LaunchCounters.
    """

    kernel: str
    outputs: Mapping[str, npt.NDArray[Any]]
    counters: Counters
    lines: Mapping[tuple[str, int], Counters]
    faults: tuple[Fault, ...]
    notes: tuple[Fault, ...]
    ended: bool
    printed: str
    grouping: str


def simulate(
    ptx: str,
    kernel: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    arrays: Mapping[str, Value],
    shared_bytes: int = 0,
    *,
    strict: bool = False,
    cooperative: bool = False,
    threads: int | None = None,
    stack_bytes: int = STACK_BYTES,
    machine: Mapping[str, MachineLines] = NO_CODE,
    most_shared: int = LARGEST_SHARED,
) -> Simulation:
    """Run `kernel` of `ptx` on the CPU with the launch that a GPU would get.

    `kernel`: as in the PTX, or a C++ name that only one kernel has. `grid`, `block`: blocks and threads, one number or
    up to three. `arrays`: the kernel's arguments in their order, by names of your choice. A NumPy array becomes an
    array in device memory, which the kernel gets the address of; it is copied, and never changed itself. An array that
    is passed twice is one array on the device. A Texture becomes a texture or surface object, a TensorMap what
    cuTensorMapEncodeTiled makes. Scalars (NumPy's, Python's, or bytes for a structure) must have the size of their
    parameter. `shared_bytes`: dynamic shared memory.
    `strict`: also detect races on shared memory and reads of uninitialised memory. `cooperative`: all blocks run
    concurrently. `threads`: of the CPU; None: all. `stack_bytes`: of a thread, for functions that call themselves.
    `machine`: by kernel, the lines of the cubin made of this PTX, as kernelbench.build.machine_lines(cubin) reads them;
    shared accesses that ptxas joined then count as joined. `most_shared`: bytes of shared memory that a block gets at
    most.

    Raises PtxError for PTX that cannot be read or run, DeviceError for a launch that a GPU would refuse, NoCompiler or
    BuildError if the simulator's runtime cannot be built. Mistakes of the kernel do not raise: they are in `faults`.
    """
    module = parse(ptx)
    name = kernel_named(module, kernel)
    program = lower(inline_calls(module, name), module, native.has_operation, machine.get(name, {}))
    device, sizes = Machine(), [one.bytes for one in program.parameters]
    given = {key: value.array if isinstance(value, Texture | TensorMap) else value for key, value in arrays.items()}
    passed = {key: value for key, value in given.items() if isinstance(value, np.ndarray)}
    places = _placed(device.memory, passed)
    report = device.launch(
        program,
        _axes(grid),
        _axes(block),
        [
            _argument(device.memory, places, key, value, number < len(sizes) and sizes[number])
            for number, (key, value) in enumerate(arrays.items())
        ],
        shared_bytes,
        cooperative=cooperative,
        strict=strict,
        threads=threads,
        stack_bytes=stack_bytes,
        most_shared=most_shared,
    )
    found = launch_counters(report)
    outputs = {key: places[id(array)].view(array.dtype, array.shape).copy() for key, array in passed.items()}
    return Simulation(
        kernel=name,
        outputs=MappingProxyType(outputs),
        counters=found.counters,
        lines=MappingProxyType(dict(found.lines)),
        faults=report.faults,
        notes=report.notes,
        ended=report.ended,
        printed=report.printed,
        grouping=found.grouping,
    )


def _placed(memory: DeviceMemory, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[int, Allocation]:
    """Each array in device memory, by its id."""
    places: dict[int, Allocation] = {}
    for name, array in arrays.items():
        if not array.dtype.isnative or array.dtype.hasobject:
            raise DeviceError(
                f"array {name}: expected numbers in this machine's byte order, got {array.dtype.str}; convert it with "
                "astype"
            )
        if id(array) not in places:
            place = places[id(array)] = memory.allocate(name, array.nbytes, "input")
            place.view(array.dtype, array.shape)[...] = array
    return places


def _argument(memory: DeviceMemory, places: Mapping[int, Allocation], name: str, value: Value, size: int) -> Any:
    """What is passed for a parameter of `size` bytes."""
    if isinstance(value, Texture | TensorMap):
        found = value.descriptor(places[id(value.array)].address)
        if size == len(found):  # a __grid_constant__ structure
            return found
        handle = memory.allocate(f"object {name}", len(found), "input")
        handle.view()[...] = np.frombuffer(found, np.uint8)
        handle.read_only = True
        return handle
    return places[id(value)] if isinstance(value, np.ndarray) else value


def kernel_named(module: Module, name: str = "") -> str:
    """The kernel's name in the PTX. `name`: that name, or a C++ name that one kernel has; '': the only kernel.

    PtxError, which lists the kernels, if there is none or more than one."""
    kernels = [one.name for one in module.functions.values() if one.entry and one.defined]
    if name in kernels:
        return name
    mangled = f"{len(name)}{name}"  # as in _Z5saxpyifPf
    found = [one for one in kernels if one.startswith("_Z") and mangled in one] if name else kernels
    if len(found) == 1:
        return found[0]
    which = f"{len(found)} kernels are called {name!r}" if found and name else f"{len(found)} kernels"
    problem = f"kernel {name!r} is not in the PTX" if not found else which
    raise PtxError(f"{problem}; it has {', '.join(kernels) or 'no kernel'}")


def _axes(given: int | Sequence[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)
