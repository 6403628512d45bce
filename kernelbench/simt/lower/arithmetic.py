"""Arithmetic: add to mad, division, minimum and maximum, floating-point functions.

Floating-point operations have a plain form ("add_f32"), some a form with .ftz ("add_ftz_f32"), and one that reads its
modifiers at run time ("add_any_f32").
"""

from __future__ import annotations

from kernelbench.simt import ir
from kernelbench.simt.interface import CarryUse, Modifier
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import (
    FLOATS,
    INTEGERS,
    ROUNDINGS,
    TYPE,
    Lowering,
    OpcodeForm,
    check_type,
    emit_operation,
    named_by_opcode,
    operands,
    take_apart,
    unsigned,
)

FLOAT_WORDS = frozenset({*ROUNDINGS, "ftz", "sat", "relu"})
EXTREME_WORDS = frozenset({"ftz", "NaN", "xorsign", "abs", "relu"})
HALVES = frozenset({"lo", "hi", "wide"})
WITH_FTZ = frozenset(
    {"add", "sub", "mul", "fma", "neg", "abs", "min", "max", "ex2", "lg2", "rcp", "rsqrt", "div_approx"}
)
WITH_MODIFIERS_ONLY = frozenset({"sin", "cos", "tanh"})
WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def _float(context: Context, name: str, form: OpcodeForm, count: int) -> None:
    """An operation on `count` operands of one type."""
    check_type(context, form, FLOATS)
    emit_operation(context, _float_name(name, form), (form.type,) * (count + 1), form.modifiers)


def _float_name(name: str, form: OpcodeForm) -> str:
    if form.modifiers == 0 and form.type in ("f32", "f64") and name not in WITH_MODIFIERS_ONLY:
        return f"{name}_{form.type}"
    if form.modifiers == Modifier.FTZ and form.type == "f32" and name in WITH_FTZ:
        return f"{name}_ftz_f32"
    return f"{name}_any_{form.type}"


def _carry(name: str, form: OpcodeForm) -> int:
    """Whether an instruction like addc.cc reads and writes the carry."""
    return CarryUse.READS_CARRY * name.endswith("c") | CarryUse.WRITES_CARRY * ("cc" in form.words)


def add(context: Context, one: ir.Instruction) -> None:
    """add, sub, addc, subc."""
    form = take_apart(context, {*FLOAT_WORDS, "cc"})
    name = one.opcode[0]
    if form.type in FLOATS and "cc" not in form.words and not name.endswith("c"):
        _float(context, name, form, 2)
        return
    types = (form.type,) * 3
    if form.type in ("u16x2", "s16x2") and name == "add" and not form.words:
        emit_operation(context, "add_u16x2", types)
        return
    check_type(context, form, INTEGERS)
    if carry := _carry(name, form):
        emit_operation(context, f"{name[:3]}_carry_{unsigned(form.type)}", types, f=carry)
    elif form.words == {"sat"} and form.type == "s32":
        emit_operation(context, f"{name}_sat_s32", types)
    elif form.words:
        context.refuse("not supported: this form")
    else:
        emit_operation(context, f"{name}_{unsigned(form.type)}", types)


def multiply(context: Context, one: ir.Instruction) -> None:
    """mul."""
    form = take_apart(context, {*FLOAT_WORDS, *HALVES})
    if form.type in FLOATS:
        _float(context, "mul", form, 2)
        return
    _, operation, result = _product(context, "mul", form)
    emit_operation(context, operation, (result, form.type, form.type))


def multiply_add(context: Context, one: ir.Instruction) -> None:
    """mad, madc, fma; floating-point forms are always fused."""
    form = take_apart(context, {*FLOAT_WORDS, *HALVES, "cc"})
    name = one.opcode[0]
    if form.type in FLOATS and name != "madc":
        _float(context, "fma", form, 3)
        return
    carry = _carry(name, form)
    half, operation, result = _product(context, "mad", OpcodeForm(form.words - {"cc"}, form.types))
    types = (result, form.type, form.type, result)
    if carry:
        emit_operation(context, f"mad_{half}_carry_{form.type}", types, f=carry)
    else:
        emit_operation(context, operation, types)


def _product(context: Context, name: str, form: OpcodeForm) -> tuple[str, str, str]:
    """(lo, hi or wide; operation; type of the result) of an integer product."""
    check_type(context, form, INTEGERS)
    half = next((word for word in form.words if word in HALVES), None)
    if half is None:
        context.refuse("expected lo, hi or wide")
    if half == "wide" and form.type not in WIDER:
        context.refuse(f"not supported: wide products of {form.type}")
    if form.words == {"hi", "sat"} and (name, form.type) == ("mad", "s32"):
        return half, "mad_hi_sat_s32", form.type
    if form.words != {half}:
        context.refuse("not supported: this form")
    operand = unsigned(form.type) if half == "lo" else form.type
    return half, f"{name}_{half}_{operand}", WIDER[form.type] if half == "wide" else form.type


def divide(context: Context, one: ir.Instruction) -> None:
    """div, rem."""
    name = one.opcode[0]
    form = take_apart(context, {*ROUNDINGS, "ftz", "approx", "full"})
    if form.type in FLOATS and name == "div":
        _float(context, "div_approx" if "approx" in form.words else "div", form, 2)
        return
    check_type(context, form, INTEGERS)
    emit_operation(context, f"{name}_{form.type}", (form.type,) * 3)


def negate(context: Context, one: ir.Instruction) -> None:
    """neg, abs."""
    form = take_apart(context, {"ftz"})
    if form.type in FLOATS:
        _float(context, one.opcode[0], form, 1)
    else:
        emit_operation(context, f"{one.opcode[0]}_{form.type}", (form.type,) * 2)


def extreme(context: Context, one: ir.Instruction) -> None:
    """min, max; f32 also with three operands."""
    name = one.opcode[0]
    form = take_apart(context, EXTREME_WORDS)
    if form.type in FLOATS:
        count = len(operands(context, 3, 4)) - 1
        if count == 3:
            emit_operation(context, f"{name}_any_{form.type}", (form.type,) * 4, form.modifiers)
        else:
            _float(context, name, form, 2)
        return
    if form.words - {"relu"}:
        context.refuse("not supported: this form")
    emit_operation(context, "_".join(one.opcode), (form.type,) * 3)


def dot(context: Context, one: ir.Instruction) -> None:
    """dp4a, dp2a."""
    form = take_apart(context, {"lo", "hi"}, types=2)
    emit_operation(context, "_".join(one.opcode), (form.types[0], *form.types, form.types[0]))


def float_function(context: Context, one: ir.Instruction) -> None:
    """rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh."""
    name = one.opcode[0]
    form = take_apart(context, {*ROUNDINGS, "approx", "ftz"})
    if form.type == "f64" and {"approx", "ftz"} <= form.words:
        emit_operation(context, f"{name}_upper_f64", ("f64", "f64"))
    else:
        _float(context, name, form, 1)


TABLE: dict[str, Lowering] = {
    **dict.fromkeys(("add", "sub", "addc", "subc"), add),
    "mul": multiply,
    **dict.fromkeys(("mad", "madc", "fma"), multiply_add),
    "mul24": named_by_opcode({"lo", "hi", "sat"}, TYPE, TYPE, TYPE),
    "mad24": named_by_opcode({"lo", "hi", "sat"}, TYPE, TYPE, TYPE, TYPE),
    **dict.fromkeys(("div", "rem"), divide),
    **dict.fromkeys(("neg", "abs"), negate),
    **dict.fromkeys(("min", "max"), extreme),
    "sad": named_by_opcode((), TYPE, TYPE, TYPE, TYPE),
    **dict.fromkeys(("dp4a", "dp2a"), dot),
    **dict.fromkeys(("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"), float_function),
    "copysign": named_by_opcode((), TYPE, TYPE, TYPE),
}
