"""simulate: a .cu or .ptx -> PTX -> the simulator. One launch of one kernel, with arrays described by text."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelbench.core import places
from kernelbench.core.sources import source_content
from kernelbench.simt import Simulation, kernel_named
from kernelbench.simt import simulate as launch
from kernelbench.simt.arguments import kernel_arguments
from kernelbench.simt.grouping import MachineLines
from kernelbench.simt.machine import STACK_BYTES
from kernelbench.simt.parse import parse

SEED = 0


@dataclass(frozen=True)
class Launch:
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


def simulate(asked: Launch) -> Simulation:
    """Compile the file unless it is PTX, and run the launch.

    Raises InputError for an argument that cannot be understood, BuildError if nvcc refuses the file."""
    ptx, machine = _code(asked)
    module = parse(ptx)
    kernel = kernel_named(module, asked.entry)
    arrays = kernel_arguments(asked.arguments, module.functions[kernel].parameters, asked.seed)
    return launch(
        *(ptx, kernel, asked.grid, asked.block, arrays, asked.shared_bytes),
        strict=asked.strict,
        stack_bytes=STACK_BYTES if asked.stack_bytes is None else asked.stack_bytes,
        machine=machine,
    )


def _code(asked: Launch) -> tuple[str, Mapping[str, MachineLines]]:
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
