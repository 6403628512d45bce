"""Splits opcodes into types and modifiers, and lowers instructions of the usual form: a result and operands."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE, Modifier
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.registers import slot_bytes

Lowering = Callable[[Context, ir.Instruction], None]

INTEGERS = frozenset(f"{sign}{bits}" for sign in "us" for bits in (8, 16, 32, 64))
BITS = frozenset({"b8", "b16", "b32", "b64", "b128"})
FLOATS = frozenset({"f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "f32x2"})
PAIR_BYTES = {"u16x2": 4, "s16x2": 4, "e4m3x2": 2, "e5m2x2": 2}
TYPE = "type"  # see named_by_opcode
ROUNDINGS = ("rn", "rz", "rm", "rp")
WHOLE_ROUNDINGS = ("rni", "rzi", "rmi", "rpi")
WORDS = {
    "ftz": Modifier.FTZ,
    "sat": Modifier.SAT,
    "relu": Modifier.RELU,
    "NaN": Modifier.KEEP_NAN,
    "xorsign": Modifier.XOR_SIGN,
    "abs": Modifier.ABSOLUTE,
    "satfinite": Modifier.SATURATE_FINITE,
    "rna": Modifier.TIES_AWAY,
}


@dataclass(frozen=True)
class OpcodeForm:
    """Modifiers and types of an opcode: {rn, ftz} and (f32,) for "add.rn.ftz.f32"."""

    words: frozenset[str]
    types: tuple[str, ...]

    @property
    def type(self) -> str:
        return self.types[-1]

    @property
    def direction(self) -> int:
        """Direction of rounding."""
        for names in (ROUNDINGS, WHOLE_ROUNDINGS):
            for number, name in enumerate(names):
                if name in self.words:
                    return number
        return 0

    @property
    def modifiers(self) -> int:
        """Modifiers and rounding direction, which the runtime reads from `immediate`."""
        found = self.direction
        for word in self.words:
            found |= WORDS.get(word, 0)
        return int(found)


def take_apart(context: Context, allowed: Collection[str], types: int = 1) -> OpcodeForm:
    """The form of the current instruction: modifiers from `allowed`, and exactly `types` types at the end."""
    parts = context.instruction.opcode[1:]
    split = max(len(parts) - types, 0)
    words, found = parts[:split], parts[split:]
    unknown = [part for part in words if part not in allowed]
    unknown += [part for part in found if part not in ir.TYPE_BYTES and part not in PAIR_BYTES]
    if unknown or len(found) != types:
        context.refuse(f"not supported: .{unknown[0]}" if unknown else "a type is missing")
    return OpcodeForm(frozenset(words), found)


def bytes_of(type_name: str) -> int:
    """Bytes of a register of the type."""
    return PAIR_BYTES.get(type_name) or slot_bytes(type_name)


def operands(context: Context, *counts: int) -> tuple[ir.Operand, ...]:
    """Operands of the current instruction; their number must be one of `counts`."""
    found = context.instruction.operands
    if len(found) not in counts:
        context.refuse(f"{len(found)} operands, expected {' or '.join(map(str, counts))}")
    return found


def result_register(context: Context, operand: ir.Operand, width: int) -> int:
    """Offset of a register that gets a result; NONE for `_`."""
    return NONE if isinstance(operand, ir.Discard) else context.register(operand, width)


def result_predicate(context: Context, operand: ir.Operand) -> int:
    """Index of a predicate that gets a result; NONE for `_`."""
    return NONE if isinstance(operand, ir.Discard) else context.predicate(operand)[0]


def emit_operation(context: Context, operation: str, types: tuple[str, ...], immediate: int = 0, *, f: int = 0) -> None:
    """d = operation(a, b, c, e); `types` of the result and of each operand."""
    found = operands(context, len(types))
    sources = [context.source_of(one, bytes_of(name)) for one, name in zip(found[1:], types[1:], strict=True)]
    a, b, c, e = (*sources, NONE, NONE, NONE)[:4]
    target = context.destination(found[0], bytes_of(types[0]))
    context.emit(operation, d=target, a=a, b=b, c=c, e=e, f=f, immediate=immediate)


def named_by_opcode(words: Collection[str], *types: str) -> Lowering:
    """Lowers to the operation that is called like the whole opcode. `words`: its modifiers; `types`: of the result and
    of each operand, where TYPE stands for the last type of the opcode."""

    def lowered(context: Context, one: ir.Instruction) -> None:
        form = take_apart(context, words)
        emit_operation(context, "_".join(one.opcode), tuple(form.type if name == TYPE else name for name in types))

    return lowered


def check_type(context: Context, form: OpcodeForm, *allowed: Collection[str]) -> None:
    if not any(form.type in one for one in allowed):
        context.refuse(f"not supported: this operation of {form.type}")


def bits_of(type_name: str) -> int:
    """8 for "u8", 32 for "s32"."""
    return 8 * (PAIR_BYTES.get(type_name) or ir.TYPE_BYTES[type_name])


def unsigned(type_name: str) -> str:
    """The unsigned type of the same width."""
    return f"u{bits_of(type_name)}"
