"""Calls through pointers: a function's address is a number, and a call through a register compares it with the address
of each function that it may reach, which are those of its signature whose address the module takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernelbench.simt.interface import WINDOW_SHIFT
from kernelbench.simt.ir import Function, Group, Instruction, Module, Operand, Symbol

FUNCTION_WINDOW = 0x71 << WINDOW_SHIFT
STEP = 16


Operands = tuple[Operand, ...]


def call_parts(call: Instruction) -> tuple[Operands, Operand | None, Operands, Operands]:
    """Results, target and arguments of a call, and the operands behind them."""
    operands = list(call.operands)
    results = operands.pop(0) if operands and isinstance(operands[0], Group) else Group(())
    target = operands.pop(0) if operands else None
    arguments = operands.pop(0) if operands and isinstance(operands[0], Group) else Group(())
    assert isinstance(results, Group)
    assert isinstance(arguments, Group)
    return results.items, target, arguments.items, tuple(operands)


def function_address(module: Module, name: str) -> int | None:
    """The address of a device function; None if the module has none of this name. Kernels have no address here."""
    if name not in module.functions or module.functions[name].entry:
        return None
    return FUNCTION_WINDOW + STEP * (1 + list(module.functions).index(name))


def reachable_functions(module: Module, results: Sequence[int], arguments: Sequence[int]) -> Iterator[Function]:
    """Functions with these bytes of results and arguments whose address is taken."""
    taken = set(_taken(module))
    for function in module.functions.values():
        sizes = [one.bytes for one in function.results], [one.bytes for one in function.parameters]
        if function.name in taken and function.defined and sizes == (list(results), list(arguments)):
            yield function


def _taken(module: Module) -> Iterator[str]:
    for variable in module.variables.values():
        yield from (one.symbol for one in variable.relocations)
    for function in module.functions.values():
        for instruction in function.instructions:
            if instruction.opcode[0] != "call":
                yield from (one.name for one in instruction.operands if isinstance(one, Symbol))
