"""Offsets of a kernel's variables in shared memory, in local memory and in the parameter block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernelbench.simt import ir

RESERVED = "%reserved_smem_offset"  # special registers with offsets in the system's part of shared memory
RESERVED_BYTES = 1024
DYNAMIC_ALIGNMENT = 16  # bytes; least alignment of dynamic shared memory, which follows the static variables


@dataclass(frozen=True)
class VariablePlace:
    """`offset` in shared memory, local memory or the parameter block (param). Machine allocates global and const
    variables. `framed`: the offset counts from the frame of the running routine."""

    space: str
    offset: int
    bytes: int
    framed: bool = False


class VariableLayout:
    """All variables that a function can use. A param variable that is not a kernel parameter holds arguments of an
    inlined call and lies in local memory."""

    def __init__(self, function: ir.Function, module: ir.Module) -> None:
        self.parameters = {one.name: VariablePlace("param", one.offset, one.bytes) for one in function.parameters}
        self.parameter_bytes = max((one.offset + one.bytes for one in function.parameters), default=0)
        named = _symbols(function)
        own = [variable for variable in function.variables if variable.name in named and not variable.frame]
        everywhere = [variable for variable in module.variables.values() if variable.name in named]
        shared = [one for one in (*own, *everywhere) if one.space == "shared"]
        self._places = dict(self.parameters)
        self.static_shared_bytes = self._stack("shared", (one for one in shared if not one.dynamic))
        # The system's part: here it follows the static variables, a GPU has it before them.
        self.reserved = (align(self.static_shared_bytes, RESERVED_BYTES), RESERVED_BYTES * _needs_reserved(function))
        if self.reserved[1]:
            self.static_shared_bytes = sum(self.reserved)
        dynamic = [one for one in shared if one.dynamic]
        alignment = max((one.alignment for one in dynamic), default=DYNAMIC_ALIGNMENT)
        self.dynamic_offset = align(self.static_shared_bytes, max(alignment, DYNAMIC_ALIGNMENT))
        self._places |= {one.name: VariablePlace("shared", self.dynamic_offset, 0) for one in dynamic}
        self.local_bytes = align(self._stack("local", (one for one in own if one.space in ("local", "param"))), 16)
        self._places |= {
            one.name: VariablePlace(one.space, 0, one.bytes) for one in everywhere if one.space != "shared"
        }
        self.frame_bytes: dict[str, int] = {}  # by routine
        for routine in function.routines:
            framed = [one for one in function.variables if one.frame == routine.name]
            self.frame_bytes[routine.name] = align(self._stack("local", framed), 16)

    def place(self, name: str) -> VariablePlace | None:
        return self._places.get(name)

    def shared_offset(self, name: str) -> int | None:
        """None for a name that is no shared variable's."""
        place = self._places.get(name)
        return place.offset if place is not None and place.space == "shared" else None

    def _stack(self, space: str, variables: Iterable[ir.Variable]) -> int:
        offset = 0
        for one in variables:
            offset = align(offset, one.alignment)
            self._places[one.name] = VariablePlace(space, offset, one.bytes, bool(one.frame))
            offset += one.bytes
        return offset


def align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _needs_reserved(function: ir.Function) -> bool:
    operands = (operand for one in function.instructions for operand in one.operands)
    return any(isinstance(one, ir.Special) and one.name.startswith(RESERVED) for one in operands)


def _symbols(function: ir.Function) -> set[str]:
    """Names of the variables that instructions use."""
    found: set[str] = set()
    pending: list[ir.Operand] = [operand for one in function.instructions for operand in one.operands]
    while pending:
        operand = pending.pop()
        if isinstance(operand, ir.Symbol):
            found.add(operand.name)
        elif isinstance(operand, ir.Address) and isinstance(operand.base, ir.Symbol):
            found.add(operand.base.name)
        elif isinstance(operand, (ir.Vector, ir.Group)):
            pending += operand.items
    return found
