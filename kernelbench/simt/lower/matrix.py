"""Matrices of a warp: mma, wmma, ldmatrix, stmatrix, movmatrix. Each needs all lanes, so `e` is a mask of all.

`mma`: a slot of 32 offsets, 8 each for the registers of D, A, B and C (NONE: unused), immediate packed as in Product.
`wmma_load_<space>`, `wmma_store_<space>`: the address as in ld; c slot of the stride or NONE, f packed as in Fragment,
x the registers. `ldmatrix_<space>`, `stmatrix_<space>`: the address; f matrices, c 1 if transposed, x the registers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE, Kind
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import Lowering, operands

# Elements of A and B, in the order of the runtime: name -> bits.
ELEMENTS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "f64": 64,
            "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}  # fmt: skip
SUM_BITS = {"f16": 16, "f32": 32, "f64": 64, "s32": 32}
SMALL = frozenset({"e4m3", "e5m2"})
EIGHTS, FOURS = frozenset({"s8", "u8"}), frozenset({"s4", "u4"})
# Shapes of mma.sync by the type of A; all but m8n8k4 of f16 are row.col.
SHAPES: dict[str, tuple[str, ...]] = {
    "f16": ("m8n8k4", "m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
    **dict.fromkeys(SMALL, ("m16n8k16", "m16n8k32")),
    **dict.fromkeys(EIGHTS, ("m8n8k16", "m16n8k16", "m16n8k32")),
    **dict.fromkeys(FOURS, ("m8n8k32", "m16n8k32", "m16n8k64")),
    "b1": ("m8n8k128", "m16n8k128", "m16n8k256"),
}
BLOCKS = ("m16n16k16", "m32n8k16", "m8n32k16")
WMMA_SHAPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("f16", "bf16", *EIGHTS), BLOCKS),
    "tf32": ("m16n16k8",),
    "f64": ("m8n8k4",),
    **dict.fromkeys(FOURS, ("m8n8k32",)),
    "b1": ("m8n8k128",),
}
LAYOUTS = ("row", "col")
ROLES = ("a", "b", "c", "d")
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


@dataclass(frozen=True)
class Product:
    """The words of mma or wmma.mma."""

    shape: str
    layouts: tuple[str, ...]
    d: str
    a: str
    b: str
    c: str
    words: frozenset[str]  # "satfinite", "xor", "and"

    @property
    def packed(self) -> int:
        """The fields of Product in matrix_products.cpp, from the lowest bit on."""
        m, n, k = sizes(self.shape)
        names = tuple(ELEMENTS)
        fields = (
            *((m, 6), (n, 6), (k, 9), (names.index(self.a), 4), (names.index(self.b), 4)),
            *((self.c == "f16", 1), (self.d == "f16", 1), ("satfinite" in self.words, 1), ("and" in self.words, 1)),
            *((self.is_quads, 1), (self.layouts[:1] == ("col",), 1), (self.layouts[1:] == ("row",), 1)),
        )
        return packed(fields)

    @property
    def is_quads(self) -> bool:
        return (self.shape, self.a) == ("m8n8k4", "f16")

    @property
    def is_known(self) -> bool:
        """Whether PTX has this combination of types."""
        same = {self.a, self.b}
        if self.a == "f64":
            return {self.b, self.c, self.d} == {"f64"}
        if self.a in (*EIGHTS, *FOURS, "b1"):
            kinds = next(kind for kind in (EIGHTS, FOURS, frozenset({"b1"})) if self.a in kind)
            return same <= kinds and {self.c, self.d} == {"s32"}
        if same <= SMALL or same == {"f16"}:
            return {self.c, self.d} <= {"f16", "f32"}
        return len(same) == 1 and {self.c, self.d} == {"f32"}

    def registers(self, kind: str, elements: int) -> int:
        """Registers of a fragment of `elements` of this type, each held once."""
        if self.is_quads:  # four products at once
            elements *= 4
        return registers_of(kind, elements)


def element_bits(kind: str) -> int:
    return SUM_BITS.get(kind) or ELEMENTS[kind]


def registers_of(kind: str, elements: int) -> int:
    """Registers of a lane for `elements` of this type that the warp holds once."""
    return elements * element_bits(kind) // (32 * max(element_bits(kind), 32))


def sizes(shape: str) -> tuple[int, int, int]:
    found = _SHAPE.fullmatch(shape)
    assert found is not None
    m, n, k = map(int, found.groups())
    return m, n, k


def packed(fields: Sequence[tuple[int, int]]) -> int:
    """(value, bits) of each field as one number, the first in the lowest bits."""
    found = position = 0
    for value, bits in fields:
        found |= int(value) << position
        position += bits
    return found


def multiply(context: Context, one: ir.Instruction) -> None:
    """mma.sync.aligned.shape.row.col{.satfinite}.d.a.b.c{.xor.popc} d, a, b, c."""
    found = _product(context, one.opcode, SHAPES)
    if found.layouts != LAYOUTS and not found.is_quads:
        context.refuse("not supported: these layouts")
    _emit_product(context, found, wide=False)


def multiply_fragments(context: Context, one: ir.Instruction) -> None:
    """wmma.mma.sync.aligned.alayout.blayout.shape.types d, a, b, c. Loading has dealt with the layouts."""
    _emit_product(context, _product(context, one.opcode[1:], WMMA_SHAPES), wide=True)


def _product(context: Context, opcode: tuple[str, ...], shapes: dict[str, tuple[str, ...]]) -> Product:
    words = [word for word in opcode[1:] if word not in ("sync", "aligned", "rn", "popc")]
    shape = next((word for word in words if _SHAPE.fullmatch(word)), "")
    layouts = tuple(word for word in words if word in LAYOUTS)
    types = [word for word in words if word in ELEMENTS or word in SUM_BITS]
    others = frozenset(words) - {shape, *LAYOUTS, *types}
    if len(types) == 2 and shapes is WMMA_SHAPES:  # of f16, D and C alone
        types = [types[0], "f16", "f16", types[1]]
    if len(types) != 4 or not others <= {"satfinite", "xor", "and"}:
        context.refuse("not supported: this form of a matrix product")
    found = Product(shape, layouts, types[0], types[1], types[2], types[3], others)
    if shape not in shapes.get(found.a, ()) or not found.is_known or len(layouts) != 2:
        context.refuse("not supported: this shape or these types of a matrix product")
    return found


def _emit_product(context: Context, product: Product, wide: bool) -> None:
    m, n, k = sizes(product.shape)
    matrices = ((product.d, m * n), (product.a, m * k), (product.b, k * n), (product.c, m * n))
    slots: list[int] = []
    for operand, (kind, elements) in zip(operands(context, 4), matrices, strict=True):
        items, expected = context.items(operand), product.registers(kind, elements)
        # wmma gives A and B of f16 eight registers, whatever their size.
        if len(items) != expected and not (wide and kind == "f16" and len(items) == 8):
            context.refuse(f"{len(items)} registers, expected {expected}")
        width = 8 if kind == "f64" else 4
        reads = [context.destination(item, width) if not slots else context.source_of(item, width) for item in items]
        slots += [*reads, *(NONE,) * (8 - len(items))]
    context.emit("mma", a=context.table_of(slots), e=_everybody(context), immediate=product.packed, kind=Kind.CONVERGE)


def move_fragment(context: Context, one: ir.Instruction) -> None:
    """wmma.load.role.sync.aligned.layout.shape{.space}.type registers, [address]{, stride}; of wmma.store.d the address
    comes first."""
    fragment, address, *stride = operands(context, 2, 3)
    action, role, *words = ("shared" if word == "shared::cta" else word for word in one.opcode[1:])
    shape = next((word for word in words if _SHAPE.fullmatch(word)), "")
    kind = words[-1] if words else ""
    layout = next((word for word in words if word in LAYOUTS), "")
    space = next((word for word in words if word in ("global", "shared")), "generic")
    known = any(shape in shapes for shapes in WMMA_SHAPES.values()) and kind in {**ELEMENTS, **SUM_BITS}
    rest = set(words) - {"sync", "aligned", layout, shape, kind, space}
    if rest or role not in ROLES or not layout or not known:
        context.refuse("not supported: this form of wmma")
    take = context.destination
    if action == "store":
        fragment, address, take = address, fragment, context.source_of
    bits, items = element_bits(kind), context.items(fragment)
    m, n, k = sizes(shape)
    once = registers_of(kind, {"a": m * k, "b": k * n}.get(role, m * n))
    if not 1 <= once <= len(items) or (len(items) != once and (kind, len(items)) != ("f16", 8)):
        context.refuse(f"{len(items)} registers, expected {once}")
    by_columns = layout == "col"
    fields = ((min(ROLES.index(role), 2), 2), (by_columns, 1), (bits.bit_length() - 1, 3), (m, 6), (n, 6), (k, 9))
    register_bytes = 8 if bits == 64 else 4
    context.emit(
        f"wmma_{action}_{space}",
        at=context.address(address),
        c=context.source(stride[0], "u32") if stride else NONE,
        e=_everybody(context),
        f=packed(fields),
        x=[take(item, register_bytes) for item in items],
        kind=Kind.CONVERGE,
    )


def move_rows(context: Context, one: ir.Instruction) -> None:
    """ldmatrix.sync.aligned.m8n8.count{.trans}{.shared}.b16 registers, [address]; of stmatrix the address comes
    first."""
    registers, address = operands(context, 2)
    take = context.destination
    if one.opcode[0] == "stmatrix":
        registers, address, take = address, registers, context.source_of
    words = {"shared" if word == "shared::cta" else word for word in one.opcode[1:]}
    counts = {"x1": 1, "x2": 2, "x4": 4}
    count = next((counts[word] for word in words if word in counts), 0)
    items = context.items(registers)
    if not {"m8n8", "b16"} <= words <= {"sync", "aligned", "m8n8", "trans", "shared", "b16", *counts} or not count:
        context.refuse(f"not supported: this form of {one.opcode[0]}")
    if len(items) != count:
        context.refuse(f"{len(items)} registers for {count} matrices")
    context.emit(
        f"{one.opcode[0]}_{'shared' if 'shared' in words else 'generic'}",
        at=context.address(address),
        c=int("trans" in words),
        e=_everybody(context),
        f=count,
        x=[take(item, 4) for item in items],
        kind=Kind.CONVERGE,
    )


def transpose(context: Context, one: ir.Instruction) -> None:
    """movmatrix.sync.aligned.m8n8.trans.b16 d, a."""
    if one.opcode[1:] != ("sync", "aligned", "m8n8", "trans", "b16"):
        context.refuse("not supported: this form of movmatrix")
    target, source = operands(context, 2)
    context.emit(
        "movmatrix",
        d=context.destination(target, 4),
        a=context.source(source, "b32"),
        e=_everybody(context),
        kind=Kind.CONVERGE,
    )


def _everybody(context: Context) -> int:
    return context.constant(0xFFFFFFFF, 4)


TABLE: dict[str, Lowering] = {
    "mma.sync": multiply,
    "wmma.mma": multiply_fragments,
    "wmma.load": move_fragment,
    "wmma.store": move_fragment,
    "ldmatrix": move_rows,
    "stmatrix": move_rows,
    "movmatrix": transpose,
}
