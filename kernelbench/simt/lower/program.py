"""A lowered kernel: everything that Machine needs to run it on any grid with any arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelbench.simt import ir
from kernelbench.simt.interface import Kind


@dataclass(frozen=True)
class Lowered:
    """interface.Instruction with the name of its operation ("" for kinds that the interpreter loop executes). One per
    PTX instruction, at the same index."""

    operation: str
    d: int
    a: int
    b: int
    c: int
    e: int
    f: int
    x: tuple[int, ...]
    immediate: int
    guard: int
    negated: bool
    kind: Kind
    target: int
    reconverge: int


@dataclass(frozen=True)
class SpecialSlot:
    """Slot of a special register ("%tid.x"): 32 lanes of 4 bytes, which the runtime fills."""

    name: str
    offset: int


@dataclass(frozen=True)
class Patch:
    """A constant that depends on the address of a module variable: 32 lanes of `bytes` at `offset` become the address
    of `symbol` plus `addend`, shifted right by `shift`."""

    offset: int
    bytes: int
    symbol: str
    addend: int
    shift: int = 0


@dataclass(frozen=True)
class Program:
    """A lowered kernel. All offsets are in bytes; each warp has its own register file. The runtime checks guards and
    targets before it runs, but not operands: lowering keeps them inside the register file.

    The register file holds the registers and, from `image_offset`, the constants and special registers in `image`. No
    instruction writes to the image, so it is copied once per warp, not per block. `zeroed`: (offset, bytes) of
    registers that may be read before they are written; they are cleared for each block, as are all predicates. Shared
    memory holds the static variables and, from `dynamic_offset`, the dynamic ones. `ordered`: blocks must run in order
    on one thread, because they communicate through global memory.
    """

    name: str
    code: tuple[Lowered, ...]
    sources: tuple[ir.Instruction, ...]
    register_bytes: int
    image_offset: int
    image: bytes
    specials: tuple[SpecialSlot, ...]
    patches: tuple[Patch, ...]
    zeroed: tuple[tuple[int, int], ...]
    predicates: int
    static_shared_bytes: int
    dynamic_offset: int
    local_bytes: int
    parameters: tuple[ir.Parameter, ...]
    parameter_bytes: int
    table: tuple[int, ...]  # targets of all brx.idx
    variables: Mapping[str, ir.Variable]  # of the module, used by the code or by their initialisers
    ordered: bool
    max_threads: tuple[int, ...]
    required_threads: tuple[int, ...]
    cluster: tuple[int, ...]
    reserved: tuple[int, int] = (0, 0)  # offset and bytes of the system's part of shared memory
    functions: Mapping[str, int] = field(default_factory=dict)  # addresses of those that variables point to
    frames: tuple[tuple[int, int], ...] = ()  # of its routines: bytes of a frame here, and of a GPU's stack
    joined: int = 0  # accesses of the machine code that count for several of the PTX
    unclear: int = 0  # groups of accesses that the machine code joins, and that count as in the PTX
    # The code as the runtime reads it, by `sanitize` of PreparedProgram, which makes it once for all machines.
    made: dict[bool, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def local_bytes_with(self, stack_bytes: int) -> int:
        """Local memory of a thread whose calls may take `stack_bytes` of a GPU's stack."""
        largest = max((here for here, _ in self.frames), default=0)
        deepest = max((-(-here * stack_bytes // there) for here, there in self.frames), default=0)
        return -(-(self.local_bytes + deepest + largest) // 16) * 16
