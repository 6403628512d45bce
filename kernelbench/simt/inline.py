"""Inlines device functions into a kernel, except those that may call themselves: routines, which follow its code.

A formal parameter becomes the variable that the caller passes, so a call copies nothing. Registers, local variables
and labels of each inlined body get new names (`%r1@2` in the second call). A call of a routine stays a call; the
variables of all code in it are in its frame. A call to a function without a body is refused by name, except a failed
assertion, which becomes a trap, and what the runtime has: printf, malloc and free.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from kernelbench.core.errors import PtxError
from kernelbench.simt.bodies import Body, Flat
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
    Operand,
    Parameter,
    Register,
    Routine,
    Symbol,
    Variable,
)
from kernelbench.simt.pointers import call_parts, function_address, reachable_functions
from kernelbench.simt.recursion import recursive_functions

MOST_INSTRUCTIONS = 1 << 19  # of a kernel including its calls
MOST_CALLS = 1 << 16
MOST_CALLS_DEEP = 64
MOST_NAMES = 1 << 21  # registers, variables and labels in all inlined bodies

_TRAPS = {"__assertfail", "__assert_fail", "__trap"}
_OF_RUNTIME = {"vprintf": "printf", "malloc": "malloc", "free": "free"}
_REFUSED = dict.fromkeys(("cudaLaunchDeviceV2", "cudaGetParameterBufferV2"), "a launch from the device")


def inline_calls(module: Module, entry: str) -> Function:
    """The kernel with calls of routines alone; `ret` of a device function becomes a branch to its end."""
    kernel = module.functions.get(entry)
    if kernel is None or not kernel.entry or not kernel.defined:
        known = ", ".join(name for name, function in module.functions.items() if function.entry and function.defined)
        raise PtxError(f"kernel {entry!r} is not in the PTX; it has {known or 'no kernel'}")
    return _Inliner(module, kernel).run()


class _Inliner:
    def __init__(self, module: Module, kernel: Function) -> None:
        self._module = module
        self._kernel = kernel
        self._flat = Flat()
        own = {parameter.name for parameter in kernel.parameters}
        own.update(variable.name for variable in kernel.variables)
        self._hidden = sorted(own & module.variables.keys())
        self._recursive = recursive_functions(module)
        self._called: dict[str, None] = {}  # routines, in the order of their first call

    def run(self) -> Function:
        kernel, flat = self._kernel, self._flat
        flat.variables = {variable.name: variable for variable in kernel.variables}
        self._write(Body(kernel, "", {}, flat), (kernel.name,))
        routines: list[Routine] = []
        if self._called:
            self._end("exit")
            while len(routines) < len(self._called):  # a routine may call further ones
                routines.append(self._routine(self._module.functions[list(self._called)[len(routines)]]))
            self._end("exit")
        return replace(
            kernel,
            registers=flat.registers,
            variables=tuple(flat.variables.values()),
            instructions=tuple(flat.instructions),
            labels=flat.labels,
            targets=flat.targets,
            routines=tuple(routines),
        )

    def _routine(self, function: Function) -> Routine:
        flat, start = self._flat, len(self._flat.instructions)
        flat.frame, suffix = function.name, f"@{function.name}"
        formals = [
            [
                Variable(one.name + suffix, "param", one.type, one.bytes, one.alignment, frame=function.name)
                for one in some
            ]
            for some in (function.results, function.parameters)
        ]
        flat.variables.update({one.name: one for some in formals for one in some})
        symbols = {one.name: one.name + suffix for one in (*function.results, *function.parameters)}
        self._write(Body(function, suffix, symbols, flat, f"return{suffix}"), (function.name,))
        self._end("return")
        return Routine(function.name, start, len(flat.instructions) - 1, tuple(formals[0]), tuple(formals[1]))

    def _end(self, opcode: str) -> None:
        code = self._flat.instructions
        line = code[-1].ptx_line if code else 0
        code.append(Instruction((opcode,), (), None, opcode, line, code[-1].source if code else None))

    def _write(self, body: Body, stack: tuple[str, ...]) -> None:
        """Append `body`; `stack`: names of the calling functions, ending with its own."""
        flat, function = self._flat, body.function
        labels: dict[int, list[str]] = defaultdict(list)
        for name, index in function.labels.items():
            labels[index].append(name)
        for index, instruction in enumerate(function.instructions):
            for label in labels[index]:
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
        for label in labels[len(function.instructions)]:
            flat.labels[body.name(label)] = len(flat.instructions)
        if body.end:
            flat.labels[body.end] = len(flat.instructions)

    def _call(self, caller: Body, call: Instruction, stack: tuple[str, ...]) -> None:
        results, target, arguments = self._parts(call)
        if isinstance(target, Register):
            self._call_through(caller, call, target, stack)
            return
        callee = target.name
        function = self._module.functions.get(callee)
        if function is None:
            self._refuse(call, f"{callee!r} is not a function of this module")
        if callee in _TRAPS and not function.defined:
            self._flat.instructions.append(replace(call, opcode=("trap",), operands=(), guard=caller.guard(call.guard)))
            return
        if callee in _OF_RUNTIME and not function.defined:
            self._flat.instructions.append(self._of_runtime(caller, call, callee, (results, arguments)))
            return
        if not function.defined:
            self._refuse(call, f"{_REFUSED.get(callee, 'a function outside this module')} ({callee}) is not supported")
        if function.entry:
            self._refuse(call, f"{callee!r} is a kernel, which cannot be called")
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
        if callee in self._recursive:
            self._call_routine(call, function, symbols)
        else:
            self._write(Body(function, f"@{number}", symbols, self._flat, end), (*stack, callee))
        self._flat.instructions += after
        self._flat.labels[f"after@{number}"] = len(self._flat.instructions)

    def _call_routine(self, call: Instruction, function: Function, symbols: Mapping[str, str]) -> None:
        self._called.setdefault(function.name)
        actual = [
            Group(tuple(Symbol(symbols[one.name]) for one in some)) for some in (function.results, function.parameters)
        ]
        operands = (actual[0], Symbol(function.name), actual[1])
        self._flat.instructions.append(replace(call, operands=operands, guard=None))

    def _call_through(self, caller: Body, call: Instruction, pointer: Register, stack: tuple[str, ...]) -> None:
        """A call through a pointer: a guarded call of each function that it may be, and a trap for any other value."""
        results, _, arguments = self._parts(call)
        sizes = [[self._bytes(caller, one) for one in some] for some in (results, arguments)]
        functions = list(reachable_functions(self._module, *sizes))
        if call.guard is not None or not functions:
            self._refuse(call, "no function of the module can be meant by this pointer")
        self._flat.calls += 1
        is_other, is_this = (Register(f"%{name}@{self._flat.calls}", "pred") for name in ("other", "this"))
        for one in (is_other, is_this):
            renamed = caller.register(one)
            self._flat.registers[renamed.name] = renamed

        def emit(opcode: str, *operands: Operand, guard: Guard | None = None) -> None:
            one = replace(call, opcode=tuple(opcode.split(".")), operands=operands, guard=guard)
            self._flat.instructions.append(caller.renamed(one))

        addresses = [Immediate(function_address(self._module, function.name) or 0) for function in functions]
        emit("setp.ne.u64", is_other, pointer, addresses[0])
        for address in addresses[1:]:
            emit("setp.ne.and.u64", is_other, pointer, address, is_other)
        emit("trap", guard=Guard(is_other, False))
        for function, address in zip(functions, addresses, strict=True):
            emit("setp.eq.u64", is_this, pointer, address)
            operands = (Group(results), Symbol(function.name), Group(arguments))
            self._call(caller, replace(call, operands=operands, guard=Guard(is_this, False)), stack)

    def _bytes(self, caller: Body, actual: Operand) -> int:
        variable = self._flat.variables.get(caller.symbol(actual.name)) if isinstance(actual, Symbol) else None
        return variable.bytes if variable else -1

    def _of_runtime(
        self, caller: Body, call: Instruction, callee: str, passed: Sequence[tuple[Operand, ...]]
    ) -> Instruction:
        """printf [result], [format], [arguments] and the like: the caller's variables."""
        actual = (*(passed[0] or (Discard(),)), *passed[1])
        operands = tuple(Address(one) if isinstance(one, Symbol) else one for one in map(caller.operand, actual))
        return replace(call, opcode=(_OF_RUNTIME[callee],), operands=operands, guard=caller.guard(call.guard))

    def _parts(self, call: Instruction) -> tuple[tuple[Operand, ...], Symbol | Register, tuple[Operand, ...]]:
        results, callee, arguments, rest = call_parts(call)
        prototype_only = not rest or (len(rest) == 1 and isinstance(rest[0], Label))
        known = isinstance(callee, Register) or (isinstance(callee, Symbol) and not callee.offset)
        if not (known and prototype_only):
            self._refuse(call, "expected results, a function and its arguments")
        assert isinstance(callee, Symbol | Register)
        return results, callee, arguments

    def _passed(
        self,
        caller: Body,
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

    def _variable(self, caller: Body, call: Instruction, formal: Parameter, actual: Operand, number: int) -> str:
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
        frame = self._flat.frame
        self._flat.variables[name] = Variable(name, "param", formal.type, formal.bytes, formal.alignment, frame=frame)
        return name

    def _refuse(self, instruction: Instruction, reason: str) -> NoReturn:
        source = f"{instruction.source.file}:{instruction.source.line}: " if instruction.source else ""
        raise PtxError(f"kernel {self._kernel.name}: {source}ptx line {instruction.ptx_line}: {reason}")
