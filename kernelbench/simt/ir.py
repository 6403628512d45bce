"""Intermediate representation of PTX, with the names of the PTX ISA.

An instruction keeps its text and its line in the .cu file, so that counters and faults can be shown at that line.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field

# Bytes of the fundamental types. A predicate register is a mask of 32 lanes.
TYPE_BYTES = {
    "b8": 1, "u8": 1, "s8": 1,
    "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4, "tf32": 4,
    "b64": 8, "u64": 8, "s64": 8, "f64": 8, "f32x2": 8,
    "b128": 16,
    "pred": 4,
}  # fmt: skip


# ---- Operands ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Register:
    """A declared register. The parser resolves scopes, so its name is unique within the function."""

    name: str
    type: str  # as declared: "b32", "f32", "pred"


@dataclass(frozen=True)
class Special:
    """A special register: %tid.x, %laneid, %lanemask_lt, WARP_SZ."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A constant: an integer, or the bits of a floating-point number (0f3F800000, 0d3FF0000000000000)."""

    value: int
    kind: str = "int"  # "int", "f32", "f64"


@dataclass(frozen=True)
class Symbol:
    """The address of a variable or parameter, or the name of a function."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """A memory operand [base + offset] in bytes. `base` None: an absolute address."""

    base: Register | Symbol | None
    offset: int = 0


@dataclass(frozen=True)
class Vector:
    """{a, b, c, d}; an unused element `_` is Discard."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Discard:
    """The sink `_`."""


@dataclass(frozen=True)
class ResultPair:
    """d|p: a result and a predicate (shfl, setp, match)."""

    first: Register | Discard
    second: Register | Discard


@dataclass(frozen=True)
class Not:
    """!p, a negated predicate."""

    register: Register


@dataclass(frozen=True)
class Label:
    name: str


@dataclass(frozen=True)
class Group:
    """(a, b): the arguments or results of a call; [map, {x, y}]: an address with coordinates (tensors, textures)."""

    items: tuple[Operand, ...]


Operand = Register | Special | Immediate | Symbol | Address | Vector | Discard | ResultPair | Not | Label | Group


# ---- Code ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SourceLine:
    """A line of the .cu or of an included header; `file` as nvcc wrote it."""

    file: str
    line: int


@dataclass(frozen=True)
class Guard:
    """@p or @!p before an instruction."""

    register: Register
    negated: bool


@dataclass(frozen=True)
class Instruction:
    opcode: tuple[str, ...]  # "ld.global.nc.v4.f32" split at the dots
    operands: tuple[Operand, ...]
    guard: Guard | None
    text: str  # one line, as in the module
    ptx_line: int  # in the PTX text, from 1
    source: SourceLine | None  # of the statement; for inlined functions the innermost line

    @property
    def name(self) -> str:
        return ".".join(self.opcode)


@dataclass(frozen=True)
class Parameter:
    """A formal parameter; `offset` in its function's parameter block."""

    name: str
    type: str
    offset: int
    bytes: int
    alignment: int


@dataclass(frozen=True)
class Relocation:
    """The address of `symbol` plus `addend`, `bytes` wide, which is stored at `offset` of a variable."""

    offset: int
    bytes: int
    symbol: str
    addend: int
    generic: bool


@dataclass(frozen=True)
class Variable:
    """A variable in memory, of the module or of a function."""

    name: str
    space: str  # global, const, shared, local, param
    type: str
    bytes: int  # 0 for `extern .shared x[]`, whose size the launch sets
    alignment: int
    dynamic: bool = False  # extern .shared of unknown size
    image: builtins.bytes = b""  # initial contents; empty for zeros
    relocations: tuple[Relocation, ...] = ()
    frame: str = ""  # of inlined code: the routine that has it in its frame; empty for the kernel


@dataclass(frozen=True)
class Routine:
    """A function that is called, not inlined, because it may call itself. Its code are the instructions from `start` to
    `end`, which is `return`. `results`, `parameters`: its variables for them."""

    name: str
    start: int
    end: int
    results: tuple[Variable, ...]
    parameters: tuple[Variable, ...]


@dataclass(frozen=True)
class Function:
    """A kernel (.entry) or device function (.func). `labels` map to indices of `instructions`; a label after the last
    one is len(instructions). `registers`: those that its code uses."""

    name: str
    entry: bool
    parameters: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    registers: Mapping[str, Register]
    variables: tuple[Variable, ...]  # its own shared, local and param variables
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # .branchtargets: name -> labels
    max_threads: tuple[int, ...] = ()  # .maxntid
    required_threads: tuple[int, ...] = ()  # .reqntid
    cluster: tuple[int, ...] = ()  # .reqnctapercluster
    defined: bool = True  # False for a declaration: vprintf, __assertfail
    routines: tuple[Routine, ...] = ()  # of inlined code: what follows the kernel's own instructions


@dataclass(frozen=True)
class Module:
    """One PTX text."""

    version: str
    target: str  # sm_90
    functions: Mapping[str, Function]
    variables: Mapping[str, Variable]
