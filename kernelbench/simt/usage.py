"""Registers that an instruction reads and writes."""

from __future__ import annotations

from collections.abc import Iterator

from kernelbench.simt.ir import Address, Group, Instruction, Not, Operand, Register, ResultPair, Vector

# Instructions whose first operand is an input. All others write their first operand unless it is an address.
_WRITE_NOTHING = {"bar", "barrier", "bra", "brx", "nanosleep", "setmaxnreg", "call", "pmevent"}
# Instructions whose first operand is an accumulator: read, then written.
_ACCUMULATE = {"wgmma"}


def registers_written(instruction: Instruction) -> tuple[Register, ...]:
    first = _destination(instruction)
    return tuple(_registers(first)) if first is not None else ()


def registers_read(instruction: Instruction) -> tuple[Register, ...]:
    """Includes the guard's predicate."""
    found = [instruction.guard.register] if instruction.guard is not None else []
    written = _destination(instruction)
    accumulates = instruction.opcode[0] in _ACCUMULATE
    for operand in instruction.operands[0 if written is None or accumulates else 1 :]:
        found += _registers(operand)
    return tuple(found)


def _destination(instruction: Instruction) -> Operand | None:
    name = instruction.opcode[0]
    if not instruction.operands or (name in _WRITE_NOTHING and "red" not in instruction.opcode):
        return None
    first = instruction.operands[0]
    return first if isinstance(first, (Register, Vector, ResultPair)) else None


def _registers(operand: Operand) -> Iterator[Register]:
    if isinstance(operand, Register):
        yield operand
    elif isinstance(operand, Address):
        if isinstance(operand.base, Register):
            yield operand.base
    elif isinstance(operand, (Vector, Group)):
        for item in operand.items:
            yield from _registers(item)
    elif isinstance(operand, ResultPair):
        yield from (item for item in (operand.first, operand.second) if isinstance(item, Register))
    elif isinstance(operand, Not):
        yield operand.register
