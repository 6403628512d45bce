"""simulate: a .cu or .ptx -> PTX -> the simulator. One launch of one kernel, with arrays described by text."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from kernelbench.core import places
from kernelbench.core.errors import DeviceError, InputError, PtxError
from kernelbench.core.sources import source_content
from kernelbench.devices.known import KNOWN
from kernelbench.simt import Simulation, kernel_named
from kernelbench.simt import simulate as launch
from kernelbench.simt.arguments import kernel_arguments
from kernelbench.simt.grouping import MachineLines
from kernelbench.simt.ir import Module
from kernelbench.simt.machine import STACK_BYTES
from kernelbench.simt.parse import parse
from kernelbench.simt.prepared import LARGEST_BLOCK, LARGEST_GRID, LARGEST_SHARED, LARGEST_THREADS, axis_limits

SEED = 0


@dataclass(frozen=True)
class SimulateRequest:
    """What is run. `arguments`: see `simt.arguments`."""

    file: Path
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[str, ...]
    shared_bytes: int = 0
    stack_bytes: int | None = None
    strict: bool = False
    architecture: str = "sm_90"
    seed: int = SEED
    nvcc: Path | None = None


def simulate(asked: SimulateRequest) -> Simulation:
    """Compile the file unless it is PTX, and run the launch.

    Raises InputError for a launch that a GPU would refuse, an argument that cannot be understood and an unknown kernel,
    BuildError if nvcc refuses the file."""
    _check_axes(asked)
    ptx, machine = _code(asked)
    module = parse(ptx)
    kernel = _kernel(module, asked)
    most_shared = _most_shared(module.target)
    if asked.shared_bytes > most_shared:
        raise InputError(
            f"--shared {asked.shared_bytes}: expected at most {most_shared} bytes, a block's limit on {module.target}"
        )
    arrays = kernel_arguments(asked.arguments, module.functions[kernel].parameters, asked.seed)
    try:
        return launch(
            *(ptx, kernel, asked.grid, asked.block, arrays, asked.shared_bytes),
            strict=asked.strict,
            stack_bytes=STACK_BYTES if asked.stack_bytes is None else asked.stack_bytes,
            machine=machine,
            most_shared=most_shared,
        )
    except DeviceError as error:  # all of the launch is from the options
        raise InputError(f"{asked.file}: {error}") from error


def _check_axes(asked: SimulateRequest) -> None:
    """InputError for a grid or a block that no kernel can have."""
    block = f"--block {','.join(map(str, asked.block))}"
    for option, given, largest, what in (
        (f"--grid {','.join(map(str, asked.grid))}", asked.grid, LARGEST_GRID, "blocks"),
        (block, asked.block, LARGEST_BLOCK, "threads"),
    ):
        if not all(1 <= one <= most for one, most in zip(given, largest, strict=False)):
            raise InputError(f"{option}: expected {what}: {axis_limits(largest)}")
    if (threads := prod(asked.block)) > LARGEST_THREADS:
        raise InputError(f"{block}: expected at most {LARGEST_THREADS} threads in a block, got {threads}")


def _kernel(module: Module, asked: SimulateRequest) -> str:
    """The kernel's name in the PTX."""
    try:
        return kernel_named(module, asked.entry)
    except PtxError as error:
        if not any(one.entry and one.defined for one in module.functions.values()):
            expected = (
                ".visible .entry NAME(...)" if asked.file.suffix == ".ptx" else 'extern "C" __global__ void NAME(...)'
            )
            raise InputError(f"{asked.file}: no kernel here; expected {expected} {{ ... }}") from error
        raise InputError(f"{asked.file}: {error}; choose one with --entry") from error


def _most_shared(target: str) -> int:
    """Bytes of shared memory that a block gets at most on a target like sm_90a; on any GPU if none of it is known."""
    known = (one for one in KNOWN.values() if "sm_{}{}".format(*one.compute_capability) == target.rstrip("af"))
    return next((one.shared_per_block_optin for one in known), LARGEST_SHARED)


def _code(asked: SimulateRequest) -> tuple[str, Mapping[str, MachineLines]]:
    """The PTX, and the machine code of its lines if the file is compiled here."""
    text = source_content(asked.file).decode(errors="replace")
    if asked.file.suffix == ".ptx":
        return text, {}
    from kernelbench.build import BuildRequest, build, find_compiler, machine_lines

    request = BuildRequest(asked.file, (), asked.architecture)
    compiler = find_compiler(asked.nvcc)
    found = build([request], compiler, places.cache())[request]
    if isinstance(found, Exception):
        raise found
    return found.ptx_path.read_text(), machine_lines(found.path, compiler)
