"""Warp-level operations. All but activemask have a mask of participating lanes, whose slot is e."""

from __future__ import annotations

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE, Kind
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import Lowering, OpcodeForm, bytes_of, operands, result_predicate, take_apart

SHUFFLES = frozenset({"up", "down", "bfly", "idx"})
VOTES = frozenset({"all", "any", "uni", "ballot"})
REDUCTIONS = frozenset({"add", "min", "max", "and", "or", "xor"})


def shuffle(context: Context, one: ir.Instruction) -> None:
    """shfl.sync.mode.b32 d{|p}, a, b, c, members: f is p or NONE."""
    form = take_apart(context, {"sync", *SHUFFLES})
    mode = _sync_and_one(context, form, SHUFFLES)
    found = operands(context, 5)
    result, predicate = _both(context, found[0])
    a, b, c, members = (context.source(operand, "b32") for operand in found[1:])
    context.emit(
        f"shfl_{mode}", d=context.destination(result, 4), f=predicate, a=a, b=b, c=c, e=members, kind=Kind.CONVERGE
    )


def vote(context: Context, one: ir.Instruction) -> None:
    """vote.sync.mode.pred p, {!}a, members and vote.sync.ballot.b32 d, {!}a, members."""
    form = take_apart(context, {"sync", *VOTES})
    mode = _sync_and_one(context, form, VOTES)
    found = operands(context, 3)
    index, negated = context.predicate(found[1])
    ballot = mode == "ballot"
    if form.type != ("b32" if ballot else "pred"):
        context.refuse(f"not supported: a vote as {form.type}")
    context.emit(
        f"vote_{mode}",
        d=context.destination(found[0], 4) if ballot else context.predicate(found[0])[0],
        a=index,
        b=int(negated),
        e=context.source(found[2], "b32"),
        kind=Kind.CONVERGE,
    )


def match(context: Context, one: ir.Instruction) -> None:
    """match.any.sync.type d, a, members; match.all has d{|p}."""
    form = take_apart(context, {"sync", "any", "all"})
    mode = _sync_and_one(context, form, {"any", "all"})
    found = operands(context, 3)
    result, predicate = _both(context, found[0])
    context.emit(
        f"match_{mode}_{form.type}",
        d=context.destination(result, 4),
        f=predicate,
        a=context.source_of(found[1], bytes_of(form.type)),
        e=context.source(found[2], "b32"),
        kind=Kind.CONVERGE,
    )


def reduce(context: Context, one: ir.Instruction) -> None:
    """redux.sync.op{.abs}{.NaN}.type d, a, members."""
    form = take_apart(context, {"sync", *REDUCTIONS, "abs", "NaN"})
    plain = OpcodeForm(form.words - {"abs", "NaN"}, form.types)
    name = _sync_and_one(context, plain, REDUCTIONS)
    kind = "u32" if (name, form.type) == ("add", "s32") else form.type
    if plain != form and kind != "f32":
        context.refuse("not supported: this form of redux")
    found = operands(context, 3)
    context.emit(
        f"redux_{name}_{kind}",
        d=context.destination(found[0], 4),
        a=context.source(found[1], "b32"),
        e=context.source(found[2], "b32"),
        immediate=form.modifiers,
        kind=Kind.CONVERGE,
    )


def active_mask(context: Context, one: ir.Instruction) -> None:
    take_apart(context, ())
    context.emit("activemask", d=context.destination(operands(context, 1)[0], 4))


def elect(context: Context, one: ir.Instruction) -> None:
    """elect.sync d|p, members."""
    if one.opcode != ("elect", "sync"):
        context.refuse("not supported: this form of elect")
    found = operands(context, 2)
    result, predicate = _both(context, found[0])
    context.emit(
        "elect", d=context.destination(result, 4), f=predicate, e=context.source(found[1], "b32"), kind=Kind.CONVERGE
    )


def synchronise(context: Context, one: ir.Instruction) -> None:
    """bar.warp.sync members."""
    context.emit("bar_warp", e=context.source(operands(context, 1)[0], "b32"), kind=Kind.CONVERGE)


def _sync_and_one(context: Context, form: OpcodeForm, choices: frozenset[str] | set[str]) -> str:
    """The word of the opcode that is in `choices`; it must also have "sync", as all forms since sm_70 do."""
    chosen = form.words & choices
    if "sync" not in form.words or len(chosen) != 1:
        context.refuse("not supported: this form")
    return next(iter(chosen))


def _both(context: Context, operand: ir.Operand) -> tuple[ir.Operand, int]:
    """(result, index of its predicate or NONE)."""
    if not isinstance(operand, ir.ResultPair):
        return operand, NONE
    return operand.first, result_predicate(context, operand.second)


TABLE: dict[str, Lowering] = {
    "shfl": shuffle,
    "vote": vote,
    "match": match,
    "redux": reduce,
    "activemask": active_mask,
    "elect": elect,
    "bar.warp": synchronise,
}
