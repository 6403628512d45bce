"""Inlines all device functions into a kernel.

A formal parameter becomes the variable that the caller passes, so a call copies nothing. Registers, local variables
and labels of each inlined body get new names (`%r1@2` in the second call). A call to a function without a body is
refused by name, except a failed assertion, which becomes a trap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from kernelbench.core.errors import PtxError
from kernelbench.simt.ir import (
    TYPE_BYTES,
    Address,
    Discard,
    Function,
    Group,
    Guard,
    Immediate,
    Instruction,
    Label,
    Module,
    Not,
    Operand,
    Pair,
    Parameter,
    Register,
    Special,
    Symbol,
    Variable,
    Vector,
)

MOST_INSTRUCTIONS = 1 << 19  # of a kernel including its calls
MOST_CALLS = 1 << 16
MOST_CALLS_DEEP = 64
MOST_NAMES = 1 << 21  # registers, variables and labels in all inlined bodies

_TRAPS = {"__assertfail", "__assert_fail", "__trap"}
_REFUSED = {
    "vprintf": "printf",
    "malloc": "memory allocated on the device",
    "free": "memory allocated on the device",
    "cudaLaunchDeviceV2": "a launch from the device",
    "cudaGetParameterBufferV2": "a launch from the device",
}


@dataclass
class _Flat:
    """The inlined function under construction."""

    registers: dict[str, Register] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    calls: int = 0
    names: int = 0


def flatten(module: Module, entry: str) -> Function:
    """The kernel without calls; `ret` of a device function becomes a branch to its end."""
    kernel = module.functions.get(entry)
    if kernel is None or not kernel.entry or not kernel.defined:
        known = ", ".join(name for name, function in module.functions.items() if function.entry and function.defined)
        raise PtxError(f"kernel {entry!r} is not in the PTX; it has {known or 'no kernel'}")
    return _Inliner(module, kernel).run()


class _Inliner:
    def __init__(self, module: Module, kernel: Function) -> None:
        self._module = module
        self._kernel = kernel
        self._flat = _Flat()
        own = {parameter.name for parameter in kernel.parameters}
        own.update(variable.name for variable in kernel.variables)
        self._hidden = sorted(own & module.variables.keys())

    def run(self) -> Function:
        kernel, flat = self._kernel, self._flat
        flat.variables = {variable.name: variable for variable in kernel.variables}
        self._write(_Body(kernel, "", {}, flat), (kernel.name,))
        return replace(
            kernel,
            registers=flat.registers,
            variables=tuple(flat.variables.values()),
            instructions=tuple(flat.instructions),
            labels=flat.labels,
            targets=flat.targets,
        )

    def _write(self, body: _Body, stack: tuple[str, ...]) -> None:
        """Append `body`; `stack`: names of the calling functions, ending with its own."""
        flat, function = self._flat, body.function
        labels = _by_index(function.labels)
        for index, instruction in enumerate(function.instructions):
            for label in labels.get(index, ()):
                flat.labels[body.name(label)] = len(flat.instructions)
            if len(flat.instructions) >= MOST_INSTRUCTIONS:
                self._refuse(instruction, f"more than {MOST_INSTRUCTIONS} instructions including its calls")
            if instruction.opcode[0] == "call":
                self._call(body, instruction, stack)
            elif instruction.opcode[0] == "ret" and body.end:
                jump = replace(instruction, opcode=("bra",), operands=(Label(body.end),))
                flat.instructions.append(replace(jump, guard=body.guard(instruction.guard)))
            else:
                flat.instructions.append(body.renamed(instruction))
        for label in labels.get(len(function.instructions), ()):
            flat.labels[body.name(label)] = len(flat.instructions)
        if body.end:
            flat.labels[body.end] = len(flat.instructions)

    def _call(self, caller: _Body, call: Instruction, stack: tuple[str, ...]) -> None:
        results, callee, arguments = self._parts(call)
        function = self._module.functions.get(callee)
        if function is None:
            self._refuse(call, f"{callee!r} is not a function of this module")
        if callee in _TRAPS and not function.defined:
            self._flat.instructions.append(replace(call, opcode=("trap",), operands=(), guard=caller.guard(call.guard)))
            return
        if not function.defined:
            self._refuse(call, f"{_REFUSED.get(callee, 'a function outside this module')} ({callee}) is not supported")
        if callee in stack or function.entry:
            self._refuse(call, f"{callee!r} calls itself: recursion is not supported")
        if len(stack) > MOST_CALLS_DEEP:
            self._refuse(call, f"calls nested deeper than {MOST_CALLS_DEEP}")
        if self._hidden:
            self._refuse(call, f"{self._hidden[0]!r} is the name of a variable of the kernel and of one of the module")
        self._flat.calls += 1
        self._flat.names += sum(map(len, (function.registers, function.variables, function.labels)))
        self._flat.names += sum(map(len, function.targets.values()))
        if self._flat.calls > MOST_CALLS or self._flat.names > MOST_NAMES:
            self._refuse(call, f"more than {MOST_CALLS} calls or {MOST_NAMES} names in the called functions")
        number = self._flat.calls
        before, after, symbols = self._passed(caller, call, function, number, results, arguments)
        end = f"end@{number}"
        if call.guard is not None:
            around = Guard(caller.register(call.guard.register), not call.guard.negated)
            self._flat.instructions.append(
                replace(call, opcode=("bra",), operands=(Label(f"after@{number}"),), guard=around)
            )
        self._flat.instructions += before
        self._write(_Body(function, f"@{number}", symbols, self._flat, end), (*stack, callee))
        self._flat.instructions += after
        self._flat.labels[f"after@{number}"] = len(self._flat.instructions)

    def _parts(self, call: Instruction) -> tuple[tuple[Operand, ...], str, tuple[Operand, ...]]:
        operands = list(call.operands)
        results: Operand = operands.pop(0) if operands and isinstance(operands[0], Group) else Group(())
        callee = operands.pop(0) if operands else None
        if isinstance(callee, Register):
            self._refuse(call, "a call through a function pointer is not supported")
        arguments: Operand = operands.pop(0) if operands and isinstance(operands[0], Group) else Group(())
        prototype_only = not operands or (len(operands) == 1 and isinstance(operands[0], Label))
        if not (isinstance(callee, Symbol) and not callee.offset and prototype_only):
            self._refuse(call, "expected results, a function and its arguments")
        assert isinstance(results, Group)
        assert isinstance(arguments, Group)
        return results.items, callee.name, arguments.items

    def _passed(
        self,
        caller: _Body,
        call: Instruction,
        function: Function,
        number: int,
        results: tuple[Operand, ...],
        arguments: tuple[Operand, ...],
    ) -> tuple[list[Instruction], list[Instruction], dict[str, str]]:
        """Stores before the call, loads after it, and the variable of each formal parameter."""
        if len(results) != len(function.results) or len(arguments) != len(function.parameters):
            given = f"{len(arguments)} arguments and {len(results)} results"
            wanted = f"{len(function.parameters)} and {len(function.results)}"
            self._refuse(call, f"{function.name!r} is called with {given}, and has {wanted}")
        before: list[Instruction] = []
        after: list[Instruction] = []
        symbols: dict[str, str] = {}
        for actual, formal in zip(arguments, function.parameters, strict=True):
            name = symbols[formal.name] = self._variable(caller, call, formal, actual, number)
            if isinstance(actual, (Register, Immediate)):
                operands: tuple[Operand, ...] = (Address(Symbol(name)), caller.operand(actual))
                before.append(replace(call, opcode=("st", "param", formal.type), operands=operands, guard=None))
        for actual, formal in zip(results, function.results, strict=True):
            name = symbols[formal.name] = self._variable(caller, call, formal, actual, number)
            if isinstance(actual, Register):
                operands = (caller.operand(actual), Address(Symbol(name)))
                after.append(replace(call, opcode=("ld", "param", formal.type), operands=operands, guard=None))
        return before, after, symbols

    def _variable(self, caller: _Body, call: Instruction, formal: Parameter, actual: Operand, number: int) -> str:
        """The variable for `formal`: the caller's, or a new one for a register."""
        if isinstance(actual, Symbol) and not actual.offset:
            name = caller.symbol(actual.name)
            passed = self._flat.variables.get(name)
            if passed is None or passed.space != "param" or passed.bytes < formal.bytes:
                self._refuse(call, f"{actual.name!r} is not a .param variable of at least {formal.bytes} bytes")
            return name
        scalar = formal.bytes == TYPE_BYTES.get(formal.type)
        if not (isinstance(actual, Discard) or (isinstance(actual, (Register, Immediate)) and scalar)):
            self._refuse(call, f"expected a .param variable for {formal.name!r}")
        name = f"{formal.name}@{number}"
        self._flat.variables[name] = Variable(name, "param", formal.type, formal.bytes, formal.alignment)
        return name

    def _refuse(self, instruction: Instruction, reason: str) -> NoReturn:
        source = f"{instruction.source.file}:{instruction.source.line}: " if instruction.source else ""
        raise PtxError(f"kernel {self._kernel.name}: {source}ptx line {instruction.ptx_line}: {reason}")


class _Body:
    """A function inlined for one call: its names get `suffix`, its formals are replaced by `symbols`."""

    def __init__(self, function: Function, suffix: str, symbols: Mapping[str, str], flat: _Flat, end: str = "") -> None:
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
            flat.variables[name] = replace(variable, name=name)
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
            case Symbol():
                return Symbol(self.symbol(operand.name), operand.offset)
            case Label():
                return Label(self.name(operand.name))
            case Not():
                return Not(self.register(operand.register))
            case Pair():
                return Pair(self._sink(operand.first), self._sink(operand.second))
            case Address():
                base = self.operand(operand.base) if operand.base is not None else None
                assert base is None or isinstance(base, (Register, Symbol))
                return Address(base, operand.offset)
            case Vector():
                return Vector(tuple(self.operand(item) for item in operand.items))
            case Group():
                return Group(tuple(self.operand(item) for item in operand.items))
            case Immediate() | Special() | Discard():
                return operand

    def _sink(self, operand: Register | Discard) -> Register | Discard:
        return self.register(operand) if isinstance(operand, Register) else operand


def _by_index(labels: Mapping[str, int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for name, index in labels.items():
        found.setdefault(index, []).append(name)
    return found
