"""Calls that inlining leaves: of routines, which are functions that may call themselves, and of the runtime.

CALL: target the first instruction, a slot of the frame's offset, b bytes of the caller's frame, e of the routine's,
c bytes that the frame takes of a GPU's stack, d numbers: see `_table`. RETURN: the same, of the running call.
`printf`, `malloc`, `free`: d, a, b offsets in local memory of the result (NONE: none) and the arguments, c slot of the
frame's offset, which is added to them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE, Kind
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.registers import slot_bytes

RETURN_ADDRESS_BYTES = 8
STACK_ALIGNMENT = 8


def call(context: Context, one: ir.Instruction) -> None:
    """call results, routine, arguments: variables all of them."""
    name = next((operand.name for operand in one.operands if isinstance(operand, ir.Symbol)), "")
    routine = next((found for found in context.function.routines if found.name == name), None)
    if routine is None or len(one.operands) != 3:
        context.refuse("not supported: this form of call")
    caller = _running(context)
    frames = context.layout.frame_bytes
    context.emit(
        "",
        kind=Kind.CALL,
        target=routine.start,
        reconverge=routine.end,
        a=context.frame,
        b=frames[caller.name] if caller else context.layout.local_bytes,
        c=stack_bytes(context, routine),
        d=context.numbers(_table(context, one, routine)),
        e=frames[name],
    )


def return_to_caller(context: Context, one: ir.Instruction) -> None:
    running = _running(context)
    if running is None or running.end != len(context.code):
        context.refuse("not supported")
    context.emit("", kind=Kind.RETURN)


def of_runtime(context: Context, one: ir.Instruction) -> None:
    """printf result, format, arguments; malloc result, bytes; free _, address: variables all of them."""
    name = one.opcode[0]
    expected = {"printf": 3, "malloc": 2, "free": 2}[name]
    places = [_local(context, operand) for operand in one.operands]
    if len(one.opcode) != 1 or len(places) != expected:
        context.refuse("not supported: this form of call")
    d, a, b = (*places, NONE)[:3]
    context.emit(name, d=d, a=a, b=b, c=context.frame)
    context.ordered = context.ordered or name != "printf"  # blocks get memory in one order


def _local(context: Context, operand: ir.Operand) -> int:
    if isinstance(operand, ir.Discard):
        return NONE
    symbol = operand.base if isinstance(operand, ir.Address) else None
    place = context.layout.place(symbol.name) if isinstance(symbol, ir.Symbol) else None
    if place is None or place.space != "local":
        context.refuse("a .param variable was expected")
    return place.offset


def stack_bytes(context: Context, routine: ir.Routine) -> int:
    """What a frame takes of a GPU's stack: the return address, local variables, and the registers that calls must not
    change. An estimate: ptxas may keep more or fewer."""
    code = context.function.instructions
    kept = [
        sum(slot_bytes(context.function.registers[name].type) for name in _live_across(context, index))
        for index in range(routine.start, routine.end)
        if code[index].opcode[0] == "call"
    ]
    local = sum(one.bytes for one in context.function.variables if one.frame == routine.name and one.space == "local")
    total = RETURN_ADDRESS_BYTES + local + max(kept, default=0)
    return -(-total // STACK_ALIGNMENT) * STACK_ALIGNMENT


def _running(context: Context) -> ir.Routine | None:
    """The routine that holds the current instruction; None: the kernel."""
    index = len(context.code)
    return next((one for one in context.function.routines if one.start <= index <= one.end), None)


def _live_across(context: Context, index: int) -> Iterator[str]:
    return (name for name, (first, last) in context.spans.items() if first < index < last)


def _table(context: Context, one: ir.Instruction, routine: ir.Routine) -> list[int]:
    """The numbers of arguments, results and registers; then for each argument and result its offsets in the frames of
    caller and routine, and its bytes; then for each register its slot and bytes."""
    results, _, arguments = one.operands
    assert isinstance(results, ir.Group)
    assert isinstance(arguments, ir.Group)
    passed = list(zip(arguments.items, routine.parameters, strict=True))
    given = list(zip(results.items, routine.results, strict=True))
    saved = sorted(
        {
            (context.register(register), slot_bytes(register.type))
            for register in (context.function.registers[name] for name in _live_across(context, len(context.code)))
        }
    )
    numbers = [len(passed), len(given), len(saved)]
    for actual, formal in (*passed, *given):
        assert isinstance(actual, ir.Symbol)
        here, there = context.layout.place(actual.name), context.layout.place(formal.name)
        if here is None or there is None or here.space != "local":
            context.refuse(f"{actual.name} is not a .param variable")
        numbers += (here.offset, there.offset, formal.bytes)
    return numbers + [number for pair in saved for number in pair]


TABLE = {"call": call, "return": return_to_caller, **dict.fromkeys(("printf", "malloc", "free"), of_runtime)}
