"""Bitwise operations, shifts and bit fields, operations on predicates, and selection by predicates."""

from __future__ import annotations

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import (
    BITS,
    INTEGERS,
    TYPE,
    Lowering,
    bits_of,
    bytes_of,
    check_type,
    emit_operation,
    named_by_opcode,
    operands,
    take_apart,
)

PERMUTATIONS = frozenset({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
TESTS = frozenset({"finite", "infinite", "number", "notanumber", "normal", "subnormal"})


def bitwise(context: Context, one: ir.Instruction) -> None:
    """and, or, xor, not, cnot."""
    form = take_apart(context, ())
    name = one.opcode[0]
    count = 2 if name in ("not", "cnot") else 3
    if form.type == "pred":
        predicates(context, name, count)
    else:
        check_type(context, form, BITS, INTEGERS)
        emit_operation(context, f"{name}_b{bits_of(form.type)}", (form.type,) * count)


def predicates(context: Context, name: str, count: int) -> None:
    """An operation on predicates, mov among them."""
    found = operands(context, count)
    indices = [context.predicate(operand) for operand in found]
    context.emit(
        f"{name}_pred",
        d=indices[0][0],
        a=indices[1][0],
        b=indices[2][0] if count > 2 else NONE,
        x=[int(negated) for _, negated in indices[1:]],
    )


def shift(context: Context, one: ir.Instruction) -> None:
    """shl, shr."""
    form = take_apart(context, ())
    check_type(context, form, BITS, INTEGERS)
    sign = "b" if one.opcode[0] == "shl" else "s" if form.type.startswith("s") else "u"
    emit_operation(context, f"{one.opcode[0]}_{sign}{bits_of(form.type)}", (form.type, form.type, "u32"))


def three_inputs(context: Context, one: ir.Instruction) -> None:
    """lop3.b32 d, a, b, c, table."""
    take_apart(context, ())
    found = operands(context, 5)
    table = found[4]
    if not isinstance(table, ir.Immediate) or table.kind != "int":
        context.refuse("the table of lop3 is not a constant")
    a, b, c = (context.source(operand, "b32") for operand in found[1:4])
    context.emit("lop3_b32", d=context.destination(found[0], 4), a=a, b=b, c=c, immediate=table.value & 255)


def permute(context: Context, one: ir.Instruction) -> None:
    """prmt.b32{.mode}: the mode comes after the type."""
    if one.opcode[1:2] != ("b32",) or len(one.opcode) > 3 or not PERMUTATIONS.issuperset(one.opcode[2:]):
        context.refuse("not supported: this form of prmt")
    emit_operation(context, "_".join(("prmt", *one.opcode[2:], "b32")), ("b32",) * 4)


def select(context: Context, one: ir.Instruction) -> None:
    """selp d, a, b, p."""
    form = take_apart(context, ())
    found = operands(context, 4)
    index, negated = context.predicate(found[3])
    width = bytes_of(form.type)
    a, b = (context.source_of(operand, width) for operand in found[1:3])
    context.emit(
        f"selp_u{8 * width}", d=context.destination(found[0], width), a=a, b=b, c=index, x=(0, 0, int(negated))
    )


def select_by_sign(context: Context, one: ir.Instruction) -> None:
    """slct d, a, b, c: a where c >= 0."""
    form = take_apart(context, {"ftz"}, types=2)
    value, by = form.types
    name = "_".join(("slct", *sorted(form.words), f"u{8 * bytes_of(value)}", by))
    emit_operation(context, name, (value, value, value, by))


def test(context: Context, one: ir.Instruction) -> None:
    """testp."""
    form = take_apart(context, TESTS)
    found = operands(context, 2)
    index, _ = context.predicate(found[0])
    context.emit("_".join(one.opcode), d=index, a=context.source(found[1], form.type))


TABLE: dict[str, Lowering] = {
    **dict.fromkeys(("and", "or", "xor", "not", "cnot"), bitwise),
    **dict.fromkeys(("shl", "shr"), shift),
    "shf": named_by_opcode({"l", "r", "wrap", "clamp"}, "b32", "b32", "b32", "b32"),
    "lop3": three_inputs,
    "prmt": permute,
    **dict.fromkeys(("popc", "clz", "bfind"), named_by_opcode({"shiftamt"}, "u32", TYPE)),
    "brev": named_by_opcode((), TYPE, TYPE),
    "bfe": named_by_opcode((), TYPE, TYPE, "u32", "u32"),
    "bfi": named_by_opcode((), TYPE, TYPE, TYPE, "u32", "u32"),
    **dict.fromkeys(("bmsk", "szext"), named_by_opcode({"clamp", "wrap"}, TYPE, TYPE, "u32")),
    "fns": named_by_opcode((), "b32", "b32", "b32", "b32"),
    "selp": select,
    "slct": select_by_sign,
    "testp": test,
}
