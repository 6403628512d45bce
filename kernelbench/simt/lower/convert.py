"""Conversions between types: cvt, cvt.pack. The table includes that of moves.py.

cvt_<type>_float and cvt_<type>_integer: a the source, e its type by number, b the bytes of its register, f those of
the result's; modifiers in `immediate`. extend_<type>_<bits>_<bits>: the low bits of a register as that type.
"""

from __future__ import annotations

from kernelbench.simt import ir
from kernelbench.simt.interface import CVT_TYPES, Modifier
from kernelbench.simt.lower import moves
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import (
    INTEGERS,
    ROUNDINGS,
    WHOLE_ROUNDINGS,
    Lowering,
    OpcodeForm,
    bits_of,
    bytes_of,
    emit_operation,
    operands,
    take_apart,
)

FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
WORDS = frozenset({*ROUNDINGS, *WHOLE_ROUNDINGS, "rna", "ftz", "sat", "relu", "satfinite"})
PLAIN_FLOATS = frozenset(
    {("f32", "f16"), ("f32", "bf16"), ("f16", "f32"), ("bf16", "f32"), ("f64", "f32"), ("f32", "f64")}
)
PLAIN_INTEGERS = frozenset({"u32", "s32", "u64", "s64"})
FROM_TWO = frozenset({"f16x2", "bf16x2", "e4m3x2", "e5m2x2"})
EIGHT_BITS = frozenset({"e4m3x2", "e5m2x2"})


def convert(context: Context, one: ir.Instruction) -> None:
    """cvt."""
    form = take_apart(context, WORDS, types=2)
    result, source = form.types
    if result in FROM_TWO and source == "f32":
        emit_operation(context, f"cvt_{result}_f32", (result, "f32", "f32"), form.modifiers)
    elif {result, source} & EIGHT_BITS and {result, source} & {"f16x2"}:
        emit_operation(context, f"cvt_{result}_{source}", (result, source), form.modifiers)
    elif (result, source) == ("tf32", "f32"):
        emit_operation(context, "cvt_tf32_f32", ("tf32", "f32"), form.modifiers)
    elif result in INTEGERS and source in INTEGERS:
        _integers(context, form)
    elif result in INTEGERS | FLOATS and source in INTEGERS | FLOATS:
        _numbers(context, form)
    else:
        context.refuse(f"not supported: from {source} to {result}")


def _integers(context: Context, form: OpcodeForm) -> None:
    result, source = form.types
    target, origin = operands(context, 2)
    to, origin_bytes = _widths(context, target, origin, form)
    if "sat" in form.words and (result, source) != ("u64", "u64"):
        _emit(context, f"saturate_{result}", form, 0)
        return
    narrow = source if bits_of(source) < bits_of(result) else result
    if narrow == source and source[0] == "s" and result[0] == "u" and 8 * to > bits_of(result):
        context.refuse(f"not supported: {result} in a register of {8 * to} bits")
    if bits_of(narrow) == 64:
        emit_operation(context, "mov_b64", (result, source))
        return
    context.emit(
        f"extend_{narrow}_{8 * to}_{8 * origin_bytes}",
        d=context.destination(target, to),
        a=context.source_of(origin, origin_bytes),
    )


def _numbers(context: Context, form: OpcodeForm) -> None:
    """Conversions from or to floating-point numbers."""
    result, source = form.types
    modifiers = form.modifiers
    if result in FLOATS and form.words & set(WHOLE_ROUNDINGS):
        modifiers |= Modifier.TO_INTEGER
    natural = all(context.width(operand) in (None, bytes_of(kind)) for operand, kind in
                  zip(operands(context, 2), form.types, strict=True))  # fmt: skip
    plain = (result, source) in PLAIN_FLOATS or (result in ("f32", "f64") and source in PLAIN_INTEGERS)
    if modifiers == 0 and plain and natural:
        emit_operation(context, f"cvt_{result}_{source}", (result, source))
    else:
        _emit(context, f"cvt_{result}_{'integer' if source in INTEGERS else 'float'}", form, modifiers)


def _emit(context: Context, operation: str, form: OpcodeForm, modifiers: int) -> None:
    target, origin = operands(context, 2)
    to, origin_bytes = _widths(context, target, origin, form)
    context.emit(
        operation,
        d=context.destination(target, to),
        a=context.source_of(origin, origin_bytes),
        b=origin_bytes,
        e=CVT_TYPES.index(form.types[1]),
        f=to,
        immediate=modifiers,
    )


def _widths(context: Context, target: ir.Operand, origin: ir.Operand, form: OpcodeForm) -> tuple[int, int]:
    """Bytes of both registers; integers may be narrower than theirs."""
    found = []
    for operand, kind in ((target, form.types[0]), (origin, form.types[1])):
        width = context.width(operand) or bytes_of(kind)
        if width < bytes_of(kind) or (kind not in INTEGERS and width != bytes_of(kind)) or width > 8:
            context.refuse(f"a register of {8 * width} bits for {kind}")
        found.append(width)
    return found[0], found[1]


def pack(context: Context, one: ir.Instruction) -> None:
    """cvt.pack.sat.u8.s32.b32 d, a, b, c: packs a and b, saturated; for 8-bit results the bits of c follow above."""
    parts = one.opcode[2:]
    if parts[:1] != ("sat",) or parts[1:2] not in [(kind,) for kind in ("u16", "s16", "u8", "s8")]:
        context.refuse("not supported: this form of cvt.pack")
    if parts[2:] != (("s32", "b32") if "8" in parts[1] else ("s32",)):
        context.refuse("not supported: this form of cvt.pack")
    if "8" in parts[1]:
        emit_operation(context, f"cvt_pack_{parts[1]}", ("b32", "s32", "s32", "b32"))
        return
    target, upper, lower = operands(context, 3)
    a, b = context.source(upper, "s32"), context.source(lower, "s32")
    context.emit(f"cvt_pack_{parts[1]}", d=context.destination(target, 4), a=a, b=b, c=context.constant(0, 4))


TABLE: dict[str, Lowering] = {"cvt": convert, "cvt.pack": pack, **moves.TABLE}
