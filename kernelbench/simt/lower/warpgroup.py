"""Matrix products of four warps: wgmma.mma_async. They are computed when they are issued, so waiting does nothing.

`wgmma`: a numbers: how many registers of D, these, how many of A, these; b, c slots of the descriptors of A (NONE: it
is in registers) and of B; d predicate that keeps D, f its negation; immediate packed as in Product of warpgroup.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE, Kind
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import operands
from kernelbench.simt.lower.matrix import EIGHTS, ELEMENTS, SMALL, SUM_BITS, element_bits, packed
from kernelbench.simt.lower.memory import lower_nothing

ROWS, CHUNK_BITS = 64, 256  # of A; and k of a product
TRANSPOSED = frozenset({"f16", "bf16"})  # types whose matrices may be transposed in shared memory
_SHAPE = re.compile(r"m64n(\d+)k(\d+)")


def multiply(context: Context, one: ir.Instruction) -> None:
    """wgmma.mma_async.sync.aligned.shape{.satfinite}.d.a.b{.and.popc} d, a, b-descriptor, keeps d{, a's sign, b's sign
    {, a transposed, b transposed}}."""
    words = [word for word in one.opcode[2:] if word not in ("sync", "aligned")]
    shape = next((found for found in map(_SHAPE.fullmatch, words) if found), None)
    types = [word for word in words if word in ELEMENTS or word in SUM_BITS]
    others = {word for word in words if word not in types and not _SHAPE.fullmatch(word)}
    if shape is None or len(types) != 3 or not _is_known(types, int(shape[1]), int(shape[2]), others):
        context.refuse("not supported: this form of wgmma.mma_async")
    n, k = int(shape[1]), int(shape[2])
    target, a, b, keeps, *constants = operands(context, 4, 6, 7, 8)
    in_registers = isinstance(a, ir.Vector)
    signs, transposed = _constants(context, types[1], constants, in_registers)
    sums = _registers(context, target, ROWS * n * element_bits(types[0]) // (32 * 128))
    factors = _registers(context, a, ROWS * k * element_bits(types[1]) // (32 * 128)) if in_registers else []
    index, negated = context.predicate(keeps)
    names = tuple(ELEMENTS)
    fields = (
        *((n, 9), (k, 9), (names.index(types[1]), 4), (names.index(types[2]), 4)),
        *((types[0] == "f16", 1), ("satfinite" in others, 1)),
        *((signs[0] < 0, 1), (signs[1] < 0, 1), (transposed[0], 1), (transposed[1], 1)),
    )
    context.emit(
        "wgmma",
        a=context.numbers([len(sums), *sums, len(factors), *factors]),
        b=NONE if in_registers else context.source(a, "b64"),
        c=context.source(b, "b64"),
        d=index,
        e=context.constant(0xFFFFFFFF, 4),
        f=int(negated),
        immediate=packed(fields),
        kind=Kind.CONVERGE,
    )


def _is_known(types: Sequence[str], n: int, k: int, others: set[str]) -> bool:
    d, a, b = types
    if n % 8 or not 8 <= n <= 256 or k * element_bits(a) != CHUNK_BITS:
        return False
    if a in EIGHTS:
        return d == "s32" and b in EIGHTS and others <= {"satfinite"}
    if a == "b1":
        return d == "s32" and b == "b1" and others == {"and", "popc"}
    allowed = {"f16", "f32"} if a == "f16" or a in SMALL else {"f32"}
    return not others and d in allowed and (a == b or {a, b} <= SMALL) and a in ("f16", "bf16", "tf32", *SMALL)


def _constants(
    context: Context, kind: str, given: Sequence[ir.Operand], in_registers: bool
) -> tuple[list[int], list[int]]:
    """(signs of A and B, whether A and B are transposed)."""
    has_signs = kind not in (*EIGHTS, "b1")
    expected = 2 * has_signs + (2 - in_registers) * (kind in TRANSPOSED)
    values = [one.value for one in given if isinstance(one, ir.Immediate)]
    if len(given) != expected or len(values) != expected:
        context.refuse(f"{len(given)} constants, expected {expected}")
    signs = [1 if value == 1 else -1 for value in values[:2]] if has_signs else [1, 1]
    transposed = values[2:] if kind in TRANSPOSED else [0, 0]
    return signs, [0, *transposed] if in_registers and kind in TRANSPOSED else list(transposed)


def _registers(context: Context, operand: ir.Operand, expected: int) -> list[int]:
    items = context.items(operand)
    if len(items) != expected:
        context.refuse(f"{len(items)} registers, expected {expected}")
    return [context.register(item, 4) for item in items]


TABLE = {
    "wgmma.mma_async": multiply,
    **dict.fromkeys(("wgmma.fence", "wgmma.commit_group", "wgmma.wait_group"), lower_nothing),
}
