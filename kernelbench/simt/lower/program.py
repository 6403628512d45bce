"""What lowering makes of a kernel: everything the machine needs to run it on any grid with any arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelbench.simt import ir
from kernelbench.simt.interface import Kind


@dataclass(frozen=True)
class Lowered:
    """interface.Instruction with a name for its operation ("" for a kind that the loop itself does); one per PTX
    instruction, at the same index."""

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
    """Where a warp keeps a special register ("%tid.x"): 32 lanes of 4 bytes, filled by the machine."""

    name: str
    offset: int


@dataclass(frozen=True)
class Patch:
    """A constant of the register file that is the address of a module variable: 32 lanes of `bytes` at `offset`
    become the address of `symbol` plus `addend` once the variable is placed, without its `shift` lowest bits."""

    offset: int
    bytes: int
    symbol: str
    addend: int
    shift: int = 0


@dataclass(frozen=True)
class Program:
    """A kernel, lowered. All offsets are bytes; a register file belongs to one warp.

    The register file is the registers from 0, then from `image_offset` the constants, as `image`, which no
    instruction writes: it needs to be copied once for a warp, not for each block. Special registers lie inside
    the image too. `zeroed` are (offset, bytes) of registers that may be read before they are written, to be
    cleared for each block, as are all predicates. Shared memory is the static variables, then from
    `dynamic_offset` what the launch gives. `ordered`: blocks must run in order on one thread, because they talk
    through global memory.
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
    variables: Mapping[str, ir.Variable]  # of the module: those addressed, and those their initialisers name
    ordered: bool
    max_threads: tuple[int, ...]
    required_threads: tuple[int, ...]
    cluster: tuple[int, ...]
