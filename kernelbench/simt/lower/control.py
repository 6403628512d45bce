"""Branches, ends and barriers.

BRANCH: target, reconverge. TABLE_BRANCH: a slot of the index (u32), immediate the number of the table.
BARRIER: immediate what is done (Barrier), a slot of the barrier's number, b slot of the number of threads or NONE
for all, c predicate that is reduced and e its negation, d what gets the result: a slot (RED_POPC) or a predicate
(RED_AND, RED_OR), f 1 when all threads of a warp must execute it together.
TRAP: immediate 1 for a failed assertion.
"""

from __future__ import annotations

from enum import IntEnum

from kernelbench.simt import ir
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.memory import nothing
from kernelbench.simt.lower.program import NONE, Kind


class Barrier(IntEnum):
    SYNC = 0
    ARRIVE = 1
    RED_POPC = 2
    RED_AND = 3
    RED_OR = 4
    CLUSTER_ARRIVE = 5
    CLUSTER_WAIT = 6


REDUCTIONS = {"popc": Barrier.RED_POPC, "and": Barrier.RED_AND, "or": Barrier.RED_OR}


def branch(context: Context, one: ir.Instruction) -> None:
    context.emit("", kind=Kind.BRANCH, target=_target(context, one.operands[0]), reconverge=_meeting(context))


def table_branch(context: Context, one: ir.Instruction) -> None:
    """brx.idx index, table."""
    table = one.operands[1]
    name = table.name if isinstance(table, (ir.Label, ir.Symbol)) else ""
    if name not in context.function.targets:
        context.refuse(f"unknown table of branch targets {name}")
    context.tables.append(tuple(_target(context, ir.Label(label)) for label in context.function.targets[name]))
    context.emit(
        "",
        kind=Kind.TABLE_BRANCH,
        a=context.source(one.operands[0], "u32"),
        immediate=len(context.tables) - 1,
        reconverge=_meeting(context),
    )


def leave(context: Context, one: ir.Instruction) -> None:
    context.emit("", kind=Kind.EXIT)


def trap(context: Context, one: ir.Instruction) -> None:
    context.emit("", kind=Kind.TRAP, immediate=int("assert" in one.opcode))


def barrier(context: Context, one: ir.Instruction) -> None:
    """bar and barrier: sync, arrive, red; `bar` is the same as `barrier` .aligned."""
    parts = [part for part in one.opcode[1:] if part != "cta"]
    aligned = one.opcode[0] == "bar" or "aligned" in parts
    operands = list(one.operands)
    what, result, reduced, negated = Barrier.SYNC, NONE, NONE, False
    if parts[0] == "red":
        what = REDUCTIONS[next((part for part in parts if part in REDUCTIONS), "popc")]
        target = operands.pop(0)
        if what is Barrier.RED_POPC:
            result = context.destination(target, 4)
        else:
            result, _ = context.predicate(target)
        reduced, negated = context.predicate(operands.pop())
    elif parts[0] == "arrive":
        what = Barrier.ARRIVE
    elif parts[0] != "sync":
        context.refuse("not supported: this form of barrier")
    threads = context.source(operands[1], "u32") if len(operands) > 1 else NONE
    context.emit(
        "",
        kind=Kind.BARRIER,
        immediate=what,
        a=context.source(operands[0], "u32"),
        b=threads,
        c=reduced,
        d=result,
        e=int(negated),
        f=int(aligned),
    )


def cluster_barrier(context: Context, one: ir.Instruction) -> None:
    what = Barrier.CLUSTER_ARRIVE if "arrive" in one.opcode else Barrier.CLUSTER_WAIT
    context.emit("", kind=Kind.BARRIER, immediate=what, f=int("aligned" in one.opcode))


def _target(context: Context, operand: ir.Operand) -> int:
    name = operand.name if isinstance(operand, (ir.Label, ir.Symbol)) else ""
    if name not in context.function.labels:
        context.refuse(f"unknown label {name}")
    return context.function.labels[name]


def _meeting(context: Context) -> int:
    index = context.reconverge.get(len(context.code))
    return NONE if index is None else index


TABLE = {
    "bra": branch,
    "brx.idx": table_branch,
    "ret": leave,
    "exit": leave,
    "trap": trap,
    "bar": barrier,
    "barrier": barrier,
    "barrier.cluster": cluster_barrier,
    **dict.fromkeys(("brkpt", "nanosleep", "pmevent", "griddepcontrol", "setmaxnreg"), nothing),
}
