"""Textures and surfaces by handle, of one and two dimensions: tex, suld.b, sust.b. Operands: texture.cpp."""

from __future__ import annotations

from kernelbench.simt import ir
from kernelbench.simt.interface import NONE
from kernelbench.simt.lower.context import Context
from kernelbench.simt.lower.forms import operands
from kernelbench.simt.lower.memory import VECTORS

RESULTS = ("f32", "s32", "u32")
DIMENSIONS = {"1d": 1, "2d": 2}
BOUNDARIES = ("trap", "clamp", "zero")
ELEMENTS = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}


def fetch(context: Context, one: ir.Instruction) -> None:
    """tex.geometry.v4.type.type {results}, [handle, {coordinates}]."""
    geometry, *words = one.opcode[1:]
    if geometry not in DIMENSIONS or len(words) != 3 or words[0] != "v4" or words[1] not in RESULTS:
        context.refuse("not supported: this form of tex")
    if words[2] not in ("s32", "f32"):
        context.refuse("not supported: these coordinates")
    target, place = operands(context, 2)
    handle, coordinates = _place(context, place, DIMENSIONS[geometry])
    results = [NONE if isinstance(item, ir.Discard) else context.register(item, 4) for item in context.items(target)]
    if len(results) != 4:
        context.refuse(f"{len(results)} registers for 4 results")
    context.emit(
        "tex",
        a=handle,
        b=coordinates[0],
        c=coordinates[1],
        f=int(words[2] == "s32"),
        x=results,
        immediate=RESULTS.index(words[1]),
    )


def load(context: Context, one: ir.Instruction) -> None:
    """suld.b.geometry{.vector}.type.boundary {results}, [handle, {byte in a row, row}]."""
    target, place = operands(context, 2)
    _surface(context, one, place, context.items(target))


def store(context: Context, one: ir.Instruction) -> None:
    """sust.b.geometry{.vector}.type.boundary [handle, {byte in a row, row}], {values}."""
    place, source = operands(context, 2)
    _surface(context, one, place, context.items(source))


def _surface(context: Context, one: ir.Instruction, place: ir.Operand, items: tuple[ir.Operand, ...]) -> None:
    words = list(one.opcode[1:])
    vector = next((word for word in words if word in VECTORS), "")
    form = [word for word in words if word != vector]
    known = (
        len(form) == 4 and form[0] == "b" and form[1] in DIMENSIONS and form[2] in ELEMENTS and form[3] in BOUNDARIES
    )
    if not known or len(items) != VECTORS.get(vector, 1) or len(items) > 4:
        context.refuse(f"not supported: this form of {one.opcode[0]}")
    handle, coordinates = _place(context, place, DIMENSIONS[form[1]])
    width = max(ELEMENTS[form[2]], 2)
    take = context.destination if one.opcode[0] == "suld" else context.source_of
    context.emit(
        one.opcode[0],
        a=handle,
        b=coordinates[0],
        c=coordinates[1],
        f=ELEMENTS[form[2]] * len(items),
        x=[take(item, width) for item in items],
        immediate=BOUNDARIES.index(form[3]),
    )
    context.ordered = context.ordered or one.opcode[0] == "sust"


def _place(context: Context, place: ir.Operand, dimensions: int) -> tuple[int, list[int]]:
    """Slot of the handle, and slots of x and y; NONE for y of one dimension."""
    items = place.items if isinstance(place, ir.Group) else ()
    if len(items) != 2 or not isinstance(items[0], ir.Register):
        context.refuse("not supported: a texture or surface that is no handle in a register")
    found = [context.source(item, "b32") for item in context.items(items[1])]
    if len(found) < dimensions:
        context.refuse(f"{len(found)} coordinates, expected {dimensions}")
    return context.source(items[0], "u64"), [found[0], found[1] if dimensions == 2 else NONE]


TABLE = {"tex": fetch, "suld": load, "sust": store}
