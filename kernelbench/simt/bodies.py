"""Function bodies while they are inlined: names get a suffix for each call, formal parameters become variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kernelbench.simt import ir
from kernelbench.simt.ir import Function, Guard, Instruction, Operand, Register, Variable


@dataclass
class Flat:
    """The inlined function under construction."""

    registers: dict[str, Register] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    calls: int = 0
    names: int = 0
    frame: str = ""  # the routine that is written, empty for the kernel


class Body:
    """A function inlined for one call: its names get `suffix`, its formals are replaced by `symbols`."""

    def __init__(self, function: Function, suffix: str, symbols: Mapping[str, str], flat: Flat, end: str = "") -> None:
        self.function = function
        self.end = end  # the label that `ret` goes to; empty in the kernel
        self._suffix = suffix
        self._symbols = dict(symbols)
        self._flat = flat
        self._operands: dict[Operand, Operand] = {}
        for register in function.registers.values():
            renamed = self.register(register)
            flat.registers[renamed.name] = renamed
        for variable in function.variables if suffix else ():
            # Shared memory is the block's: one variable, however often the function is called.
            shared = variable.space == "shared"
            name = f"{variable.name}@{function.name}" if shared else self.name(variable.name)
            self._symbols[variable.name] = name
            flat.variables[name] = replace(variable, name=name, frame="" if shared else flat.frame)
        for table, labels in function.targets.items():
            flat.targets[self.name(table)] = tuple(self.name(label) for label in labels)

    def name(self, name: str) -> str:
        return name + self._suffix

    def symbol(self, name: str) -> str:
        return self._symbols.get(name, name)

    def register(self, register: Register) -> Register:
        return Register(register.name + self._suffix, register.type) if self._suffix else register

    def guard(self, guard: Guard | None) -> Guard | None:
        return guard and Guard(self.register(guard.register), guard.negated)

    def renamed(self, instruction: Instruction) -> Instruction:
        if not self._suffix:
            return instruction
        operands = tuple(self.operand(operand) for operand in instruction.operands)
        return replace(instruction, operands=operands, guard=self.guard(instruction.guard))

    def operand(self, operand: Operand) -> Operand:
        if not self._suffix:
            return operand
        found = self._operands.get(operand)
        if found is None:
            found = self._operands[operand] = self._rename(operand)
        return found

    def _rename(self, operand: Operand) -> Operand:
        match operand:
            case Register():
                return self.register(operand)
            case ir.Symbol():
                return ir.Symbol(self.symbol(operand.name), operand.offset)
            case ir.Label():
                return ir.Label(self.name(operand.name))
            case ir.Not():
                return ir.Not(self.register(operand.register))
            case ir.ResultPair():
                return ir.ResultPair(self._sink(operand.first), self._sink(operand.second))
            case ir.Address():
                base = self.operand(operand.base) if operand.base is not None else None
                assert base is None or isinstance(base, (Register, ir.Symbol))
                return ir.Address(base, operand.offset)
            case ir.Vector():
                return ir.Vector(tuple(self.operand(item) for item in operand.items))
            case ir.Group():
                return ir.Group(tuple(self.operand(item) for item in operand.items))
            case ir.Immediate() | ir.Special() | ir.Discard():
                return operand

    def _sink(self, operand: Register | ir.Discard) -> Register | ir.Discard:
        return self.register(operand) if isinstance(operand, Register) else operand
