"""Branches, exits and barriers.

BRANCH: target, reconverge. TABLE_BRANCH: a slot of the index (u32), b its first target in the table, c how many.
BARRIER: f the form, a slot of the barrier's number, b slot of the number of threads or NONE for all, c predicate that
a reduction reads and e its negation, d what gets the result: a slot (count) or a predicate.
TRAP: f 1 for a failed assertion. YIELD: a load, or nothing, after which another warp runs.
"""

from __future__ import annotations

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE, BarrierForm, Kind
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import operands
from kernelbench.simt.lower.memory import lower_nothing

REDUCTIONS = {"popc": BarrierForm.REDUCE_COUNT, "and": BarrierForm.REDUCE_AND, "or": BarrierForm.REDUCE_OR}
CLUSTER_FORMS = {"arrive": BarrierForm.CLUSTER_ARRIVE, "wait": BarrierForm.CLUSTER_WAIT}
CLUSTER_WORDS = {"release", "relaxed", "acquire", "aligned"}
OPERANDS = {"sync": (1, 2), "arrive": (2,), "red": (3, 4)}


def branch(context: Context, one: ir.Instruction) -> None:
    (label,) = operands(context, 1)
    context.emit("", kind=Kind.BRANCH, target=_target(context, label), reconverge=_meeting(context))


def table_branch(context: Context, one: ir.Instruction) -> None:
    """brx.idx index, table."""
    index, table = operands(context, 2)
    name = table.name if isinstance(table, (ir.Label, ir.Symbol)) else ""
    if name not in context.function.targets:
        context.refuse(f"unknown table of branch targets {name}")
    targets = [_target(context, ir.Label(label)) for label in context.function.targets[name]]
    context.table += targets
    context.emit(
        "",
        kind=Kind.TABLE_BRANCH,
        a=context.source(index, "u32"),
        b=len(context.table) - len(targets),
        c=len(targets),
        reconverge=_meeting(context),
    )


def exit_kernel(context: Context, one: ir.Instruction) -> None:
    context.emit("", kind=Kind.EXIT)


def trap(context: Context, one: ir.Instruction) -> None:
    context.emit("", kind=Kind.TRAP, f=int("assertfail" in one.text))  # inlining turns its call into a trap


def barrier(context: Context, one: ir.Instruction) -> None:
    """bar and barrier: sync, arrive, red."""
    parts = [part for part in one.opcode[1:] if part not in ("cta", "aligned")]
    name = parts[0] if parts else ""
    if name not in OPERANDS:
        context.refuse("not supported: this form of barrier")
    found = list(operands(context, *OPERANDS[name]))
    form, result, reduced, negated = BarrierForm.SYNC, NONE, NONE, False
    if name == "red":
        form = REDUCTIONS[next((part for part in parts if part in REDUCTIONS), "popc")]
        target, *found, predicate = found
        if form is BarrierForm.REDUCE_COUNT:
            result = context.destination(target, 4)
        else:
            result, _ = context.predicate(target)
        reduced, negated = context.predicate(predicate)
    elif name == "arrive":
        form = BarrierForm.ARRIVE
    number, *threads = (context.source(one, "u32") for one in found)
    context.emit(
        "",
        kind=Kind.BARRIER,
        f=form,
        a=number,
        b=threads[0] if threads else NONE,
        c=reduced,
        d=result,
        e=int(negated),
    )


def cluster_barrier(context: Context, one: ir.Instruction) -> None:
    """barrier.cluster.arrive and .wait. A .relaxed arrival orders memory here like any other."""
    operands(context, 0)
    name, *words = one.opcode[2:] or ("",)
    if name not in CLUSTER_FORMS or not CLUSTER_WORDS.issuperset(words):
        context.refuse("not supported: this form of barrier")
    context.emit("", kind=Kind.BARRIER, f=CLUSTER_FORMS[name])


def sleep(context: Context, one: ir.Instruction) -> None:
    """nanosleep: another warp runs."""
    context.emit("", kind=Kind.YIELD)


def _target(context: Context, operand: ir.Operand) -> int:
    name = operand.name if isinstance(operand, (ir.Label, ir.Symbol)) else ""
    if name not in context.function.labels:
        context.refuse(f"unknown label {name}")
    return context.function.labels[name]


def _meeting(context: Context) -> int:
    index = context.flow.reconverge.get(len(context.code))
    return NONE if index is None else index


TABLE = {
    "bra": branch,
    "brx.idx": table_branch,
    "ret": exit_kernel,
    "exit": exit_kernel,
    "trap": trap,
    "bar": barrier,
    "barrier": barrier,
    "barrier.cluster": cluster_barrier,
    "nanosleep": sleep,
    **dict.fromkeys(("brkpt", "pmevent", "griddepcontrol", "setmaxnreg"), lower_nothing),
}
