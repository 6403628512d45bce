"""Lowers an inlined kernel to the runtime's instructions: registers become slots, opcodes become operations.

Unknown instructions, and those whose operation the runtime does not have, are refused here by name and line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from kernelbench.core.errors import PtxError
from kernelbench.simt import ir
from kernelbench.simt.cfg import control_flow
from kernelbench.simt.faults import access_bytes
from kernelbench.simt.grouping import Grouping, MachineLines, group_accesses
from kernelbench.simt.interface import LANES, Kind
from kernelbench.simt.lower import (
    arithmetic,
    asynchronous,
    bulk,
    calls,
    control,
    convert,
    logic,
    matrix,
    memory,
    predicates,
    texture,
    video,
    warp,
    warpgroup,
)
from kernelbench.simt.lower.chosen_loads import chosen_loads
from kernelbench.simt.lower.context import WORKSPACE, Context
from kernelbench.simt.lower.forms import Lowering
from kernelbench.simt.lower.program import Lowered, Patch, Program, SpecialSlot
from kernelbench.simt.pointers import function_address

__all__ = ["LANES", "Context", "Kind", "Lowered", "Patch", "Program", "SpecialSlot", "lower"]


FAMILIES: tuple[Mapping[str, Lowering], ...] = (
    arithmetic.TABLE,
    asynchronous.TABLE,
    bulk.TABLE,
    calls.TABLE,
    predicates.TABLE,
    control.TABLE,
    convert.TABLE,
    logic.TABLE,
    matrix.TABLE,
    memory.TABLE,
    texture.TABLE,
    video.TABLE,
    warp.TABLE,
    warpgroup.TABLE,
)
NO_LINES: MachineLines = {}
LONGEST_KEY = 5  # most parts of an opcode in a key of a TABLE


def lower(
    function: ir.Function,
    module: ir.Module,
    has_operation: Callable[[str], bool],
    machine: MachineLines = NO_LINES,
) -> Program:
    """`function`: of inline.inline_calls. `has_operation("add_u32")`: whether the runtime has it.
    `machine`: the kernel's machine code; accesses that it joins are counted as it makes them."""
    function = _closed(function)
    context = Context(function, module, control_flow(function))
    for one in function.instructions:
        context.instruction = one
        _lowering(context, one)(context, one)
        operation = context.code[-1].operation
        if operation and not has_operation(operation):
            context.refuse(f"not supported (the simulator has no operation {operation})")
    grouping = group_accesses(function, context.flow, context.layout.shared_offset, machine)
    for index, joined in grouping.joined.items():
        context.code[index] = replace(context.code[index], c=joined.bytes, e=joined.first)
    _check_where_chosen(context)
    return _program(context, grouping)


def _lowering(context: Context, one: ir.Instruction) -> Lowering:
    keys = (".".join(one.opcode[:parts]) for parts in range(LONGEST_KEY, 0, -1))
    found = next((table[key] for key in keys for table in FAMILIES if key in table), None)
    if found is None:
        context.refuse("not supported")
    return found


def _check_where_chosen(context: Context) -> None:
    """Loads whose value may be dropped get a slot for their addresses, in d, and the instructions after which they are
    checked a list of them, in e; see chosen_loads.cpp."""
    lists: dict[int, list[int]] = {}
    for found in chosen_loads(context.function.instructions, context.flow):
        words = lists.setdefault(found.at, [0])
        words[0] += 1
        words += [found.load, access_bytes(context.function.instructions[found.load]), len(found.conditions)]
        for operand, must_be in found.conditions:
            index, negated = context.predicate(operand)
            words.append(2 * index + (negated == must_be))
        context.code[found.load] = replace(context.code[found.load], d=context.discard(8, found.load))
    for at, words in lists.items():
        context.code[at] = replace(context.code[at], kind=Kind.CHOOSE, e=context.numbers(words))


def _closed(function: ir.Function) -> ir.Function:
    """The function, with an exit after its end if control can reach it."""
    code = function.instructions
    ends = bool(code) and code[-1].opcode[0] in ("ret", "exit") and code[-1].guard is None
    if ends and len(code) not in function.labels.values():
        return function
    line = code[-1].ptx_line if code else 0
    return replace(function, instructions=(*code, ir.Instruction(("exit",), (), None, "exit", line, None)))


def _program(context: Context, grouping: Grouping) -> Program:
    function, layout = context.function, context.layout
    zeroed = [context.register_slot(name) for name in context.flow.undefined]
    zeroed += [(context.frame, 8 * LANES)] if function.routines else []
    frames = tuple((layout.frame_bytes[one.name], calls.stack_bytes(context, one)) for one in function.routines)
    return Program(
        name=function.name,
        code=tuple(context.code),
        sources=function.instructions,
        register_bytes=context.image_offset + len(context.image),
        image_offset=context.image_offset,
        image=bytes(context.image),
        specials=tuple(context.specials.values()),
        patches=tuple(context.patches.values()),
        zeroed=tuple(sorted(slot for slot in zeroed if slot is not None)),
        predicates=context.predicates,
        static_shared_bytes=layout.static_shared_bytes,
        dynamic_offset=layout.dynamic_offset,
        local_bytes=layout.local_bytes,
        parameters=function.parameters,
        parameter_bytes=layout.parameter_bytes,
        table=tuple(context.table),
        variables=_reached(context),
        ordered=context.ordered,
        max_threads=function.max_threads,
        required_threads=function.required_threads,
        cluster=function.cluster,
        reserved=layout.reserved,
        functions=_pointed_to(context),
        frames=frames,
        joined=sum(one.bytes > 0 for one in grouping.joined.values()),
        unclear=grouping.unclear,
    )


def _reached(context: Context) -> dict[str, ir.Variable]:
    """Module variables that the code or the initial contents of such variables refer to."""
    reached: dict[str, ir.Variable] = {}
    pending = sorted(context.variables)
    while pending:
        name = pending.pop()
        if name in reached or name in context.module.functions:
            continue
        # Each kernel has its own workspace, because an unfinished launch leaves it in an undefined state.
        variable = replace(WORKSPACE) if name == WORKSPACE.name else context.module.variables.get(name)
        if variable is None:
            raise PtxError(f"kernel {context.function.name}: unknown variable {name}")
        reached[name] = variable
        pending += [one.symbol for one in variable.relocations]
    return reached


def _pointed_to(context: Context) -> dict[str, int]:
    """Addresses of the functions that the contents of variables refer to."""
    symbols = {one.symbol for variable in _reached(context).values() for one in variable.relocations}
    found = {name: function_address(context.module, name) for name in symbols}
    return {name: address for name, address in found.items() if address is not None}
