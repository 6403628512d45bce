"""Comparisons: setp into predicates, set into numbers."""

from __future__ import annotations

from kernelbench.simt import ir
from kernelbench.simt.interface import COMPARISON_SHIFT, COMPARISONS, NONE, Combine
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import INTEGERS, Lowering, bytes_of, operands, result_predicate, take_apart

UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
COMBINE = {"and": Combine.AND, "or": Combine.OR, "xor": Combine.XOR}
ONES = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}
BY_MODIFIERS = frozenset({"f16", "bf16", "f16x2", "bf16x2"})


def set_predicate(context: Context, one: ir.Instruction) -> None:
    """setp.comparison{.boolean}{.ftz}.type p{|q}, a, b{, c}."""
    form = take_apart(context, {*COMPARISONS, *UNSIGNED, *COMBINE, "ftz"})
    found = operands(context, 3, 4)
    comparison = _comparison(context, form.words)
    first, second = (
        (found[0].first, found[0].second) if isinstance(found[0], ir.ResultPair) else (found[0], ir.Discard())
    )
    other, how = _combined(context, form.words, found[3:])
    flags = form.modifiers
    operand = _compared_type(form.type, comparison)
    if form.type in BY_MODIFIERS or flags:
        name, flags = f"setp_any_{form.type}", flags | COMPARISONS.index(comparison) << COMPARISON_SHIFT
    else:
        name = f"setp_{comparison}_{operand}"
    context.emit(
        name,
        d=result_predicate(context, first),
        e=result_predicate(context, second),
        a=context.source_of(found[1], bytes_of(form.type)),
        b=context.source_of(found[2], bytes_of(form.type)),
        c=other,
        f=how,
        immediate=flags,
    )


def set_number(context: Context, one: ir.Instruction) -> None:
    """set.comparison{.boolean}{.ftz}.type.compared d, a, b{, c}: 1.0 or all ones where true, else 0."""
    form = take_apart(context, {*COMPARISONS, *UNSIGNED, *COMBINE, "ftz"}, types=2)
    found = operands(context, 3, 4)
    comparison = _comparison(context, form.words)
    result, compared = form.types
    other, how = _combined(context, form.words, found[3:])
    width = bytes_of(result)
    if width not in (2, 4):
        context.refuse(f"not supported: a comparison as {result}")
    context.emit(
        f"set_{compared if compared not in INTEGERS else _compared_type(compared, comparison)}",
        d=context.destination(found[0], width),
        a=context.source_of(found[1], bytes_of(compared)),
        b=context.source_of(found[2], bytes_of(compared)),
        c=other,
        e=width,
        f=how,
        x=(ONES.get(result, 0xFFFFFFFF),),
        immediate=form.modifiers | COMPARISONS.index(comparison) << COMPARISON_SHIFT,
    )


def _comparison(context: Context, words: frozenset[str]) -> str:
    named = [UNSIGNED.get(word, word) for word in words if word in COMPARISONS or word in UNSIGNED]
    if len(named) != 1:
        context.refuse("expected a comparison")
    return named[0]


def _combined(context: Context, words: frozenset[str], rest: tuple[ir.Operand, ...]) -> tuple[int, int]:
    """(predicate to combine with or NONE, Combine)."""
    how = [COMBINE[word] for word in words if word in COMBINE]
    if len(how) != len(rest):
        context.refuse("expected an operation and a predicate to combine with")
    if not rest:
        return NONE, 0
    index, negated = context.predicate(rest[0])
    return index, how[0] | (Combine.NEGATED if negated else 0)


def _compared_type(type_name: str, comparison: str) -> str:
    """The type to compare as: unsigned for integers if the result is the same."""
    if type_name[0] in "bs" and type_name != "bf16" and (comparison in ("eq", "ne") or type_name[0] == "b"):
        return f"u{type_name[1:]}"
    return type_name


TABLE: dict[str, Lowering] = {"setp": set_predicate, "set": set_number}
